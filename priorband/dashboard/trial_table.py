"""The trials of a study as columns for the browser, and which rows have changed."""

import time
from typing import Any, final, get_args

import numpy as np
from numpy.typing import NDArray

from priorband.dashboard.binary_columns import TableColumn
from priorband.explanations.outcomes import Outcome, outcomes_of
from priorband.failures import FAILURE_KINDS, split_reason
from priorband.study_analysis import ConfigTable, ParameterColumn, StudyData, config_columns

Column = NDArray[Any]

STATUSES = ("running", "succeeded", "failed", "waiting")
OUTCOMES: tuple[str, ...] = get_args(Outcome)
OUTCOMES_FACTOR = 30.0
"""Outcomes that took t seconds to compute stay as they are for this many times t."""
LONGEST_REASON = 200
"""Characters of a reason in the table; the page of a trial shows all of them."""


@final
class TrialTableReader:
    """Makes the columns of a study's table again and again, and knows which rows are new."""

    def __init__(self) -> None:
        self.version = 0
        """Grows whenever a row is new or has changed."""
        self._changed: Column = np.empty(0, np.int64)
        """The version in which each row last changed."""
        self._columns: tuple[TableColumn, ...] = ()
        self._reasons: dict[int, int] = {}
        self._words: dict[str, int] = {}
        self._outcomes: Column = np.empty(0, np.int32)
        self._outcomes_due = 0.0
        self._method_known = True

    def read(self, data: StudyData, method_known: bool = True) -> None:
        """Take in a study as it is now; `method_known` says whether it has its own method."""
        self._method_known = method_known
        columns = self._table(data)
        rows = len(data.trials)
        differs = np.ones(rows, bool)
        known = min(len(self._changed), rows)
        if self._columns and len(self._changed) <= rows:
            differs[:known] = _differing(self._columns, columns, known)
        if differs.any() or rows < len(self._changed):
            self.version += 1
            changed = np.full(rows, self.version, np.int64)
            changed[:known] = np.where(differs[:known], self.version, self._changed[:known])
            self._changed = changed
        self._columns = columns

    def since(self, version: int) -> tuple[TableColumn, ...]:
        """The columns of the rows that have changed since a version; all rows for version 0."""
        rows = np.flatnonzero(self._changed > version)
        if len(rows) == len(self._changed):
            return self._columns
        return tuple(
            TableColumn(one.name, one.label, one.group, one.type, one.data[rows], one.words)
            for one in self._columns
        )

    def __len__(self) -> int:
        return len(self._changed)

    def _table(self, data: StudyData) -> tuple[TableColumn, ...]:
        table, trials, times = config_columns(data), data.trials, data.times
        attempts, worker = _attempts(data)
        return (
            _whole("trial", table.trial),
            _words("status", table.status, STATUSES),
            self._outcome_column(data),
            _real("value", table.value),
            _real("fidelity", table.fidelity),
            _whole("rung", table.rung),
            _whole("bracket", table.bracket),
            _words("origin", table.origin, table.origins),
            _whole("parent", table.parent),
            _whole("root", table.root),
            _whole("attempts", attempts),
            _words("worker", worker, data.attempts.workers),
            _real("seconds", table.seconds),
            _real("cost", table.cost),
            _real("spent", table.spent),
            _real("asked", times.asked),
            _real("ended", times.ended),
            _whole("promoted", trials.promoted.astype(np.int32)),
            _whole("retry_of", trials.retry_of),
            _words("failure", trials.failure, FAILURE_KINDS),
            self._reason_column(data, table),
            *map(_parameter, table.parameters),
        )

    def _outcome_column(self, data: StudyData) -> TableColumn:
        """What became of each trial. In a long study, it is computed again only now and then."""
        codes = np.full(len(data.trials), -1, np.int32)
        began = time.monotonic()
        if began >= self._outcomes_due:
            known = {word: code for code, word in enumerate(OUTCOMES)}
            scheduler = data.problem.optimizer.scheduler if self._method_known else None
            words = outcomes_of(scheduler, data.state)
            self._outcomes = np.array([known[word] for word in words], np.int32)
            self._outcomes_due = time.monotonic() + OUTCOMES_FACTOR * (time.monotonic() - began)
        count = min(len(codes), len(self._outcomes))
        codes[:count] = self._outcomes[:count]
        return _words("outcome", codes, OUTCOMES)

    def _reason_column(self, data: StudyData, table: ConfigTable) -> TableColumn:
        history = data.state.history
        codes = np.full(len(table.trial), -1, np.int32)
        for number in np.flatnonzero(data.trials.failure >= 0).tolist():
            if number not in self._reasons:
                outcome = history.outcome(number)
                text = split_reason(outcome.reason)[1] if outcome is not None else ""
                text = text[:LONGEST_REASON]
                self._reasons[number] = self._words.setdefault(text, len(self._words))
            codes[number] = self._reasons[number]
        return _words("reason", codes, tuple(self._words))


def _attempts(data: StudyData) -> tuple[Column, Column]:
    """How many attempts were made at each trial, and the worker of the last one."""
    attempts, rows = data.attempts, len(data.trials)
    known = attempts.trial < rows
    count = np.bincount(attempts.trial[known], minlength=rows)
    worker = np.full(rows, -1, np.int64)
    worker[attempts.trial[known]] = attempts.worker[known]
    return count, worker


def _differing(old: tuple[TableColumn, ...], new: tuple[TableColumn, ...], rows: int) -> Column:
    differs = np.zeros(rows, bool)
    for before, after in zip(old, new, strict=True):
        if after.group == "trial":  # a configuration never changes
            one, other = before.data[:rows], after.data[:rows]
            differs |= (one != other) & ~(_missing(one) & _missing(other))
    return differs


def _missing(column: Column) -> Column:
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), bool)


def _whole(name: str, data: Column) -> TableColumn:
    return TableColumn(name, name, "trial", "i4", data)


def _real(name: str, data: Column) -> TableColumn:
    return TableColumn(name, name, "trial", "f8", data)


def _words(name: str, data: Column, words: tuple[str, ...]) -> TableColumn:
    return TableColumn(name, name, "trial", "i4", data, words)


def _parameter(column: ParameterColumn) -> TableColumn:
    more = {"kind": column.kind, "log": column.log, "low": column.low, "high": column.high}
    name = f"config.{column.name}"
    if column.labels:
        codes = np.where(np.isnan(column.value), -1, column.value).astype(np.int32)
        return TableColumn(name, column.name, "config", "i4", codes, column.labels, more)
    return TableColumn(name, column.name, "config", "f8", column.value, None, more)
