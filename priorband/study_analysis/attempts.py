"""The attempts at the trials of a stored study, and when its trials were asked and ended."""

import math
from array import array
from typing import Any, final

import numpy as np

from priorband.durable.records import (
    STARTUP,
    AdoptedRecord,
    FailedRecord,
    ReturnedRecord,
    ToldRecord,
    decode,
)
from priorband.failures import FAILURE_KINDS
from priorband.numeric import real
from priorband.storage.journal import Row
from priorband.study_analysis.trial_columns import NONE, Bools, Floats, Ints
from priorband.values import frozen

RUNNING, SUCCEEDED, FAILED, LOST, RETURNED, OVERTAKEN = range(6)
ENDINGS = ("running", "succeeded", "failed", "lost", "returned", "overtaken")
"""The words for the codes of the column `ending`.

- "running": it has not ended
- "succeeded": it brought the trial's loss
- "failed": it ended the trial without a loss
- "lost": its worker died or stopped responding
- "returned": it failed or was stopped, and left the trial to another attempt
- "overtaken": an earlier attempt, which had been given up, brought the result
"""


@final
@frozen
class AttemptColumns:
    """One entry for each attempt, in the order in which they began. Times are since creation."""

    trial: Ints
    attempt: Ints
    """Which attempt at the trial, from 1."""
    worker: Ints
    """As an index into `workers`."""
    start: Floats
    end: Floats
    """When it ended; for a lost one when it was last heard of, NaN while it runs."""
    startup: Floats
    """Seconds that it spent outside the objective; NaN if unknown."""
    ending: Ints
    """As an index into `ENDINGS`."""
    failure: Ints
    """The kind of failure, as an index into `FAILURE_KINDS`; -1 if there is none."""
    workers: tuple[str, ...]
    hosts: tuple[str, ...]
    """The machine of each worker."""

    def __len__(self) -> int:
        return len(self.trial)


@final
@frozen
class TrialTimes:
    """One entry for each trial, by id: NaN where a time is unknown."""

    asked: Floats
    """When it was handed out first, in seconds since the study's creation."""
    ended: Floats
    seconds: Floats
    """How long its last attempt took, as the objective measured it or else by the records."""
    cost: Floats
    """What it said that it cost, in a unit of the user's own."""


def no_attempts() -> AttemptColumns:
    """The attempts of a study in memory, which records none."""
    return GrowingAttempts(0.0).columns()


def unknown_times(count: int, costs: dict[int, float]) -> TrialTimes:
    """The times of a study in memory, which has no clock, with the costs that trials told."""
    cost = np.full(count, np.nan)
    cost[list(costs)] = list(costs.values())
    unknown = np.full(count, np.nan)
    return TrialTimes(unknown, unknown, unknown, cost)


@final
class GrowingAttempts:
    """The attempts in a journal that grows: each row is read once."""

    def __init__(self, created: float) -> None:
        self._created = created
        self._columns: dict[str, array[Any]] = {name: array("q") for name in _WHOLE}
        self._columns |= {name: array("d") for name in _REAL}
        self._times: dict[str, array[Any]] = {name: array("d") for name in _TIMES}
        self._workers: dict[str, int] = {}
        self._at: dict[tuple[int, int], int] = {}
        """The entry of each attempt at a trial that has not ended."""
        self._latest: dict[int, int] = {}
        """The latest attempt at each such trial."""

    def read(self, row: Row, imported: Bools) -> None:
        """Take in the next row; `imported` says which trials are results from elsewhere."""
        if row.trial is None:
            return
        if row.kind == "asked":
            self._ask(row, row.trial, bool(imported[row.trial]))
        elif row.kind in ("adopted", "returned", "told", "failed"):
            record = decode(row)
            if isinstance(record, AdoptedRecord):
                self._begin(row, record.trial, record.attempt)
            elif isinstance(record, ReturnedRecord):
                self._give_back(row, record)
            elif isinstance(record, ToldRecord | FailedRecord):
                self._end(row, record)

    def columns(self) -> AttemptColumns:
        """The attempts so far."""
        arrays: dict[str, Any] = {name: np.array(each) for name, each in self._columns.items()}
        workers = tuple(self._workers)
        return AttemptColumns(**arrays, workers=workers, hosts=tuple(map(_host, workers)))

    def times(self, count: int) -> TrialTimes:
        """The times of the first `count` trials."""
        times: dict[str, Any] = {name: np.array(self._times[name][:count]) for name in _TIMES}
        return TrialTimes(**times)

    def _ask(self, row: Row, trial: int, imported: bool) -> None:
        for name in _TIMES:
            self._times[name].append(math.nan)
        self._times["asked"][trial] = row.at - self._created
        if not imported:
            self._begin(row, trial, 1)

    def _begin(self, row: Row, trial: int, attempt: int) -> None:
        entry = {
            "trial": trial,
            "attempt": attempt,
            "worker": self._workers.setdefault(row.worker, len(self._workers)),
            "ending": RUNNING,
            "failure": NONE,
            "start": row.at - self._created,
            "end": math.nan,
            "startup": math.nan,
        }
        self._at[trial, attempt] = len(self._columns["trial"])
        self._latest[trial] = attempt
        for name, value in entry.items():
            self._columns[name].append(value)

    def _give_back(self, row: Row, record: ReturnedRecord) -> None:
        lost = record.failure == "lost"
        seen = row.at if record.seen is None else record.seen
        self._close(record.trial, record.attempt, LOST if lost else RETURNED, seen, record.failure)

    def _end(self, row: Row, record: ToldRecord | FailedRecord) -> None:
        trial, attempt, times = record.trial, record.attempt, self._times
        times["ended"][trial] = row.at - self._created
        times["cost"][trial] = _number(record.cost)
        times["seconds"][trial] = _number(record.details.get("seconds"))
        if attempt == 0:  # imported: nobody worked on it here
            return
        for other in range(1, self._latest.pop(trial) + 1):
            entry = self._at.pop((trial, other))
            if other != attempt and self._columns["ending"][entry] == RUNNING:
                self._columns["ending"][entry] = OVERTAKEN
                self._columns["end"][entry] = row.at - self._created
            if other == attempt:
                self._finish(row, record, entry)

    def _finish(self, row: Row, record: ToldRecord | FailedRecord, entry: int) -> None:
        columns, trial, times = self._columns, record.trial, self._times
        columns["ending"][entry] = SUCCEEDED
        if isinstance(record, FailedRecord):
            columns["ending"][entry] = FAILED
            columns["failure"][entry] = FAILURE_KINDS.index(record.failure)
        columns["end"][entry] = row.at - self._created
        columns["startup"][entry] = _number(record.details.get(STARTUP))
        if math.isnan(times["seconds"][trial]):
            times["seconds"][trial] = columns["end"][entry] - columns["start"][entry]

    def _close(self, trial: int, attempt: int, ending: int, at: float, failure: str) -> None:
        entry, columns = self._at[trial, attempt], self._columns
        columns["ending"][entry] = ending
        columns["end"][entry] = max(at - self._created, columns["start"][entry])
        columns["failure"][entry] = FAILURE_KINDS.index(failure)


_WHOLE = ("trial", "attempt", "worker", "ending", "failure")
_REAL = ("start", "end", "startup")
_TIMES = ("asked", "ended", "seconds", "cost")


def _host(worker: str) -> str:
    """The machine in a worker's name, which is host, process id and six digits.

    >>> _host("gpu-node-3-4711-ab12cd")
    'gpu-node-3'
    """
    return worker.rsplit("-", 2)[0]


def _number(value: Any) -> float:
    number = real(value)
    return math.nan if number is None else number
