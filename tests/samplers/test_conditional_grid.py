"""Grid search in spaces with conditions: each reachable configuration once, however many."""

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from space.conditional_spaces import SPACES, random_spaces

from priorband import (
    Categorical,
    Config,
    Constant,
    ExhaustedError,
    Float,
    Integer,
    Ordinal,
    Space,
    Study,
    at_least,
    at_most,
)
from priorband.samplers.conditional_grid import ConditionalGrid
from priorband.samplers.grid import axis

OPTIMIZERS = Space(
    {
        "optimizer": Categorical(["sgd", "adam", "none"]),
        "momentum": Float(0, 1, when={"optimizer": "sgd"}),
        "nesterov": Categorical([True, False], when={"momentum": at_least(0.5)}),
        "beta": Float(0, 1, when={"optimizer": "adam"}),
    }
)


def axes_of(space: Space, points: int) -> dict[str, list[Any]]:
    return {name: axis(p, points) for name, p in space.searched.items()}


def reachable(space: Space, points: int) -> set[Config]:
    """All configurations, from the product over all axes."""
    axes = axes_of(space, points)
    rows = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
    return {space.complete(row) for row in rows}


def test_the_reachable_configurations_are_those_counted_by_hand() -> None:
    """With three values a number: sgd has 0, and 0.5 and 1 twice; adam has three; none has one."""
    grid = ConditionalGrid(OPTIMIZERS, axes_of(OPTIMIZERS, 3))
    assert grid.size == 5 + 3 + 1
    found = list(grid.configs())
    assert len(found) == len(set(found)) == 9
    assert {"optimizer": "none"} in found
    assert {"optimizer": "sgd", "momentum": 0.0} in found
    assert {"optimizer": "sgd", "momentum": 1.0, "nesterov": False} in found


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("points", [2, 4])
def test_each_reachable_configuration_is_listed_and_counted_once(name: str, points: int) -> None:
    space = SPACES[name]
    grid, expected = ConditionalGrid(space, axes_of(space, points)), reachable(space, points)
    found = list(grid.configs())
    assert len(found) == grid.size == len(expected)
    assert set(found) == expected
    assert all(space.check(config) == config for config in found)


@settings(max_examples=examples(100), deadline=None)
@given(random_spaces(), st.integers(0, 2**32))
def test_on_any_space_as_well(space: Space, seed: int) -> None:
    if not space.conditional:
        return
    grid, expected = ConditionalGrid(space, axes_of(space, 2)), reachable(space, 2)
    found = list(grid.configs())
    assert len(found) == grid.size == len(expected) and set(found) == expected
    for numbers in np.random.default_rng(seed).random((5, len(space))).tolist():
        assert grid.config(numbers) in expected


def test_a_study_tries_each_once_and_then_says_how_many_there_were() -> None:
    study = Study(OPTIMIZERS, method="grid")
    trials = [study.ask() for _ in range(10 + 5 + 10 + 1)]
    assert {trial.config for trial in trials} == reachable(OPTIMIZERS, 10)
    with pytest.raises(ExhaustedError, match="All 26 configurations of the grid"):
        study.ask()
    assert study.replay().exact


def test_all_reachable_configurations_are_equally_likely() -> None:
    grid = ConditionalGrid(OPTIMIZERS, axes_of(OPTIMIZERS, 3))
    rng = np.random.default_rng(0)
    counts = Counter(grid.config(rng.random(4).tolist()) for _ in range(3000))
    assert len(counts) == 9
    assert stats.chisquare([*counts.values()]).pvalue > 1e-3


def test_every_number_leads_to_a_configuration() -> None:
    grid = ConditionalGrid(OPTIMIZERS, axes_of(OPTIMIZERS, 3))
    ends = [0.0, 1.0 - 2.0**-53]
    found = {grid.config(numbers) for numbers in product(ends, repeat=4)}
    assert found <= set(grid.configs())


def test_a_rare_branch_with_many_configurations_is_not_listed() -> None:
    """Twenty switches lead to a branch of 10**20: all draws but a few are in it, at little cost."""
    switches = {
        f"s{i}": Categorical([0, 1], when={f"s{i - 1}": 1} if i else None) for i in range(20)
    }
    numbers = {f"x{i}": Float(0, 1, when={"s19": 1}) for i in range(20)}
    grid = ConditionalGrid(
        Space({**switches, **numbers}), axes_of(Space({**switches, **numbers}), 10)
    )
    assert grid.size == 20 + 10**20
    study = Study(Space({**switches, **numbers}), method="grid")
    assert all(study.ask().config["s19"] == 1 for _ in range(30))


def test_many_parents_before_many_children_are_counted_at_once() -> None:
    parents = {f"p{i}": Integer(1, 10) for i in range(30)}
    children = {f"c{i}": Float(0, 1, when={f"p{i}": at_most(5)}) for i in range(30)}
    space = Space({**parents, **children})
    assert ConditionalGrid(space, axes_of(space, 10)).size == 55**30
    also = {f"c{i}": Float(0, 1, when={f"p{i}": at_most(5), "all": True}) for i in range(30)}
    space = Space({**also, **parents, "all": Categorical([True, False])})
    assert ConditionalGrid(space, axes_of(space, 10)).size == 55**30 + 10**30


def test_constants_may_stand_between() -> None:
    space = Space(
        {
            "x": Ordinal([1, 2, 3], when={"version": 3}),
            "version": Constant(3, when={"kind": "b"}),
            "kind": Categorical(["a", "b"]),
        }
    )
    found = list(ConditionalGrid(space, axes_of(space, 10)).configs())
    assert found == [
        {"kind": "a"},
        *({"kind": "b", "version": 3, "x": x} for x in (1, 2, 3)),
    ]


@pytest.mark.parametrize(
    ("parameter", "points", "values"),
    [
        (Float(0, 1, step=0.25), 10, [0.0, 0.25, 0.5, 0.75, 1.0]),
        (Float(0, 1, step=0.1), 3, [0.0, 0.5, 1.0]),
        (Float(0, 1, step=0.1), 4, [0.0, 0.3, 0.6, 1.0]),
        (Integer(2, 10, step=4), 2, [2, 10]),
        (Integer(0, 90, step=10), 10, list(range(0, 100, 10))),
    ],
)
def test_an_axis_has_only_values_that_a_step_allows(
    parameter: Any, points: int, values: list[Any]
) -> None:
    found = axis(parameter, points)
    assert found == values
    assert [parameter.check(value) for value in found] == found
    assert [type(value) for value in found] == [type(value) for value in values]
