"""Read past runs from a CSV file: one line per configuration and fidelity, with the loss."""

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

SpaceOrColumns = Space | Sequence[str] | None
"""A space, the columns to infer it from, or None for all but the fidelity and the loss."""

LOG_RATIO = 100.0
"""Positive numbers are on a log scale if the highest is more than this many times the lowest."""
ROUNDING = 1e-9
"""Relative tolerance for fidelities: rungs are computed, and may differ from a recorded one."""
_WIDEST_INTEGER = 2**52


@final
@frozen
class RunTable:
    """Past runs, sorted by configuration and then by fidelity.

    `configs` are the configurations in the order of their first lines, `points` their encoded rows.
    `owners`, `fidelities` and `losses` have one element per run: the index of its configuration,
    its fidelity, and its loss, which is nan if it failed.
    """

    name: str
    space: Space
    fidelity: Fidelity
    configs: tuple[Config, ...]
    points: Array
    owners: NDArray[np.intp]
    fidelities: Array
    losses: Array


def read_table(
    path: str | Path, fidelity: str, loss: str, space: SpaceOrColumns = None
) -> RunTable:
    """The runs in a CSV file with columns for the parameters, the fidelity and the loss.

    Empty, nan and infinite losses are failed trainings.
    """
    sheet = _read_sheet(Path(path))
    steps, losses = _numbers(sheet, "fidelity", fidelity), _numbers(sheet, "loss", loss)
    for row, step in enumerate(steps):
        if not 0 < step < np.inf:
            cell = sheet.column(fidelity)[row]
            sheet.reject(row, f"`{fidelity}` must be a number above 0, got {cell!r}.")
    if not isinstance(space, Space):
        space = _inferred_space(sheet, space, (fidelity, loss))
    for name in (fidelity, loss):
        if name in space.parameters or fidelity == loss:
            raise DataError(
                f"The column {name!r} of {sheet.name} can be only one of a parameter, the fidelity "
                "and the loss."
            )
    configs, points, owners = _configurations(sheet, space)
    order = np.lexsort((steps, owners))
    _check_distinct(sheet, order, owners, steps)
    return RunTable(
        *(sheet.name, space, _fidelity(fidelity, steps), configs, points),
        *(owners[order], steps[order], np.where(np.isfinite(losses), losses, nan)[order]),
    )


def check_in_range(fidelity: Fidelity, value: float) -> None:
    """Raise `SpaceError` if a value is outside the recorded fidelities."""
    if not fidelity.low * (1 - ROUNDING) <= value <= fidelity.high * (1 + ROUNDING):
        raise SpaceError(
            f"`{fidelity.name}` must be between {fidelity.low} and {fidelity.high}, got {value!r}."
        )


@final
@frozen
class _Sheet:
    """The cells of a CSV file, and the line number of each row."""

    name: str
    header: tuple[str, ...]
    lines: tuple[int, ...]
    columns: Mapping[str, tuple[str, ...]]

    def column(self, name: str, hint: str = "") -> tuple[str, ...]:
        """The cells of a column."""
        if name not in self.columns:
            raise DataError(
                f"{self.name} has no column {name!r}. Its columns: {', '.join(self.header)}.{hint}"
            )
        return self.columns[name]

    def reject(self, row: int, reason: str) -> NoReturn:
        """Raise `DataError` for a row."""
        raise DataError(f"{self.name}, line {self.lines[row]}: {reason}")


