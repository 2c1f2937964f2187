"""The time that a study has left, from what its trials took and what its method still does.

The method goes on in simulated time (`priorband.timeline.rest`), which takes some milliseconds. So
an estimate is kept for a while: in the meantime, the time that has passed is subtracted.
"""

import time
from collections.abc import Iterable, Sequence
from typing import final

from priorband.durable.records import (
    AdoptedRecord,
    AskedRecord,
    FailedRecord,
    ReturnedRecord,
    ToldRecord,
    decode,
)
from priorband.durable.study import DurableStudy
from priorband.history import History
from priorband.storage.journal import Lease, Row
from priorband.timeline.durations import DurationModel, Durations, Took
from priorband.timeline.rest import Rest, rest_seconds
from priorband.timeline.timeline import Ongoing
from priorband.trial import Trial
from priorband.values import frozen

KEPT_SECONDS = 5.0
"""For how long an estimate is kept at least."""
COST_FACTOR = 50.0
"""An estimate that took t seconds is kept for this many times t."""
_NO_LIMIT = 1e12


@final
class MeasuredTrials:
    """How long trials took, read from the records of a study."""

    def __init__(self) -> None:
        self.durations = Durations()
        self.from_scratch = False
        """Whether the last promotion started from scratch."""
        self._begun: dict[int, float] = {}
        self._asked: dict[int, AskedRecord] = {}
        self._before: dict[int, float] = {}

    def read(self, rows: Iterable[Row], history: History) -> None:
        """Take in further records, of trials that the history has."""
        for row in rows:
            match decode(row):
                case AskedRecord() as asked if not asked.imported:
                    self._ask(asked, row.at)
                case AdoptedRecord() as adopted:
                    self._begun[adopted.trial] = row.at
                case ReturnedRecord() as returned if returned.trial in self._begun:
                    end = row.at if returned.seen is None else returned.seen
                    self._pause(returned.trial, end)
                case ToldRecord() | FailedRecord() as ended if ended.trial in self._begun:
                    self._end(ended.trial, row.at, history)

    def _ask(self, asked: AskedRecord, at: float) -> None:
        self._begun[asked.trial] = at
        self._asked[asked.trial] = asked
        if asked.parent is not None:
            self.from_scratch = not asked.start

    def _pause(self, trial: int, at: float) -> None:
        taken = max(at - self._begun.pop(trial), 0.0)
        self._before[trial] = self._before.get(trial, 0.0) + taken

    def _end(self, trial: int, at: float, history: History) -> None:
        self._pause(trial, at)
        asked, seconds = self._asked.pop(trial, None), self._before.pop(trial)
        if asked is not None:
            root, units = history.trial(trial).root, asked.fidelity - asked.start
            self.durations.add(Took(root, asked.fidelity, units, seconds))


@final
@frozen
class RunningTrial:
    """A trial that runs: for how long, and how much of it is done."""

    trial: Trial
    units: float
    seconds: float
    done: float | None

    @property
    def took(self) -> Took:
        """What it tells about the pace of its configuration."""
        return Took(self.trial.root, self.trial.fidelity, self.done or 0.0, self.seconds)

    @property
    def whole(self) -> Took:
        """All of its units, and the time that it has had."""
        return Took(self.trial.root, self.trial.fidelity, self.units, self.seconds)


@final
class TimeLeft:
    """Estimates the time that a study has left, not too often."""

    def __init__(self, measured: MeasuredTrials) -> None:
        self.measured = measured
        self._until: float | None = None
        self._next = 0.0

    def estimate(
        self, study: DurableStudy, leases: Sequence[Lease], now: float, workers: int
    ) -> float | None:
        """Seconds until the budget is used up and all trials have ended; None if unknown.

        Args:
            study: The study, as of its last refresh.
            leases: Its leases, read before that.
            now: The time of the storage's clock.
            workers: How many workers are active.
        """
        began = time.monotonic()
        if began >= self._next:
            left = self._estimated(study, leases, now, workers)
            self._until = None if left is None else now + left
            taken = time.monotonic() - began
            self._next = began + max(KEPT_SECONDS, COST_FACTOR * taken)
        return None if self._until is None else max(self._until - now, 0.0)

    def _estimated(
        self, study: DurableStudy, leases: Sequence[Lease], now: float, workers: int
    ) -> float | None:
        ledger, limits = study.ledger, study.budget.limits
        running = running_trials(study, leases, now)
        if not workers or not {"trainings", "trials"} & limits.keys():
            return None
        model = self.measured.durations.model(
            study.problem.fidelity.high,
            [each.took for each in running],
            [each.whole for each in running if not each.done],
        )
        if model is None:
            return None
        spent = ledger.spending(now, leases)
        rest = Rest(
            study.problem.optimizer,
            study.state,
            study.problem.seed,
            workers,
            limits.get("trainings", _NO_LIMIT) - spent.trainings,
            int(limits["trials"]) - spent.trials if "trials" in limits else None,
            not self.measured.from_scratch,
        )
        return rest_seconds(rest, model, [self._ongoing(model, each) for each in running])

    def _ongoing(self, model: DurationModel, running: RunningTrial) -> Ongoing:
        trial = running.trial
        return Ongoing(trial, model.left(trial, running.units, running.seconds, running.done))


def running_trials(study: DurableStudy, leases: Sequence[Lease], now: float) -> list[RunningTrial]:
    """The trials that have not ended; one that was given back begins again."""
    by_trial = {(lease.trial, lease.attempt): lease for lease in leases}
    found = []
    for opened in study.ledger.running.values():
        trial, units = opened.trial, opened.trial.fidelity - opened.start
        lease = by_trial.get((trial.id, opened.attempt))
        seconds = max(now - opened.since, 0.0) if opened.held else 0.0
        done = None
        if lease is not None and lease.step is not None and opened.attempt == 1:
            done = min(max(lease.step - opened.start, 0.0), units)
        found.append(RunningTrial(trial, units, seconds, done))
    return found
