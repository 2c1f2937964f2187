"""The trials of a stored study as records, and their learning curves, for `DurableStudy`."""

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, final

from priorband.durable.ledger import Ledger
from priorband.durable.records import CreatedRecord
from priorband.durable.table_outcomes import Schedule
from priorband.durable.trial_table import TrialTable
from priorband.explanations.outcomes import outcomes_of
from priorband.numeric import real
from priorband.results.learning_curves import Point
from priorband.results.trial_records import COLUMNS, TrialRecord
from priorband.schedulers.base import Scheduler
from priorband.space.config import ReadOnlyDict
from priorband.state import State
from priorband.storage.checkpoints import Checkpoints
from priorband.storage.journal import Journal

_MEMBERS = len(COLUMNS)


@final
class _JsonCells:
    """Cells as JSON text, so that one call reads all cells of a row."""

    null = "null"

    def text(self, value: Any, /) -> str:
        """A value as JSON; settings may be anything, and are not read from the cells."""
        try:
            return json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            return self.null

    def time(self, at: float, /) -> str:
        """A time as a number."""
        return repr(at)


def stored_trials(
    journal: Journal,
    ledger: Ledger,
    state: State,
    scheduler: Scheduler | None,
    checkpoints: Checkpoints | None,
) -> Iterator[TrialRecord]:
    """The records of the trials that a state has."""
    created = CreatedRecord(ledger.study, ledger.problem, ledger.maximize)
    table = TrialTable(journal, created, state.space, Schedule(None, state), _JsonCells())
    words = outcomes_of(scheduler, state)
    saved = {*checkpoints.held()} if checkpoints else set()
    for trial, (cells, metrics) in zip(state.history.trials, table, strict=False):
        values = json.loads(f"[{','.join(cells[:_MEMBERS])}]")
        row = dict(zip(COLUMNS, values, strict=True))
        path = None
        if checkpoints and trial.id in saved and row["status"] == "succeeded":
            path = checkpoints.left_by(trial.id, ledger.winners.get(trial.id, 1))
        row |= {"asked": _moment(row["asked"]), "ended": _moment(row["ended"])}
        if row["outcome"] != "waiting":
            row["outcome"] = words[trial.id]
        del row["trial"]
        yield TrialRecord(
            id=trial.id, config=trial.config, metrics=dict(metrics), checkpoint=path, **row
        )


def best_checkpoint(ledger: Ledger, checkpoints: Checkpoints | None, trial: int) -> Path | None:
    """The folder of the checkpoint that a successful trial has left; None if there is none.

    One that this user may not look at counts as none: a study can be read without its checkpoints.
    """
    if checkpoints is None:
        return None
    try:
        return checkpoints.left_by(trial, ledger.winners.get(trial, 1))
    except PermissionError:
        return None


def reported_points(ledger: Ledger, checkpoints: Checkpoints, trial: int) -> Iterator[Point]:
    """What all attempts at a trial have reported; a later attempt comes later.

    A line that is not valid is left out: the process may have been killed while it wrote it.
    """
    try:
        if not checkpoints.knows(trial):
            return
    except PermissionError:  # a study can be read without them
        return
    opened = ledger.running.get(trial)
    attempts = opened.attempt if opened else ledger.winners.get(trial, 1)
    for attempt in range(1, attempts + 1):
        for line in checkpoints.points(trial, attempt):
            point = _point(line)
            if point is not None:
                yield point


def _point(line: bytes) -> Point | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    step = real(data.pop("step", None)) if isinstance(data, dict) else None
    if step is None or not math.isfinite(step):
        return None
    loss = data.pop("loss", None)
    value = real(data.pop("value", None) if loss is None else loss)
    return Point(int(step) if step.is_integer() else step, value, ReadOnlyDict(data))


def _moment(at: float | None) -> datetime | None:
    """A time of the storage's clock; None if there is none, or no calendar has it."""
    try:
        return None if at is None else datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        return None