def _read_sheet(path: Path) -> _Sheet:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except OSError as error:
        raise DataError(f"The table {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise DataError(f"The table {path} is not UTF-8 text. Save it as UTF-8.") from None
    except csv.Error as error:
        raise DataError(f"{path.name}, line {reader.line_num}: {error}.") from None
    if len(rows) < 2:
        problem = "has a header but no runs" if rows else "is empty"
        raise DataError(f"The table {path} {problem}. It needs a header and one line per run.")
    header, rows = tuple(rows[0][1]), rows[1:]
    if len(set(header)) < len(header):
        duplicate = next(name for name in header if header.count(name) > 1)
        raise DataError(f"{path.name} has two columns named {duplicate!r}. Rename one.")
    for line, row in rows:
        if len(row) != len(header):
            raise DataError(
                f"{path.name}, line {line}: it has {len(row)} cells, the header has {len(header)}."
            )
    columns = zip(*(row for _, row in rows), strict=True)
    return _Sheet(
        *(path.name, header, tuple(line for line, _ in rows)),
        dict(zip(header, columns, strict=True)),
    )


def _number(cell: str) -> float | None:
    """The number in a cell, which may be nan or infinite; None if the cell is not a number."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _numbers(sheet: _Sheet, role: str, name: str) -> Array:
    """A column of numbers; nan where a cell is empty."""
    cells = sheet.column(name, f" Say which one has the {role}: {role}=...")
    numbers = {cell: _number(cell or "nan") for cell in set(cells)}
    for row, cell in enumerate(cells):
        if numbers[cell] is None:
            sheet.reject(row, f"`{name}` must be a number, got {cell!r}.")
    return np.array([numbers[cell] for cell in cells], dtype=np.float64)


def _fidelity(name: str, steps: Array) -> Fidelity:
    low, high = float(steps.min()), float(steps.max())
    if np.all(steps == np.floor(steps)):
        return Fidelity(name, int(low), int(high))
    return Fidelity(name, low, high)


def _inferred_space(sheet: _Sheet, names: Sequence[str] | None, others: tuple[str, str]) -> Space:
    """The space inferred from columns: the named ones, or all except `others`."""
    if names is None:
        names = [name for name in sheet.header if name not in others]
    if not isinstance(names, Sequence) or isinstance(names, str):
        raise DataError(f"`space` must be a Space or a list of columns, got {names!r}.")
    if "" in names:
        raise DataError(
            f"Column {sheet.header.index('') + 1} of {sheet.name} has no name. Give it one, or "
            "name the columns of the parameters: space=[...]."
        )
    parameters = {name: _parameter(sheet, name) for name in names}
    if all(isinstance(parameter, Constant) for parameter in parameters.values()):
        problem = (
            f"the values of {', '.join(names)} never change"
            if names
            else "it has no columns besides the fidelity and the loss"
        )
        raise DataError(f"{sheet.name} has no parameter to search: {problem}.")
    return Space(parameters)


def _parameter(sheet: _Sheet, name: str) -> Parameter | Constant:
    """The numeric parameter, choice or constant that the cells of a column suggest."""
    cells = sheet.column(name)
    if "" in cells:
        sheet.reject(cells.index(""), f"`{name}` is empty. Every run needs all parameters.")
    numbers = {cell: _number(cell) for cell in dict.fromkeys(cells)}
    if all(number is None for number in numbers.values()):
        return _choice_parameter(list(numbers))
    for cell, number in numbers.items():
        if number is None or not isfinite(number):
            sheet.reject(
                cells.index(cell),
                f"`{name}` has {cell!r} among numbers. Correct it, or pass a space in which it is "
                "a choice of a Categorical.",
            )
    return _numeric_parameter(numbers)


def _choice_parameter(words: list[str]) -> Parameter | Constant:
    values: list[Any] = words
    if all(word.lower() in ("true", "false") for word in words):
        values = sorted({word.lower() == "true" for word in words})
    return Categorical(values) if len(values) > 1 else Constant(values[0])


def _numeric_parameter(numbers: Mapping[str, float | None]) -> Parameter | Constant:
    values = [number for number in numbers.values() if number is not None]
    low, high = min(values), max(values)
    written_whole = all(cell.lstrip("+-").isdecimal() for cell in numbers)
    whole = written_whole and max(-low, high) <= _WIDEST_INTEGER
    if low == high:
        return Constant(int(low) if whole else low)
    log = 0 < low < high / LOG_RATIO
    return Integer(int(low), int(high), log=log) if whole else Float(low, high, log=log)


def _configurations(
    sheet: _Sheet, space: Space
) -> tuple[tuple[Config, ...], Array, NDArray[np.intp]]:
    """The distinct configurations, their encoded rows, and the configuration of each run."""
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
            values = {n: _value(space.parameters[n], c) for n, c in zip(names, cells, strict=True)}
            try:
                config = space.check({**fixed, **values})
            except ConfigError as error:
                sheet.reject(row, str(error))
            code = tuple(space.encode([config])[0].tolist())
            seen[cells] = numbers.setdefault(code, len(configs))
            configs += [config] * (seen[cells] == len(configs))
        owners.append(seen[cells])
    return tuple(configs), np.array(list(numbers)), np.array(owners, dtype=np.intp)


def _value(parameter: Parameter | Constant, cell: str) -> Any:
    """The parameter's value that a cell stands for; the cell's own text if there is none."""
    if isinstance(parameter, Float | Integer):
        number = _number(cell)
        return cell if number is None else number
    choices = [parameter.value] if isinstance(parameter, Constant) else parameter.choices
    return next((choice for choice in choices if _matches(cell, choice)), cell)


def _matches(cell: str, choice: Any) -> bool:
    if isinstance(choice, bool):
        return cell.lower() == str(choice).lower()
    if choice is None:
        return cell in ("", "None")
    return cell == str(choice) or (real(choice) is not None and _number(cell) == choice)


def _check_distinct(
    sheet: _Sheet, order: NDArray[np.intp], owners: NDArray[np.intp], steps: Array
) -> None:
    same = (np.diff(owners[order]) == 0) & (np.diff(steps[order]) == 0)
    for index in np.flatnonzero(same)[:1].tolist():
        first, second = sorted(order[[index, index + 1]].tolist())
        sheet.reject(
            second,
            f"it has the same configuration and fidelity as line {sheet.lines[first]}. "
            "Keep one of them, or their mean.",
        )
