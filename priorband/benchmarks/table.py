"""Past runs from a CSV file: a line says which loss a configuration had at which fidelity."""

import csv
from collections.abc import Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from priorband.benchmarks.base import Array
from priorband.errors import ConfigError, DataError, SpaceError
from priorband.fidelity import Fidelity
from priorband.numeric import real
from priorband.space.base import Parameter
from priorband.space.choices import Categorical, Constant
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space
from priorband.values import frozen

Given = Space | Sequence[str] | None
"""A space, the names of the columns to infer one from, or None for all columns that are left."""

LOG_FROM = 100.0
"""A column of positive numbers is on a log scale where the highest is more times the lowest."""
ROUNDING = 1e-9
"""Rungs are quotients of the highest fidelity: they may miss one on record by rounding."""
_WIDEST_INTEGER = 2**52


@final
@frozen
class RunTable:
    """Past runs, by configuration and then by fidelity.

    Configurations are in the order in which the file first has them, `points` are their encoded
    rows. `owners` has the number of each run's configuration. A loss is nan where a run failed.
    """

    name: str
    space: Space
    fidelity: Fidelity
    configs: tuple[Config, ...]
    points: Array
    owners: NDArray[np.intp]
    fidelities: Array
    losses: Array


def read_table(path: str | Path, fidelity: str, loss: str, space: Given = None) -> RunTable:
    """The runs of a CSV file: columns of parameters, one of fidelities and one of losses.

    A configuration is what the parameters' columns say. Losses that are empty, nan or infinite are
    failed trainings.
    """
    sheet = _sheet(Path(path))
    steps, losses = _numbers(sheet, "fidelity", fidelity), _numbers(sheet, "loss", loss)
    for row, step in enumerate(steps):
        if not 0 < step < np.inf:
            cell = sheet.column(fidelity)[row]
            sheet.refuse(row, f"`{fidelity}` must be a number above 0, got {cell!r}.")
    known = space if isinstance(space, Space) else _inferred(sheet, space, (fidelity, loss))
    for name in (fidelity, loss):
        if name in known.parameters or fidelity == loss:
            raise DataError(f"The column {name!r} of {sheet.name} cannot be two things at once.")
    configs, points, owners = _configurations(sheet, known)
    order = np.lexsort((steps, owners))
    _check_distinct(sheet, order, owners, steps)
    return RunTable(
        *(sheet.name, known, _range(fidelity, steps), configs, points),
        *(owners[order], steps[order], np.where(np.isfinite(losses), losses, nan)[order]),
    )


def check_within(fidelity: Fidelity, asked: float) -> None:
    """Refuse a fidelity that lies beyond what is on record."""
    if not fidelity.low * (1 - ROUNDING) <= asked <= fidelity.high * (1 + ROUNDING):
        raise SpaceError(
            f"`{fidelity.name}` is on record from {fidelity.low} to {fidelity.high}, got {asked!r}."
        )


@final
@frozen
class _Sheet:
    """The cells of a file, and on which line each row ends."""

    name: str
    header: tuple[str, ...]
    lines: tuple[int, ...]
    columns: Mapping[str, tuple[str, ...]]

    def column(self, name: str, hint: str = "") -> tuple[str, ...]:
        """The cells below a name."""
        if name not in self.columns:
            raise DataError(
                f"{self.name} has no column {name!r}. Its columns: {', '.join(self.header)}.{hint}"
            )
        return self.columns[name]

    def refuse(self, row: int, what: str) -> NoReturn:
        """Say what is wrong with a row."""
        raise DataError(f"{self.name}, line {self.lines[row]}: {what}")


