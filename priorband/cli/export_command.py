"""`priorband export`: a study as a table with one row per trial.

Text in a CSV file cannot become a formula in a spreadsheet, nor control a terminal.
"""

import argparse
import csv
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from priorband.cli.argument_types import STUDY, Command
from priorband.cli.read_study import trial_table
from priorband.display.text import jsonable, moment, printable
from priorband.durable.trial_table import TrialRow

_COLUMNS = TrialRow._fields[:-2]
"""All but the configuration and the metrics: these have a column for each setting or metric."""
_FORMULA = ("=", "+", "-", "@")
_ROWS_AT_ONCE = 250


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
    with trial_table(args.study, find_metrics=not args.json) as (table, space):
        text = as_json(table) if args.json else as_csv(table, space.parameters, table.metric_names)
        if args.output is None:
            sys.stdout.writelines(text)
        else:
            write(args.output, text)
    return 0


def as_json(rows: Iterable[TrialRow]) -> Iterator[str]:
    """The rows as JSON, one object per line, piece by piece."""
    encode = json.JSONEncoder(allow_nan=False).encode
    yield "[\n"
    for number, some in enumerate(_groups(rows)):
        yield ",\n" * (number > 0) + ",\n".join([_object(row, encode) for row in some])
    yield "\n]\n"


def as_csv(
    rows: Iterable[TrialRow], settings: Iterable[str], metrics: Sequence[str]
) -> Iterator[str]:
    """The rows as comma-separated values, piece by piece, with a column per setting and metric."""
    names = (*(f"config.{name}" for name in settings), *(f"metrics.{name}" for name in metrics))
    yield _lines([map(_cell, (*_COLUMNS, *names))])
    for some in _groups(rows):
        yield _lines([_cells(row, metrics) for row in some])


def write(path: Path, text: Iterable[str]) -> None:
    """Write a file completely, or leave the existing one as it is."""
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(text)
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "x", encoding="utf-8", newline="") as file:
            file.writelines(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _groups(rows: Iterable[TrialRow]) -> Iterator[list[TrialRow]]:
    rest = iter(rows)
    while some := list(islice(rest, _ROWS_AT_ONCE)):
        yield some


def _object(row: TrialRow, encode: Callable[[Any], str]) -> str:
    """A row as a JSON object."""
    data = row._asdict() | {"asked": moment(row.asked), "ended": _moment(row.ended)}
    try:
        return encode(data)
    except (TypeError, ValueError):  # a value that JSON cannot express
        return encode(jsonable(data))


def _lines(table: Iterable[Iterable[Any]]) -> str:
    """Lines of comma-separated values."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue()


def _cells(row: TrialRow, metrics: Sequence[str]) -> list[Any]:
    return [
        *row[:4],
        _cell(row.origin),
        row.fidelity,
        row.status,
        row.kind,
        _cell(row.reason),
        row.value,
        row.loss,
        _cell(row.cost),
        _cell(row.seconds),
        row.attempts,
        _cell(row.worker),
        moment(row.asked),
        _moment(row.ended),
        *map(_cell, row.config.values()),
        *[_cell(row.metrics.get(name)) for name in metrics],
    ]


def _moment(at: float | None) -> str | None:
    return None if at is None else moment(at)


def _cell(value: Any) -> str | float | None:
    """A value as a cell: a number stays a number, and no text is taken for a formula."""
    if value is None or type(value) is int or (type(value) is float and math.isfinite(value)):
        return value
    plain = value if type(value) is str else jsonable(value)
    if isinstance(plain, bool | list | dict):
        plain = json.dumps(plain)
    if not isinstance(plain, str):
        return plain  # type: ignore[no-any-return]  # a number or None
    text = printable(plain)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
