"""`priorband export`: a study as a table, one row a trial.

Text in a CSV file cannot become a formula of a spreadsheet, nor control a terminal.
"""

import argparse
import csv
import io
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from priorband.cli.argument_types import STUDY, Command
from priorband.cli.read_study import viewed
from priorband.display.text import jsonable, moment, printable
from priorband.durable.study import DurableStudy
from priorband.storage.json_text import body
from priorband.trial import Observation, Trial

Row = dict[str, Any]

_TRIAL = ("trial", "parent", "bracket", "rung", "origin", "fidelity")
_OUTCOME = ("status", "kind", "reason", "value", "loss")
_WORK = ("cost", "seconds", "attempts", "worker", "asked", "ended")
_COLUMNS = (*_TRIAL, *_OUTCOME, *_WORK)
_FORMULA = ("=", "+", "-", "@")


def grammar(command: Command) -> None:
    """What the command takes."""
    export = command("export", "write all trials as a table")
    export.add_argument("study", metavar="STUDY", help=STUDY)
    form = export.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values; the default")
    form.add_argument("--json", action="store_true", help="a list of objects")
    export.add_argument("-o", "--output", metavar="FILE", type=Path, help="instead of the terminal")
    export.set_defaults(command=_export)


def _export(args: argparse.Namespace) -> int:
    with viewed(args.study) as study:
        table, settings = rows(study), study.problem.space.parameters
    text = as_json_text(table) if args.json else as_csv(table, settings)
    if args.output is None:
        sys.stdout.write(text)
    else:
        write(args.output, text)
    return 0


def rows(study: DurableStudy) -> list[Row]:
    """A row for each trial of a study, in the order they were asked."""
    history, kept = study.state.history, _records(study)
    made = []
    for trial in history.trials:
        known = kept[trial.id]
        row = _about(trial) | _outcome(history.outcome(trial.id), study.maximize)
        if row["status"] == "running" and trial.id in study.ledger.waiting:
            row["status"] = "waiting"
        made.append(row | _attempts(known) | {"config": dict(trial.config), **_details(known)})
    return made


def as_json_text(table: Iterable[Row]) -> str:
    """The rows as JSON, an object a line."""
    lines = (json.dumps(jsonable(row), allow_nan=False) for row in table)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def as_csv(table: Iterable[Row], settings: Iterable[str]) -> str:
    """The rows as comma-separated values; settings and metrics have columns of their own."""
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


def write(path: Path, text: str) -> None:
    """Write a file completely, or leave the one that is there."""
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
        path.write_text(text, encoding="utf-8")
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "x", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _about(trial: Trial) -> Row:
    bracket, rung = trial.slot if trial.slot else (None, None)
    about = {"trial": trial.id, "parent": trial.parent, "bracket": bracket, "rung": rung}
    return about | {"origin": trial.origin, "fidelity": trial.fidelity}


def _outcome(outcome: Observation | None, maximize: bool) -> Row:
    if outcome is None:
        return {"status": "running", "kind": None, "reason": None, "value": None, "loss": None}
    if outcome.failed:
        kind, _, reason = outcome.reason.partition(": ")
        return {"status": "failed", "kind": kind, "reason": reason, "value": None, "loss": None}
    value = -outcome.loss if maximize else outcome.loss
    ended = {"status": "succeeded", "kind": None, "reason": None}
    return ended | {"value": value, "loss": outcome.loss}


def _records(study: DurableStudy) -> dict[int, list[tuple[str, str, float, Row]]]:
    """The kind, the worker, the time and the body of each trial's records."""
    kept: dict[int, list[tuple[str, str, float, Row]]] = {}
    for row in study.journal.read(0):
        if row.trial is not None and row.seq <= study.ledger.seq:
            kept.setdefault(row.trial, []).append((row.kind, row.worker, row.at, body(row.body)))
    return kept


def _attempts(known: list[tuple[str, str, float, Row]]) -> Row:
    """Who worked on a trial and when; the attempt that counts is the one that ended it."""
    begun = [(worker, at) for kind, worker, at, _ in known if kind in ("asked", "adopted")]
    ends = [(at, about) for kind, _, at, about in known if kind in ("told", "failed")]
    ended, about = ends[-1] if ends else (None, {})
    which = min(max(about.get("attempt", len(begun)), 1), len(begun))
    worker, since = begun[which - 1]
    seconds = about.get("seconds", None if ended is None else ended - since)
    return {
        "cost": about.get("cost"),
        "seconds": seconds,
        "attempts": len(begun),
        "worker": worker,
        "asked": moment(begun[0][1]),
        "ended": None if ended is None else moment(ended),
    }


def _details(known: list[tuple[str, str, float, Row]]) -> Row:
    metrics = [about.get("metrics") for kind, *_, about in known if kind in ("told", "failed")]
    found = metrics[-1] if metrics else None
    return {"metrics": found if isinstance(found, dict) else {}}


def _flat(row: Row) -> Row:
    """Settings and metrics as columns with a prefix."""
    made = {name: item for name, item in row.items() if name not in ("config", "metrics")}
    for part in ("config", "metrics"):
        made |= {f"{part}.{name}": item for name, item in row[part].items()}
    return made


def _cell(value: Any) -> str | float | None:
    """A value as a cell: a number stays one, and no text is taken for a formula."""
    plain = jsonable(value)
    if isinstance(plain, bool | list | dict):
        plain = json.dumps(plain)
    if not isinstance(plain, str):
        return plain  # type: ignore[no-any-return]  # a number or None
    text = printable(plain)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
