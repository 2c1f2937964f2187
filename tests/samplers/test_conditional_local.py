"""Search around the incumbent in spaces with conditions: parents first, and no mark is read."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from amounts import examples, slow
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from space.conditional_spaces import SPACES, random_spaces

import priorband as pb
from priorband import (
    Categorical,
    Config,
    Float,
    Histogram,
    Integer,
    Space,
    State,
    Study,
    Weights,
    at_least,
)
from priorband.samplers import Crossover, Fixed, Hypersphere, Perturb
from priorband.samplers.base import Sampler
from priorband.samplers.local import distances
from priorband.space.densities import Array
from priorband.streams import Generator

from .scripted import Scripted

ALWAYS_UNIFORM, ALWAYS_PRIOR = Fixed((0.5, 0.0, 0.5)), Fixed((0.0, 0.5, 0.5))
SAMPLERS: dict[str, Sampler] = {
    "perturb": Perturb(),
    "perturb all": Perturb(rate=1, always_change=True),
    "forced": Perturb(rate=1e-12),
    "crossover, uniform": Crossover(ALWAYS_UNIFORM),
    "crossover, prior": Crossover(ALWAYS_PRIOR),
    "hypersphere": Hypersphere(growth=2),
}

TREE = Space(
    {
        "a": Categorical(["x", "y"]),
        "b": Float(0, 1, prior=Histogram([1, 3]), when={"a": "x"}),
        "c": Categorical([10, 20, 30], prior=Weights({10: 1, 20: 2, 30: 1}), when={"a": "y"}),
        "d": Float(0, 1, when={"c": 20}),
    }
)
STAY, GO = 0.9, 0.1  # whether a column is selected, or taken from the partner


def after(space: Space, *configs: Mapping[str, Any], belief: Any = None) -> State:
    """The state in which the first configuration is the best of those tried."""
    study = Study(space, method="random", prior=belief)
    for rank, config in enumerate(configs):
        study.add(config, 0.1 * rank)
    return study.state


def drawn(sampler: Sampler, state: State, *numbers: Any) -> Config:
    """The configuration that a sampler makes of these numbers, all of which it must use."""
    rng: Any = Scripted(*numbers)
    config = sampler.sample(state, 0, rng).config
    assert not rng.left
    assert state.space.check(config) == config
    return config


# Perturbation. Of four columns, the first four numbers select and the others move.

BRANCH_X, BRANCH_Y = {"a": "x", "b": 0.25}, {"a": "y", "c": 20, "d": 0.5}


@pytest.mark.parametrize(
    ("u_c", "u_d", "expected"),
    [
        (0.2, 0.4, {"a": "y", "c": 10}),  # weights 1, 2, 1: below 1/4 it is 10
        (0.5, 0.4, {"a": "y", "c": 20, "d": 0.4}),  # without a prior, d is its number
        (0.9, 0.4, {"a": "y", "c": 30}),
    ],
)
def test_children_that_become_active_are_drawn_from_the_prior_and_others_dropped(
    u_c: float, u_d: float, expected: Mapping[str, Any]
) -> None:
    numbers = [GO, STAY, STAY, STAY, 0.9, 0.3, u_c, u_d]
    assert drawn(Perturb(), after(TREE, BRANCH_X), numbers) == expected


def test_a_child_that_becomes_active_has_its_own_density() -> None:
    """Of a histogram of 1/4 and 3/4, the quantile 5/8 is half of the upper half."""
    numbers = [GO, GO, GO, GO, 0.9, 0.625, 0.3, 0.3]
    assert drawn(Perturb(), after(TREE, BRANCH_Y), numbers) == {"a": "x", "b": 0.75}


def test_a_child_that_stays_active_is_perturbed_if_it_is_selected() -> None:
    state = after(TREE, BRANCH_Y)
    config = drawn(Perturb(), state, [STAY, GO, STAY, GO, 0.3, 0.3, 0.3, 0.8])
    moved = stats.truncnorm(-2, 2, 0.5, 0.25).ppf(0.8)
    assert config == {"a": "y", "c": 20, "d": pytest.approx(moved)}
    # A choice of three stays with probability 3/5; at 0.7 it is the first of the others.
    kept = drawn(Perturb(), state, [STAY, STAY, GO, GO, 0.3, 0.3, 0.7, 0.8])
    assert kept == {"a": "y", "c": 10}


def test_what_changes_nothing_active_is_drawn_again() -> None:
    nothing = [STAY, STAY, GO, GO, 0.9, 0.9, 0.9, 0.9]  # c and d are inactive
    change = [GO, STAY, STAY, STAY, 0.9, 0.9, 0.9, 0.9]
    state = after(TREE, BRANCH_X)
    assert drawn(Perturb(), state, nothing, nothing, change) == {"a": "y", "c": 30}


class Stubborn:
    """A prior that is no product: it always draws the same row, with numbers or marks in it."""

    mode = Config(a="x", b=0.5)

    def __init__(self, row: list[float]) -> None:
        self.row = row

    def sample(self, rng: Generator) -> Array:
        assert 0 <= float(rng.random()) < 1
        return np.array(self.row)

    def logpdf(self, rows: Array) -> Array:
        return np.zeros(len(rows))

    def around(self, config: Mapping[str, Any]) -> "Stubborn":
        return self


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([1.0, math.nan, 1.0, 0.125], {"a": "y", "c": 20, "d": 0.125}),
        ([0.0, 0.5, math.nan, math.nan], {"a": "y", "c": 20, "d": 0.875}),  # uniform: 0.6 of 3
        ([0.0, 0.5, 2.0, 0.125], {"a": "y", "c": 20, "d": 0.875}),  # inactive, not marked
        ([1.0, 0.5, 2.0, 0.125], {"a": "y", "c": 30}),
    ],
)
def test_a_prior_of_ones_own_gives_a_sample_and_where_it_is_inactive_the_draw_is_uniform(
    row: list[float], expected: Mapping[str, Any]
) -> None:
    state = after(TREE, BRANCH_X, belief=Stubborn(row))
    numbers = [GO, STAY, STAY, STAY, 0.9, 0.3, 0.6, 0.875]
    assert drawn(Perturb(), state, numbers, 0.5) == expected
    unchanged = [STAY, GO, STAY, STAY, 0.9, 0.3, 0.6, 0.875]  # needs no sample
    assert drawn(Perturb(), state, unchanged)["a"] == "x"


SWITCH = Space({"p": Categorical([0, 1]), "r": Categorical([7], when={"p": 1})})


@pytest.mark.parametrize("start", [{"p": 0}, {"p": 1, "r": 7}])
@pytest.mark.parametrize("rate", [1e-12, 1.0])
def test_if_only_a_parent_can_change_it_does(start: dict[str, Any], rate: float) -> None:
    state = after(SWITCH, start)
    for seed in range(20):
        config = Perturb(rate).sample(state, 0, np.random.default_rng(seed)).config
        assert config == ({"p": 1, "r": 7} if start["p"] == 0 else {"p": 0})


def test_a_parameter_is_forced_to_change_only_if_it_is_active() -> None:
    names: Counter[str] = Counter()
    for seed in range(300):
        config = Perturb(1e-12).sample(after(TREE, BRANCH_Y), 0, np.random.default_rng(seed)).config
        changed = [name for name in BRANCH_Y if config.get(name) != BRANCH_Y[name]]
        names[changed[0]] += 1
        assert changed in (["a", "c", "d"], ["c", "d"], ["d"])
    assert all(abs(names[name] / 300 - 1 / 3) < 0.14 for name in ("a", "c", "d"))


def test_a_space_of_one_configuration_gives_that() -> None:
    space = Space({"p": Categorical([1]), "r": Categorical([7], when={"p": 1})})
    assert Perturb().sample(after(space, {"p": 1, "r": 7}), 0, np.random.default_rng()).config


CHOICES = Space(
    {
        "e": Categorical([0, 1], prior=Weights({0: 1, 1: 4}), when={"b": [0, 1]}),
        "a": Categorical([0, 1, 2]),
        "b": Categorical([0, 1, 2], prior=Weights({0: 3, 1: 2, 2: 1}), when={"a": [0, 1]}),
    }
)
"""Three levels, the last of them declared first."""


def perturbed_shares(space: Space, start: dict[str, int]) -> dict[Any, float]:
    """The probability of each configuration that perturbation gives, by enumeration."""
    weights = {"a": [1 / 3] * 3, "b": [3 / 6, 2 / 6, 1 / 6], "e": [1 / 5, 4 / 5]}
    shares: dict[Any, float] = {(): 1.0}
    for name in ("a", "b", "e"):
        allowed = {"a": None, "b": ("a", (0, 1)), "e": ("b", (0, 1))}[name]
        following: defaultdict[Any, float] = defaultdict(float)
        for done, share in shares.items():
            values = dict(done)
            if allowed and values.get(allowed[0]) not in allowed[1]:
                following[done] += share
                continue
            size = len(weights[name])
            for choice in range(size):
                if name in start:
                    same = choice == start[name]
                    p = (size if same else 1) / (2 * size - 1) / 2 + same / 2
                else:
                    p = weights[name][choice]
                following[(*done, (name, choice))] += share * p
        shares = following
    total = 1 - shares.pop(tuple(start.items()))
    assert sum(shares.values()) == pytest.approx(total)
    return {config: share / total for config, share in shares.items()}


@pytest.mark.parametrize("start", [{"a": 2}, {"a": 1, "b": 2}, {"a": 0, "b": 1, "e": 0}], ids=len)
@pytest.mark.parametrize("count", [1_000, pytest.param(60_000, marks=slow)])
def test_perturbations_are_as_frequent_as_the_rules_say(start: dict[str, int], count: int) -> None:
    state = after(CHOICES, start)
    expected = perturbed_shares(CHOICES, start)
    found = Counter(
        tuple(Perturb().sample(state, 0, np.random.default_rng([1, seed])).config.items())
        for seed in range(count)
    )
    assert found.keys() <= expected.keys()
    counts = [found[config] for config in expected]
    assert stats.chisquare(counts, count * np.array([*expected.values()])).pvalue > 1e-4


# Crossover. A number decides on the prior, four make the partner, four select what is taken.


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ([GO, STAY, STAY, STAY], {"a": "y", "c": 20, "d": 0.75}),  # only the partner has c and d
        ([GO, GO, GO, GO], {"a": "y", "c": 20, "d": 0.75}),
    ],
)
def test_a_child_that_becomes_active_comes_from_the_partner(
    taken: list[float], expected: Mapping[str, Any]
) -> None:
    partner = [0.9, 0.3, 0.5, 0.75]  # y, nothing, 20, 0.75
    state = after(TREE, BRANCH_X)
    assert drawn(Crossover(ALWAYS_UNIFORM), state, 0.5, partner, taken) == expected


def test_what_the_partner_lacks_stays_as_it_is_and_no_change_is_drawn_again() -> None:
    partner = [0.9, 0.3, 0.5, 0.75]
    first, then = [0.5, *partner, STAY, GO, GO, GO], [0.5, *partner, GO, STAY, STAY, STAY]
    state = after(TREE, BRANCH_X)
    assert drawn(Crossover(ALWAYS_UNIFORM), state, first, then) == {"a": "y", "c": 20, "d": 0.75}


def test_an_untaken_child_comes_from_the_incumbent_and_a_taken_one_from_the_partner() -> None:
    partner = [0.9, 0.3, 0.5, 0.75]
    state = after(TREE, BRANCH_Y)  # y, 20, 0.5
    found = drawn(Crossover(ALWAYS_UNIFORM), state, 0.5, partner, [GO, GO, STAY, GO])
    assert found == {"a": "y", "c": 20, "d": 0.75}
    low = [0.9, 0.3, 0.1, 0.75]  # y, 10: the partner has no d
    with_c = drawn(Crossover(ALWAYS_UNIFORM), state, 0.5, low, [STAY, STAY, GO, GO])
    assert with_c == {"a": "y", "c": 10}


def test_a_child_that_neither_has_is_drawn_from_the_prior() -> None:
    space = Space(
        {
            "p": Categorical([0, 1]),
            "q": Categorical([0, 1]),
            "r": Float(0, 1, prior=Histogram([1, 3]), when={"p": 1, "q": 1}),
        }
    )
    state = after(space, {"p": 1, "q": 0})
    partner, taken = [0.1, 0.9, 0.5], [STAY, GO, STAY]  # p = 0 and q = 1, of which q is taken
    found = drawn(Crossover(ALWAYS_UNIFORM), state, 0.5, partner, taken, 0.625)
    assert found == {"p": 1, "q": 1, "r": 0.75}


def test_a_partner_from_the_prior_may_be_one_of_ones_own() -> None:
    state = after(TREE, BRANCH_X, belief=Stubborn([1.0, 0.5, 1.0, 0.125]))
    found = drawn(Crossover(ALWAYS_PRIOR), state, 0.5, 0.5, [GO, GO, STAY, STAY])
    assert found == {"a": "y", "c": 20, "d": 0.125}


# The hypersphere


def test_a_number_that_one_of_two_lacks_is_as_far_as_its_range_and_a_choice_differs() -> None:
    rows = TREE.encode(
        [
            *(BRANCH_X, {"a": "x", "b": 0.5}, {"a": "y", "c": 10}),
            *({"a": "y", "c": 20, "d": 0.5}, {"a": "y", "c": 20, "d": 0.75}),
        ]
    )
    state = after(TREE, BRANCH_X)
    # Of two choices, a differs and c is only in one; b and d are 1 each where only one has them.
    expected = [0.0, 0.25, 1.0 + 1.0, math.sqrt(2) + 1.0, math.sqrt(2) + 1.0]
    assert distances(state, rows, rows[0]) == pytest.approx(expected)
    expected = [math.sqrt(2) + 1.0, math.sqrt(2) + 1.0, 1.0 + 0.5, 0.0, 0.25]
    assert distances(state, rows, rows[3]) == pytest.approx(expected)


def test_distances_are_symmetric_and_zero_only_for_the_same() -> None:
    for space in SPACES.values():
        rows = space.uniform(12, np.random.default_rng(0))
        state = after(space, space.decode(rows[0]))
        table = np.array([distances(state, rows, row) for row in rows])
        assert np.isfinite(table).all() and (table == table.T).all()
        same = [[repr(one) == repr(other) for one in rows.tolist()] for other in rows.tolist()]
        assert ((table == 0) == same).all()


def test_a_ball_reaches_the_nearest_result_of_the_same_branch() -> None:
    state = after(TREE, BRANCH_X, {"a": "x", "b": 0.5}, {"a": "y", "c": 10})
    for seed in range(50):
        config = Hypersphere().sample(state, 0, np.random.default_rng(seed)).config
        assert config["a"] == "x" and 0 < abs(config["b"] - 0.25) < 0.25


# All of them, on any space


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
@pytest.mark.parametrize("name", SPACES)
def test_every_draw_is_a_configuration_of_the_space_and_not_the_incumbent(
    name: str, sampler: Sampler
) -> None:
    space = SPACES[name]
    rows = space.uniform(6, np.random.default_rng(7))
    state = after(space, *map(space.decode, rows))
    best = state.incumbent
    assert best is not None
    for seed in range(15):
        config = sampler.sample(state, 0, np.random.default_rng(seed)).config
        assert space.check(config) == config != best.config


@settings(max_examples=examples(150), deadline=None)
@given(st.data(), st.sampled_from([*SAMPLERS]), st.integers(0, 2**32))
def test_on_any_space_with_any_prior_draws_are_valid(
    data: st.DataObject, name: str, seed: int
) -> None:
    space = data.draw(random_spaces())
    rng = np.random.default_rng(seed)
    configs = [space.decode(row) for row in space.uniform(4, rng)]
    belief = pb.from_samples(space, configs) if seed % 2 else None
    state = after(space, *configs[: 1 + seed % 4], belief=belief)
    config = SAMPLERS[name].sample(state, 0, rng).config
    assert space.check(config) == config
    if isinstance(SAMPLERS[name], Perturb):
        assert config != configs[0]


def test_without_conditions_the_numbers_mean_what_they_always_meant() -> None:
    flat = Space({"a": Categorical(["x", "y"]), "b": Float(0, 1), "n": Integer(1, 3)})
    tied = Space(
        {
            "a": Categorical(["x", "y"]),
            "b": Float(0, 1),
            "n": Integer(1, 3, when={"b": at_least(0.0)}),
        }
    )
    start = {"a": "x", "b": 0.5, "n": 2}
    for sampler in SAMPLERS.values():
        for seed in range(20):
            one, other = (
                sampler.sample(after(space, start), 0, np.random.default_rng(seed)).config
                for space in (flat, tied)
            )
            assert one == other
