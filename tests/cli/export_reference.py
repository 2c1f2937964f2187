"""The table of a study's trials, made from its history: slowly, but from parts tested elsewhere.

`priorband export` must print the same.
"""

import csv
import io
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from priorband.cli.read_study import custom_method, open_for_reading
from priorband.display.text import jsonable, moment, printable
from priorband.durable.records import (
    AdoptedRecord,
    AskedRecord,
    FailedRecord,
    Record,
    ToldRecord,
    TrialEnd,
    decode,
)
from priorband.durable.study import DurableStudy
from priorband.explanations.outcomes import outcomes_of
from priorband.failures import split_reason
from priorband.trial import Observation, Trial

Row = dict[str, Any]

_TRIAL = ("trial", "parent", "bracket", "rung", "origin", "fidelity")
_OUTCOME = ("status", "outcome", "kind", "reason", "value", "loss")
_WORK = ("cost", "seconds", "attempts", "worker", "asked", "ended")
_COLUMNS = (*_TRIAL, *_OUTCOME, *_WORK)
_FORMULA = ("=", "+", "-", "@")


def table(where: str, as_json: bool = False) -> str:
    """What `priorband export` must print."""
    with open_for_reading(where) as study:
        made = rows(study)
        return as_json_text(made) if as_json else as_csv(made, study.problem.space.parameters)


def rows(study: DurableStudy) -> list[Row]:
    """One row per trial, in the order in which they were asked."""
    history, entries, table = study.state.history, _entries(study), list[Row]()
    scheduler = None if custom_method(study) else study.optimizer.scheduler
    words = outcomes_of(scheduler, study.state)
    for trial in history.trials:
        row = _about(trial) | _outcome(history.outcome(trial.id), study.maximize)
        row["outcome"] = words[trial.id]
        if row["status"] == "running" and trial.id in study.ledger.waiting:
            row["status"] = row["outcome"] = "waiting"
        names = [name for name in study.space.parameters if name in trial.config]
        settings = {name: trial.config[name] for name in names}
        row |= _attempts(entries[trial.id]) | {"config": settings}
        table.append(row | _metrics(entries[trial.id]))
    return table


def as_json_text(table: Iterable[Row]) -> str:
    """The rows as JSON, one object per line."""
    lines = (json.dumps(jsonable(row), allow_nan=False) for row in table)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def as_csv(table: Iterable[Row], settings: Iterable[str]) -> str:
    """The rows as comma-separated values, with a column for each setting and metric."""
    flat = [_flat(row) for row in table]
    names = dict.fromkeys([*_COLUMNS, *(f"config.{name}" for name in settings)])
    for row in flat:
        names |= dict.fromkeys(row)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_cell(name) for name in names)
    for row in flat:
        writer.writerow(_cell(row.get(name)) for name in names)
    return text.getvalue()


def _about(trial: Trial) -> Row:
    bracket, rung = trial.slot if trial.slot else (None, None)
    about = {"trial": trial.id, "parent": trial.parent, "bracket": bracket, "rung": rung}
    return about | {"origin": trial.origin, "fidelity": trial.fidelity}


def _outcome(outcome: Observation | None, maximize: bool) -> Row:
    if outcome is None:
        return {"status": "running", "outcome": "", **dict.fromkeys(_OUTCOME[2:])}
    if outcome.failed:
        kind, reason = split_reason(outcome.reason)
        failed = {"status": "failed", "outcome": "", "kind": kind, "reason": reason}
        return failed | {"value": None, "loss": None}
    value = -outcome.loss if maximize else outcome.loss
    ended = {"status": "succeeded", "outcome": "", "kind": None, "reason": None}
    return ended | {"value": value, "loss": outcome.loss}


class _Entry(NamedTuple):
    """A record of a trial, with who wrote it and when."""

    worker: str
    at: float
    record: Record


def _entries(study: DurableStudy) -> dict[int, list[_Entry]]:
    """The records of each trial."""
    entries: dict[int, list[_Entry]] = {}
    for row in study.journal.read(0):
        if row.trial is not None and row.seq <= study.ledger.seq:
            entries.setdefault(row.trial, []).append(_Entry(row.worker, row.at, decode(row)))
    return entries


def _attempts(entries: list[_Entry]) -> Row:
    """Who worked on a trial and when; the attempt that counts is the one that ended it."""
    begun = [e for e in entries if isinstance(e.record, AskedRecord | AdoptedRecord)]
    ended, at = _end(entries)
    which = len(begun) if ended is None else ended.attempt
    worker, since, _ = begun[min(max(which, 1), len(begun)) - 1]
    seconds = None if ended is None else ended.details.get("seconds", at - since)
    return {
        "cost": None if ended is None else ended.cost,
        "seconds": seconds,
        "attempts": len(begun),
        "worker": worker,
        "asked": moment(begun[0].at),
        "ended": None if ended is None else moment(at),
    }


def _metrics(entries: list[_Entry]) -> Row:
    ended, _ = _end(entries)
    metrics = None if ended is None else ended.details.get("metrics")
    return {"metrics": metrics if isinstance(metrics, dict) else {}}


def _end(entries: list[_Entry]) -> tuple[TrialEnd | None, float]:
    """The record that ended a trial, and when."""
    for _, at, record in reversed(entries):
        if isinstance(record, ToldRecord | FailedRecord):
            return record, at
    return None, 0.0


def _flat(row: Row) -> Row:
    """Settings and metrics as columns with a prefix."""
    columns = {name: item for name, item in row.items() if name not in ("config", "metrics")}
    for part in ("config", "metrics"):
        columns |= {f"{part}.{name}": item for name, item in row[part].items()}
    return columns


def _cell(value: Any) -> str | float | None:
    """A value as a cell: a number stays a number, and no text is taken for a formula."""
    plain = jsonable(value)
    if isinstance(plain, bool | list | dict):
        plain = json.dumps(plain)
    if not isinstance(plain, str):
        return plain  # type: ignore[no-any-return]  # a number or None
    text = printable(plain)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
