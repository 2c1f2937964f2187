"""`priorband export`: a study as a table with one row per trial.

Text in a CSV file cannot become a formula in a spreadsheet, nor control a terminal.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, final

from priorband.cli.argument_types import STUDY, Command
from priorband.cli.read_study import trial_table
from priorband.display.text import jsonable, moment, printable
from priorband.durable.table_cells import INACTIVE
from priorband.durable.trial_table import COLUMNS, TrialRow

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
    with exported(args.study, args.json) as text:
        if args.output is None:
            sys.stdout.writelines(text)
        else:
            write(args.output, text)
    return 0


@contextmanager
def exported(where: str, as_json: bool = False) -> Iterator[Iterator[str]]:
    """The table of a study as text, piece by piece."""
    form = JsonFormat() if as_json else CsvFormat()
    with trial_table(where, form, find_metrics=not as_json) as (table, space):
        yield form.table(table, [*space.parameters], table.metric_names)


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


@final
class CsvFormat:
    """Comma-separated values, with a column for each setting and metric."""

    null = ""

    def text(self, value: Any, /) -> str:
        """A value as a cell: a number stays a number, and no text is taken for a formula."""
        if type(value) is float and math.isfinite(value):
            return repr(value)
        plain = jsonable(value)
        if isinstance(plain, bool | list | dict):
            plain = json.dumps(plain)
        if not isinstance(plain, str):
            return "" if plain is None else str(plain)
        text = printable(plain)  # which leaves no line break
        if text.lstrip().startswith(_FORMULA):
            text = f"'{text}"
        return '"' + text.replace('"', '""') + '"' if '"' in text or "," in text else text

    def time(self, at: float, /) -> str:
        """A time as ISO 8601."""
        return moment(at)

    def table(
        self, rows: Iterable[TrialRow], settings: list[str], metrics: list[str]
    ) -> Iterator[str]:
        """The lines of a table, some at a time."""
        names = (*(f"config.{name}" for name in settings), *(f"metrics.{name}" for name in metrics))
        yield ",".join(map(self.text, (*COLUMNS, *names))) + "\n"
        for some in _groups(rows):
            for cells, found in some:
                cells += [self.text(found.get(name)) for name in metrics]
            yield "\n".join([",".join(cells) for cells, _ in some]) + "\n"


@final
class JsonFormat:
    """A list of JSON objects, one per line."""

    null = "null"

    def __init__(self) -> None:
        self._encode = json.JSONEncoder(allow_nan=False).encode

    def text(self, value: Any, /) -> str:
        """A value as JSON; one that JSON cannot express becomes text."""
        return self._encode(jsonable(value))

    def time(self, at: float, /) -> str:
        """A time as ISO 8601."""
        return f'"{moment(at)}"'

    def table(
        self, rows: Iterable[TrialRow], settings: list[str], metrics: list[str]
    ) -> Iterator[str]:
        """The lines of a table, some at a time."""
        del metrics  # each object has its own

        @lru_cache(1000)
        def template(names: tuple[str, ...]) -> str:
            return f'{{{_members(COLUMNS)}, "config": {{{_members(names)}}}, "metrics": %s}}'

        def line(cells: list[str], found: Mapping[str, Any]) -> str:
            form = whole
            if INACTIVE in cells:  # which is not JSON, so it is one of the settings
                names = zip(settings, cells[len(COLUMNS) :], strict=True)
                form = template(tuple([name for name, cell in names if cell != INACTIVE]))
                cells = [cell for cell in cells if cell != INACTIVE]
            return form % (*cells, self.text(found) if found else "{}")

        whole = template(tuple(settings))
        before = "[\n"
        for some in _groups(rows):
            lines = [line(cells, found) for cells, found in some]
            yield before + ",\n".join(lines)
            before = ",\n"
        yield "\n]\n" if before == ",\n" else "[\n\n]\n"


def _members(names: Iterable[str]) -> str:
    """The members of a JSON object, as a template for their values."""
    return ", ".join(json.dumps(name).replace("%", "%%") + ": %s" for name in names)


def _groups(rows: Iterable[TrialRow]) -> Iterator[list[TrialRow]]:
    rest = iter(rows)
    while some := list(islice(rest, _ROWS_AT_ONCE)):
        yield some
