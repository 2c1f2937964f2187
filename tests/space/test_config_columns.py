"""Configurations of conditional spaces as columns of values with marks."""

import itertools

import numpy as np
import pytest

from priorband import Config, Float, Integer, Space
from priorband.space.config_columns import ConfigColumns, mark
from priorband.space.when import Values

from .conditional_spaces import SPACES


@pytest.mark.parametrize("name", SPACES)
def test_columns_give_configurations_back_and_mark_what_is_inactive(name: str) -> None:
    space = SPACES[name]
    configs = [space.decode(row) for row in space.uniform(60, np.random.default_rng(0))]
    table = ConfigColumns.empty(space).extended(configs[:20]).extended(configs[20:])
    assert table.valid()
    again = table.configs(range(60))
    assert [[*config.items()] for config in again] == [[*config.items()] for config in configs]
    assert [*table.values()] == [tuple(config.values()) for config in configs]
    assert ConfigColumns.empty(space).valid()
    for column, (other, parameter) in zip(table.columns, space.searched.items(), strict=True):
        has = np.array([other in config for config in configs])
        marked = np.isnan(column) if isinstance(parameter, Float) else column == mark(parameter)
        assert (marked == ~has).all()


@pytest.mark.parametrize("name", [n for n in SPACES if n != "constants"])
def test_columns_with_a_wrong_mark_or_value_are_not_valid(name: str) -> None:
    space = SPACES[name]
    configs = [space.decode(row) for row in space.uniform(30, np.random.default_rng(0))]
    table = ConfigColumns.empty(space).extended(configs)
    for changed, row in itertools.product(range(len(table.columns)), range(30)):
        columns = [column.copy() for column in table.columns]
        parameter = [*space.searched.values()][changed]
        if space.names[changed] in configs[row]:
            columns[changed][row] = (
                ConfigColumns.empty(space).extended([Config()]).columns[changed][0]
            )
        else:
            value = parameter.decode(0.0)
            index = [*parameter.choices].index(value) if parameter.choices else value
            columns[changed][row] = index
        assert not ConfigColumns(space, columns).valid()
    short = [column[: 30 - i] for i, column in enumerate(table.columns)]
    assert not ConfigColumns(space, short).valid()


def test_columns_with_values_between_steps_are_not_valid() -> None:
    space = Space({"x": Float(0, 1, step=0.1), "n": Integer(0, 8, step=4)})
    table = ConfigColumns.empty(space).extended([Config(x=0.3, n=4), Config(x=1.0, n=8)])
    assert table.valid()
    x, n = table.columns
    assert not ConfigColumns(space, [x + 0.05, n]).valid()
    assert not ConfigColumns(space, [x, n - 2]).valid()


def test_values_that_are_several_are_a_tuple_that_prints_as_a_list() -> None:
    assert repr(Values(("a", 1))) == "['a', 1]"
    assert Values(("a", 1)) == ("a", 1)
