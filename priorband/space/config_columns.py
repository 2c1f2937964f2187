"""Many configurations of one space as arrays: one column for each searched parameter."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.space.activation import Activation
from priorband.space.base import Parameter
from priorband.space.choices import Constant
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space

Column = NDArray[Any]

FLOAT, INTEGER, INDEX = np.dtype("<f8"), np.dtype("<i8"), np.dtype("<i4")


@final
class ConfigColumns:
    """Configurations as columns: numbers as they are, choices as their index.

    What a configuration lacks because it is inactive is marked: NaN for a float, the lowest number
    for an integer, -1 for a choice. Configurations come back exactly as they were, as plain Python
    values in their order.

    >>> from priorband import Categorical, Float
    >>> space = Space({"lr": Float(0, 1), "act": Categorical(["relu", "gelu"])})
    >>> table = ConfigColumns.empty(space).extended([Config(lr=0.1, act="gelu")])
    >>> table.columns[1].tolist(), table.configs([0])
    ([1], [{'lr': 0.1, 'act': 'gelu'}])
    """

    __slots__ = ("columns", "space")

    def __init__(self, space: Space, columns: Sequence[Column]) -> None:
        self.space = space
        self.columns = tuple(columns)

    @classmethod
    def empty(cls, space: Space) -> "ConfigColumns":
        """A table without rows."""
        return cls(space, [np.empty(0, column_type(p)) for p in space.searched.values()])

    def __len__(self) -> int:
        return len(self.columns[0])

    def extended(self, configs: Sequence[Config]) -> "ConfigColumns":
        """A longer table."""
        if not configs:
            return self
        columns = [
            np.concatenate((column, self._column(name, parameter, configs)))
            for column, (name, parameter) in zip(
                self.columns, self.space.searched.items(), strict=True
            )
        ]
        return ConfigColumns(self.space, columns)

    def _column(self, name: str, parameter: Parameter, configs: Sequence[Config]) -> Column:
        if not self.space.conditional:
            return _column(parameter, [config[name] for config in configs])
        has = np.array([name in config for config in configs], bool)
        column = np.full(len(configs), mark(parameter), column_type(parameter))
        column[has] = _column(parameter, [config[name] for config in configs if name in config])
        return column

    def first(self, rows: int) -> "ConfigColumns":
        """A table of the first rows only."""
        return ConfigColumns(self.space, [column[:rows] for column in self.columns])

    def valid(self) -> bool:
        """Whether all columns are equally long, and every value is allowed.

        Marks must be exactly where parameters are inactive.
        """
        if any(len(column) != len(self) for column in self.columns):
            return False
        parameters = self.space.searched.values()
        activation = self.space.activation
        if activation is None:
            return all(map(_allowed, parameters, self.columns))
        active = self._active()
        some = [column[here] for column, here in zip(self.columns, active, strict=True)]
        return all(map(_allowed, parameters, some)) and all(
            map(np.array_equal, active, activation.stored_mask(self.columns))
        )

    def _active(self) -> list[NDArray[np.bool_]]:
        """Where each column has no mark."""
        pairs = zip(self.space.searched.values(), self.columns, strict=True)
        return [column == column if _is_float(p) else column != mark(p) for p, column in pairs]

    def configs(self, rows: Sequence[int]) -> list[Config]:
        """The configurations in these rows."""
        table = ConfigColumns(self.space, [column[rows] for column in self.columns])
        if self.space.activation:
            return [Config(pairs) for pairs in table._active_pairs(self.space.activation)]
        names = tuple(self.space.parameters)
        return [Config(zip(names, values, strict=True)) for values in table.values()]

    def values(self) -> Iterable[tuple[Any, ...]]:
        """The values of each configuration, constants included, in the configuration's order."""
        if self.space.activation:
            pairs = self._active_pairs(self.space.activation)
            return (tuple(value for _, value in each) for each in pairs)
        columns = iter(self.columns)
        lists = [
            repeat(parameter.value)
            if isinstance(parameter, Constant)
            else _values(parameter, next(columns))
            for parameter in self.space.parameters.values()
        ]
        return zip(*lists, strict=False)  # a constant repeats without end

    def _active_pairs(self, activation: Activation) -> Iterator[list[tuple[str, Any]]]:
        """The names and values of each configuration, active parameters only."""
        searched, actives = self.space.searched, self._active()
        at = {name: column for column, name in enumerate(searched)}
        values = {name: _values(p, self.columns[at[name]]) for name, p in searched.items()}
        is_active = {name: actives[column].tolist() for name, column in at.items()}
        for row in range(len(self)):
            found = {name: values[name][row] for name in searched if is_active[name][row]}
            yield list(activation.completed(found).items())


def column_type(parameter: Parameter) -> "np.dtype[Any]":
    """The type of a parameter's column."""
    if isinstance(parameter, Float):
        return FLOAT
    return INTEGER if isinstance(parameter, Integer) else INDEX


def mark(parameter: Parameter) -> float:
    """What stands in a parameter's column for a configuration in which it is inactive."""
    if isinstance(parameter, Float):
        return math.nan
    return int(np.iinfo(INTEGER).min) if isinstance(parameter, Integer) else -1


def _is_float(parameter: Parameter) -> bool:
    return column_type(parameter) == FLOAT


def _column(parameter: Parameter, values: list[Any]) -> Column:
    if isinstance(parameter, Float | Integer):
        return np.array(values, column_type(parameter))
    index = {choice: i for i, choice in enumerate(parameter.choices)}
    return np.array([index[value] for value in values], INDEX)


def _values(parameter: Parameter, column: Column) -> list[Any]:
    values: list[Any] = column.tolist()
    if isinstance(parameter, Float | Integer):
        return values
    choices = parameter.choices
    return [choices[index] for index in values]  # the mark is -1, whose choice is not used


def _allowed(parameter: Parameter, column: Column) -> bool:
    if isinstance(parameter, Float | Integer):
        low, high = parameter.low, parameter.high
        if parameter.grid and not parameter.grid.contains(column):
            return False
    else:
        low, high = 0, len(parameter.choices) - 1
    return bool(np.all((column >= low) & (column <= high)))
