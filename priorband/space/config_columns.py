"""Many configurations of one space as arrays: one column for each searched parameter."""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

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

    Configurations come back exactly as they were, as plain Python values in the space's order.

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
            np.concatenate((column, _column(parameter, [config[name] for config in configs])))
            for column, (name, parameter) in zip(
                self.columns, self.space.searched.items(), strict=True
            )
        ]
        return ConfigColumns(self.space, columns)

    def valid(self) -> bool:
        """Whether all columns are equally long, and every value is allowed."""
        parameters = self.space.searched.values()
        return all(
            len(column) == len(self) and _allowed(parameter, column)
            for parameter, column in zip(parameters, self.columns, strict=True)
        )

    def configs(self, rows: Sequence[int]) -> list[Config]:
        """The configurations in these rows."""
        names = tuple(self.space.parameters)
        table = ConfigColumns(self.space, [column[rows] for column in self.columns])
        return [Config(zip(names, values, strict=True)) for values in table.values()]

    def values(self) -> Iterable[tuple[Any, ...]]:
        """The values of each configuration, constants included, in the space's order."""
        columns = iter(self.columns)
        lists = [
            repeat(parameter.value)
            if isinstance(parameter, Constant)
            else _values(parameter, next(columns))
            for parameter in self.space.parameters.values()
        ]
        return zip(*lists, strict=False)  # a constant repeats without end


def column_type(parameter: Parameter) -> "np.dtype[Any]":
    """The type of a parameter's column."""
    if isinstance(parameter, Float):
        return FLOAT
    return INTEGER if isinstance(parameter, Integer) else INDEX


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
    return [choices[index] for index in values]


def _allowed(parameter: Parameter, column: Column) -> bool:
    if isinstance(parameter, Float | Integer):
        low, high = parameter.low, parameter.high
    else:
        low, high = 0, len(parameter.choices) - 1
    return bool(np.all((column >= low) & (column <= high)))
