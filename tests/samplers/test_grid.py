"""Grid search: known values, each combination once, in random order, until none is left."""

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

import priorband as pb
from priorband import (
    Categorical,
    Constant,
    ExhaustedError,
    Fidelity,
    Float,
    Integer,
    Optimizer,
    Ordinal,
    Space,
    Study,
)
from priorband.errors import MethodError
from priorband.samplers import Grid
from priorband.samplers.grid import axis
from priorband.schedulers import FullFidelity

lib: Any = pb  # a person in a hurry has no type checker


def small(seed: int = 0, points: int = 3) -> Study:
    """A study of a grid with 3 * 2 * 2 points."""
    space = Space(
        {
            **{"x": Float(0, 1), "c": Categorical(["a", "b"]), "k": Constant("fixed")},
            **{"o": Ordinal(["s", "t"]), "one": Categorical([7])},
        }
    )
    return Study(space, Fidelity("epochs", 1, 9), Optimizer(FullFidelity(), Grid(points)), seed)


@pytest.mark.parametrize(
    ("parameter", "points", "values"),
    [
        (Float(0, 1), 2, [0, 1]),
        (Float(0, 1), 10, [i / 9 for i in range(10)]),
        (Float(-1, 3), 5, [-1, 0, 1, 2, 3]),
        (Float(1e-4, 1e-1, log=True), 4, [1e-4, 1e-3, 1e-2, 1e-1]),
        (Float(1e-200, 1e200, log=True), 3, [1e-200, 1.0, 1e200]),
        (Integer(1, 5), 10, [1, 2, 3, 4, 5]),
        (Integer(1, 100), 10, [1, 12, 23, 34, 45, 56, 67, 78, 89, 100]),
        (Integer(0, 10), 4, [0, 3, 6, 10]),
        (Integer(1, 1000, log=True), 4, [1, 10, 100, 1000]),
        (Integer(1, 100, log=True), 4, [1, 4, 21, 100]),
        (Integer(-5, 5), 10, [-5, -3, -2, -1, 0, 1, 2, 3, 5]),
        (Integer(-9, -3), 3, [-9, -6, -3]),
        (Ordinal([2, 4, 8]), 2, [2, 4, 8]),
        (Categorical(["a", None]), 2, ["a", None]),
    ],
)
def test_the_values_of_an_axis_are_those_computed_by_hand(
    parameter: Any, points: int, values: list[Any]
) -> None:
    found = axis(parameter, points)
    exact = not isinstance(parameter, Float)
    assert found == (values if exact else pytest.approx(values, rel=1e-12))
    assert [type(value) for value in found] == [
        float if isinstance(parameter, Float) else type(value) for value in values
    ]


@pytest.mark.parametrize(
    "parameter",
    [
        *(Float(-0.3, 0.7), Float(1e-5, 0.1, log=True), Float(1e-300, 1e300, log=True)),
        *(Integer(-7, 9), Integer(3, 999, log=True), Integer(-20, -10)),
    ],
)
def test_every_value_lies_in_the_parameter_and_both_ends_are_exact(parameter: Any) -> None:
    for points in range(2, 25):
        values = axis(parameter, points)
        assert [parameter.low, parameter.high] == [values[0], values[-1]]
        assert values == sorted(set(values))
        assert all(0 <= parameter.encode(value) <= 1 for value in values)


def test_every_combination_is_tried_once_and_then_an_error_says_that_none_is_left() -> None:
    study = small()
    trials = [study.ask() for _ in range(12)]
    points = [tuple(trial.config[name] for name in ("x", "c", "o")) for trial in trials]
    assert sorted(points) == sorted(product([0.0, 0.5, 1.0], "ab", "st"))
    for _ in range(2):
        with pytest.raises(ExhaustedError) as caught:
            study.ask()
        assert "All 12 configurations of the grid have been tried." in str(caught.value)
        assert "Stop here, or use more `points`." in str(caught.value)
    assert isinstance(caught.value, RuntimeError)
    for trial in trials:
        study.tell(trial, trial.config["x"])
    assert len(study.state.history.observations) == 12
    assert study.best is not None and study.best.config["x"] == 0.0
    assert study.replay().exact


def test_the_named_grid_has_ten_values_a_number() -> None:
    space = Space({"x": Float(0, 1), "c": Categorical([0, 1])})
    study = Study(space, method="grid")
    points = Counter((trial.config["x"], trial.config["c"]) for trial in _asked(study, 20))
    assert set(points.values()) == {1}
    assert sorted({x for x, _ in points}) == pytest.approx([i / 9 for i in range(10)])
    with pytest.raises(ExhaustedError, match="All 20 configurations"):
        study.ask()


def _asked(study: Study, n: int) -> list[pb.Trial]:
    return [study.ask() for _ in range(n)]


def test_the_fidelity_is_no_axis_and_every_trial_is_trained_in_full() -> None:
    for trial in _asked(small(), 12):
        assert trial.fidelity == 9
        assert list(trial.config) == ["x", "c", "k", "o", "one"]
        assert (trial.config["k"], trial.config["one"], trial.origin) == ("fixed", 7, "grid")
        assert trial.parent is None


def test_the_order_follows_from_the_seed() -> None:
    one, again, other = ([trial.config for trial in _asked(small(seed), 12)] for seed in (1, 1, 2))
    assert one == again != other


def test_each_point_is_as_likely_as_any_other_to_be_the_next() -> None:
    n = 1200
    first: Counter[Any] = Counter()
    last: Counter[Any] = Counter()
    for seed in range(n):
        study = small(seed)
        first[tuple(study.ask().config.values())] += 1
    for seed in range(n // 4):
        trial = _asked(small(seed), 12)[-1]
        last[tuple(trial.config.values())] += 1
    for counts, total in ((first, n), (last, n // 4)):
        assert len(counts) == 12
        assert max(abs(c / total - 1 / 12) for c in counts.values()) < 5 * (1 / 12 / total) ** 0.5


def test_the_last_few_of_many_points_are_found_and_alike() -> None:
    study = Study(Space({"c": Categorical(range(1500))}), method="grid")
    left = {3, 700, 1499}
    for choice in set(range(1500)) - left:
        study.add({"c": choice}, 0.5)
    rngs = (np.random.default_rng(seed) for seed in range(150))
    counts = Counter(Grid().sample(study.state, 0, rng).config["c"] for rng in rngs)
    assert set(counts) == left
    assert max(abs(count / 150 - 1 / 3) for count in counts.values()) < 0.19


def test_a_configuration_that_a_person_queued_or_added_is_not_tried_again() -> None:
    study = small()
    config = {"x": 0.5, "c": "a", "k": "fixed", "o": "s", "one": 7}
    study.add(config, 0.3)
    study.queue({**config, "o": "t"})
    tried = [tuple(trial.config.values()) for trial in _asked(study, 11)]
    assert len(set(tried)) == 11
    assert tuple(config.values()) not in tried
    with pytest.raises(ExhaustedError):
        study.ask()


@pytest.mark.parametrize("points", [1, 0, -3, 2.0, "10", None, True])
def test_a_number_of_points_that_cannot_be_is_refused(points: Any) -> None:
    with pytest.raises(MethodError) as caught:
        lib.samplers.Grid(points)
    assert str(caught.value) == f"`points` must be a whole number of at least 2, got {points!r}."


def test_a_number_of_points_may_be_numpys() -> None:
    assert lib.samplers.Grid(np.int64(3)).points == 3
