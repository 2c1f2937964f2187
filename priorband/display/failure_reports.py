"""Failures as people need them: what went wrong, where in their code, the log, and what to do."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

from priorband.display.text import paragraphs, printable
from priorband.durable.ledger import AttemptEnd
from priorband.durable.records import FailedRecord, decode
from priorband.durable.study import DurableStudy
from priorband.failures import FailureKind, advice
from priorband.storage.addresses import is_address
from priorband.storage.journal import Row
from priorband.values import frozen

LONGEST_REASON = 160


class CodeLine(NamedTuple):
    """A line of the user's own code."""

    file: str
    line: int
    function: str
    code: str


@final
@frozen
class FailureReport:
    """How an attempt at a trial ended without a loss."""

    trial: int
    attempt: int
    kind: FailureKind
    reason: str
    frames: tuple[CodeLine, ...] = ()
    """The last lines of the user's own code that were running."""
    traceback: str = ""
    log: Path | None = None
    """The log of the attempt; None if there is none."""
    worker: str = ""
    at: float | None = None
    """When it ended, by the clock of the storage."""
    output: tuple[str, ...] | None = None
    """The last lines that a script printed; None for a function."""
    ended: bool = True
    """Whether the trial has failed; if not, there is another attempt at it."""

    @property
    def likeness(self) -> tuple[object, ...]:
        """What two failures have in common that are alike: the kind, and the place in the code."""
        return self.kind, self.frames[-1:] or self.reason


def failure_report(study: DurableStudy, row: Row, record: FailedRecord) -> FailureReport:
    """The report of a trial that has failed."""
    frames = tuple(filter(None, map(_frame, _listed(record.details.get("frames")))))
    trace = record.details.get("traceback")
    return FailureReport(
        record.trial,
        record.attempt,
        record.failure,
        record.reason,
        frames,
        trace if isinstance(trace, str) else "",
        log_path(study, record.trial, record.attempt),
        row.worker,
        row.at,
        _output(record.details.get("output")),
    )


def trial_failure(study: DurableStudy, trial: int) -> FailureReport | None:
    """The report of a trial; None if it has not failed."""
    for row in reversed(study.journal.trial_rows(trial)):
        record = decode(row)
        if isinstance(record, FailedRecord):
            return failure_report(study, row, record)
    return None


def latest_failures(study: DurableStudy, count: int) -> tuple[FailureReport, ...]:
    """The last trials that have failed, the newest first."""
    ended = study.state.history.latest_failures(count)
    reports = [trial_failure(study, outcome.trial.id) for outcome in reversed(ended)]
    return tuple(report for report in reports if report is not None)


def open_failures(study: DurableStudy) -> tuple[FailureReport, ...]:
    """The attempts that failed at trials that have not ended: there is another attempt at them."""
    return tuple(
        attempt_report(study, number, end)
        for number, opened in sorted(study.ledger.running.items())
        for end in opened.endings
    )


def attempt_report(study: DurableStudy, trial: int, end: AttemptEnd) -> FailureReport:
    """The report of an attempt that left its trial to the next one."""
    log = log_path(study, trial, end.attempt)
    about = (trial, end.attempt, end.failure, end.reason)
    return FailureReport(*about, log=log, worker=end.worker, ended=False)


def log_path(study: DurableStudy, trial: int, attempt: int) -> Path | None:
    """The log of an attempt; None if there is no such file."""
    if study.checkpoints is None:
        return None
    path = study.checkpoints.root / "trials" / str(trial) / f"log-{attempt}.txt"
    return path if os.path.isfile(path) else None  # False also for one that may not be looked at


def summary_line(report: FailureReport) -> str:
    """A failure on one line: `trial 4, raised: ValueError: no such thing`."""
    text = printable(" ".join(report.reason.split()))
    if len(text) > LONGEST_REASON:
        text = text[: LONGEST_REASON - 3] + "..."
    what = f"{report.kind}: {text}" if text else report.kind
    again = "" if report.ended else f", attempt {report.attempt}"
    return f"trial {report.trial}{again}, {what}"


def output_lines(report: FailureReport) -> list[str]:
    """The last lines that a script printed."""
    return [f"| {printable(line)}" for line in report.output or ()]


def frame_lines(report: FailureReport) -> Iterator[str]:
    """The lines of the user's code in which it failed."""
    for frame in report.frames:
        where = f"{printable(shown_path(frame.file))}, line {frame.line}, in "
        code = f": {printable(frame.code)}" if frame.code else ""
        yield f"{where}{printable(frame.function)}{code}"


def place_lines(report: FailureReport) -> Iterator[str]:
    """Where it failed: lines of the user's code, and the path of the log."""
    yield from frame_lines(report)
    if report.log is not None:
        yield f"log: {printable(shown_path(report.log))}"


def advice_lines(report: FailureReport, maximize: bool) -> list[str]:
    """What to do about a failure."""
    return advice(report.kind, maximize, report.output is not None).splitlines()


def failure_lines(reports: Sequence[FailureReport], maximize: bool) -> Iterator[str]:
    """Failures in full, those that are alike together, each kind with what to do about it."""
    groups: dict[tuple[object, ...], list[FailureReport]] = {}
    for report in reports:
        groups.setdefault(report.likeness, []).append(report)
    kinds = [alike[0].kind for alike in groups.values()]
    for number, (first, *others) in enumerate(groups.values()):
        yield summary_line(first)
        yield from (f"  {line}" for line in [*output_lines(first), *place_lines(first)])
        if others:
            yield f"  also failed like this: {_trials(sorted(other.trial for other in others))}"
        if first.kind not in kinds[number + 1 :]:
            yield from (f"  {line}" for line in advice_lines(first, maximize))


def failure_json(report: FailureReport, maximize: bool) -> dict[str, Any]:
    """A failure as JSON data."""
    return {
        "trial": report.trial,
        "attempt": report.attempt,
        "kind": report.kind,
        "reason": report.reason,
        "frames": [frame._asdict() for frame in report.frames],
        "log": None if report.log is None else str(report.log),
        "worker": report.worker,
        "advice": "\n".join(advice_lines(report, maximize)),
        "ended": report.ended,
    }


def traceback_lines(report: FailureReport) -> list[str]:
    """The traceback of a failure, harmless for any terminal."""
    return paragraphs(report.traceback.rstrip()).splitlines()


def shown_path(path: str | Path) -> str:
    """A path, relative to the working directory if it is below it."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):  # another drive, or no working directory
        return str(path)
    return str(path) if relative.startswith("..") or str(path).startswith("<") else relative


def shown_study(where: str) -> str:
    """Where a study is, as a command takes it: an address, or a folder as `shown_path` shows it."""
    return where if is_address(where) else shown_path(where)


def _trials(numbers: Iterable[int]) -> str:
    listed = [str(number) for number in numbers]
    return f"trial{'' if len(listed) == 1 else 's'} {', '.join(listed)}"


def _listed(stored: Any) -> list[Any]:
    return stored if isinstance(stored, list) else []


def _output(stored: Any) -> tuple[str, ...] | None:
    """The lines of output that a record holds; None if it holds none."""
    if not isinstance(stored, list) or not all(isinstance(line, str) for line in stored):
        return None
    return tuple(stored)


def _frame(stored: Any) -> CodeLine | None:
    """A frame that a record holds; None if it is something else."""
    kinds = tuple(map(type, stored)) if isinstance(stored, list) else ()
    return CodeLine(*stored) if kinds == (str, int, str, str) else None
