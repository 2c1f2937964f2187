"""Failures since the last look, for displays that show each of them once."""

from collections.abc import Iterator
from typing import final

from priorband.display.failure_reports import (
    FailureReport,
    open_failures,
    trial_failure,
)
from priorband.durable.study import DurableStudy
from priorband.errors import PriorbandError


@final
class NewFailures:
    """Reads the failures of a study that came after this was made, or after the last `read`."""

    def __init__(self, study: DurableStudy) -> None:
        self._study = study
        self._results_read = study.state.history.observation_count
        self._attempts = {self._attempt(report) for report in open_failures(study)}
        self._known: set[tuple[object, ...]] = set()
        self._unread: list[FailureReport] = []

    def read(self) -> Iterator[tuple[FailureReport, bool]]:
        """Each new failure, and whether it is the first one that looks like this.

        Storage that does not respond is ignored: the failures are read the next time.
        """
        try:
            self._unread.extend(self._given_back())
            self._unread.extend(self._ended())
        except (PriorbandError, OSError):
            pass
        found, self._unread = self._unread, []
        for report in found:
            first = report.likeness not in self._known
            self._known.add(report.likeness)
            yield report, first

    def _given_back(self) -> Iterator[FailureReport]:
        """Attempts that left their trial to the next one."""
        for report in open_failures(self._study):
            if self._attempt(report) not in self._attempts:
                self._attempts.add(self._attempt(report))
                yield report

    def _ended(self) -> Iterator[FailureReport]:
        history = self._study.state.history
        for outcome in history.observations_since(self._results_read):
            report = trial_failure(self._study, outcome.trial.id) if outcome.failed else None
            self._results_read += 1
            if report is not None:
                yield report

    def _attempt(self, report: FailureReport) -> tuple[int, int]:
        return report.trial, report.attempt