def _sheet(path: Path) -> _Sheet:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            found = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except OSError as error:
        raise DataError(f"The table {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise DataError(f"The table {path} is no text in UTF-8. Save it as such.") from None
    except csv.Error as error:
        raise DataError(f"{path.name}, line {reader.line_num}: {error}.") from None
    if len(found) < 2:
        what = "has a header but no runs" if found else "is empty"
        raise DataError(f"The table {path} {what}. It needs a header and a line for each run.")
    header, rows = tuple(found[0][1]), found[1:]
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise DataError(f"{path.name} has two columns named {twice!r}. Rename one.")
    for line, row in rows:
        if len(row) != len(header):
            raise DataError(
                f"{path.name}, line {line}: the header has {len(header)} cells, got {len(row)}."
            )
    columns = zip(*(row for _, row in rows), strict=True)
    return _Sheet(
        *(path.name, header, tuple(line for line, _ in rows)),
        dict(zip(header, columns, strict=True)),
    )


def _number(cell: str) -> float | None:
    """The number that a cell holds, nan and infinities included; None for words."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _numbers(sheet: _Sheet, what: str, name: str) -> Array:
    """A column of numbers; nan where a cell is empty."""
    cells = sheet.column(name, f" Say which one has the {what}: {what}=...")
    found = {cell: _number(cell or "nan") for cell in set(cells)}
    for row, cell in enumerate(cells):
        if found[cell] is None:
            sheet.refuse(row, f"`{name}` must be a number, got {cell!r}.")
    return np.array([found[cell] for cell in cells], dtype=np.float64)


def _range(name: str, steps: Array) -> Fidelity:
    low, high = float(steps.min()), float(steps.max())
    if np.all(steps == np.floor(steps)):
        return Fidelity(name, int(low), int(high))
    return Fidelity(name, low, high)


def _inferred(sheet: _Sheet, names: Sequence[str] | None, taken: tuple[str, str]) -> Space:
    """The space that columns of values suggest."""
    if names is None:
        names = [name for name in sheet.header if name not in taken]
    if not isinstance(names, Sequence) or isinstance(names, str):
        raise DataError(f"`space` must be a Space or a list of columns, got {names!r}.")
    if "" in names:
        raise DataError(
            f"Column {sheet.header.index('') + 1} of {sheet.name} has no name. Give it one, or say "
            "which columns are parameters: space=[...]."
        )
    parameters = {name: _parameter(sheet, name) for name in names}
    if all(isinstance(parameter, Constant) for parameter in parameters.values()):
        columns = f"the columns {', '.join(names)}" if names else "no column is left and"
        raise DataError(
            f"{sheet.name} has no parameter to search: {columns} hold a single configuration."
        )
    return Space(parameters)


def _parameter(sheet: _Sheet, name: str) -> Parameter | Constant:
    """A number, a choice or a constant, whatever a column's cells look like."""
    cells = sheet.column(name)
    if "" in cells:
        sheet.refuse(cells.index(""), f"`{name}` is empty. Every run needs all parameters.")
    numbers = {cell: _number(cell) for cell in dict.fromkeys(cells)}
    if all(number is None for number in numbers.values()):
        return _choice(list(numbers))
    for cell, number in numbers.items():
        if number is None or not isfinite(number):
            sheet.refuse(
                cells.index(cell),
                f"`{name}` has {cell!r} among numbers. Mend it, or give a space where it is one of "
                "a Categorical's choices.",
            )
    return _numeric(numbers)


def _choice(words: list[str]) -> Parameter | Constant:
    values: list[Any] = words
    if all(word.lower() in ("true", "false") for word in words):
        values = sorted({word.lower() == "true" for word in words})
    return Categorical(values) if len(values) > 1 else Constant(values[0])


def _numeric(numbers: Mapping[str, float | None]) -> Parameter | Constant:
    values = [number for number in numbers.values() if number is not None]
    low, high = min(values), max(values)
    written_whole = all(cell.lstrip("+-").isdecimal() for cell in numbers)
    whole = written_whole and max(-low, high) <= _WIDEST_INTEGER
    if low == high:
        return Constant(int(low) if whole else low)
    log = 0 < low < high / LOG_FROM
    return Integer(int(low), int(high), log=log) if whole else Float(low, high, log=log)


def _configurations(
    sheet: _Sheet, space: Space
) -> tuple[tuple[Config, ...], Array, NDArray[np.intp]]:
    """The distinct configurations, their encoded rows, and which of them each row has."""
    names = [
        name
        for name, parameter in space.parameters.items()
        if name in sheet.columns or not isinstance(parameter, Constant)
    ]
    fixed = {n: p.value for n, p in space.parameters.items() if isinstance(p, Constant)}
    configs: list[Config] = []
    numbers: dict[tuple[float, ...], int] = {}
    seen: dict[tuple[str, ...], int] = {}
    owners = []
    for row, cells in enumerate(zip(*map(sheet.column, names), strict=True)):
        if cells not in seen:
            values = {n: _meant(space.parameters[n], c) for n, c in zip(names, cells, strict=True)}
            try:
                config = space.check({**fixed, **values})
            except ConfigError as error:
                sheet.refuse(row, str(error))
            code = tuple(space.encode([config])[0].tolist())
            seen[cells] = numbers.setdefault(code, len(configs))
            configs += [config] * (seen[cells] == len(configs))
        owners.append(seen[cells])
    return tuple(configs), np.array(list(numbers)), np.array(owners, dtype=np.intp)


def _meant(parameter: Parameter | Constant, cell: str) -> Any:
    """The value of a parameter that a cell stands for; the cell itself where there is none."""
    if isinstance(parameter, Float | Integer):
        number = _number(cell)
        return cell if number is None else number
    choices = [parameter.value] if isinstance(parameter, Constant) else parameter.choices
    return next((choice for choice in choices if _stands_for(cell, choice)), cell)


def _stands_for(cell: str, choice: Any) -> bool:
    if isinstance(choice, bool):
        return cell.lower() == str(choice).lower()
    if choice is None:
        return cell in ("", "None")
    return cell == str(choice) or (real(choice) is not None and _number(cell) == choice)


def _check_distinct(
    sheet: _Sheet, order: NDArray[np.intp], owners: NDArray[np.intp], steps: Array
) -> None:
    same = (np.diff(owners[order]) == 0) & (np.diff(steps[order]) == 0)
    for place in np.flatnonzero(same)[:1].tolist():
        first, second = sorted(order[[place, place + 1]].tolist())
        sheet.refuse(
            second,
            f"the same configuration and fidelity as on line {sheet.lines[first]}. "
            "Keep one of them, or their mean.",
        )
