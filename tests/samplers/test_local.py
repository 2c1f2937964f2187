"""Search around the incumbent: perturbation, crossover and the hypersphere."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.random import PCG64, Generator
from scipy import stats

from priorband import (
    Categorical,
    Config,
    Float,
    Integer,
    Normal,
    Ordinal,
    Space,
    State,
    Study,
    prior,
)
from priorband.errors import MethodError
from priorband.samplers import Crossover, Fixed, Hypersphere, Perturb
from priorband.samplers.base import Sampler
from priorband.samplers.local import distances, partner_share

WEIGHTS = Fixed((0.5, 0.2, 0.3))
EVERY: dict[str, Sampler] = {
    "perturb": Perturb(),
    "always change": Perturb(always_change=True),
    "crossover": Crossover(WEIGHTS),
    "hypersphere": Hypersphere(),
}
every = pytest.mark.parametrize("sampler", EVERY.values(), ids=EVERY.keys())


class Patient(Generator):
    """A generator that ends a search which does not end by itself."""

    left = 3000

    def random(self, *args: Any, **kwargs: Any) -> Any:
        self.left -= 1
        assert self.left > 0, "The sampler does not terminate."
        return super().random(*args, **kwargs)


def rng(seed: int = 0) -> Generator:
    return Patient(PCG64(seed))


def after(space: Space, *configs: Mapping[str, Any], belief: Any = None) -> State:
    """The state in which the first configuration is the best of those tried."""
    study = Study(space, method="random", prior=belief)
    for rank, config in enumerate(configs):
        study.add(config, 0.1 * rank)
    return study.state


def draws(sampler: Sampler, state: State, n: int) -> list[Config]:
    found = [sampler.sample(state, 0, np.random.default_rng(i)) for i in range(n)]
    assert {draw.origin for draw in found} == {"incumbent"}
    return [draw.config for draw in found]


def close(share: float, expected: float, n: int) -> bool:
    """Within five standard deviations: one false alarm in a million."""
    return abs(share - expected) < 5 * math.sqrt(expected * (1 - expected) / n) + 1e-12


@pytest.mark.parametrize(
    ("size", "stay", "each"),
    [
        *((2, 0.666667, 0.333333), (3, 0.6, 0.2), (4, 0.571429, 0.142857)),
        *((5, 0.555556, 0.111111), (10, 0.526316, 0.052632)),
    ],
)
def test_a_selected_category_stays_with_its_share_and_others_are_alike(
    size: int, stay: float, each: float
) -> None:
    space, n = Space({"c": Categorical(range(size)), "x": Float(0, 1)}), 6000
    state = after(space, {"c": size // 2, "x": 0.5})
    counts = Counter(config["c"] for config in draws(Perturb(rate=1), state, n))
    for choice in range(size):
        expected = stay if choice == size // 2 else each
        assert close(counts[choice] / n, expected, n)


@pytest.mark.parametrize(("size", "stay"), [(2, 0.833333), (3, 0.8), (5, 0.777778)])
def test_half_of_the_parameters_are_selected_each_on_its_own(size: int, stay: float) -> None:
    names = [f"x{i}" for i in range(12)]
    space = Space({"c": Categorical(range(size)), **{name: Float(0, 1) for name in names}})
    state, n = after(space, {"c": 0, **dict.fromkeys(names, 0.5)}), 4000
    found = draws(Perturb(), state, n)
    assert close(sum(config["c"] == 0 for config in found) / n, stay, n)
    moved = np.array([[config[name] != 0.5 for name in names] for config in found])
    assert all(close(share, 0.5, n) for share in moved.mean(axis=0))
    assert moved.sum(axis=1).var() == pytest.approx(3.0, abs=0.35)
    assert abs(np.corrcoef(moved.T) - np.eye(12)).max() < 0.09


def test_an_unchanged_draw_is_made_again() -> None:
    space, n = Space({"c": Categorical([0, 1]), "x": Float(0, 1)}), 6000
    found = draws(Perturb(), after(space, {"c": 0, "x": 0.5}), n)
    stay = 5 / 6 * 0.5 / (1 - 5 / 6 * 0.5)  # given that the number has moved, or the category
    assert close(sum(config["c"] == 0 for config in found) / n, stay, n)


@pytest.mark.parametrize(("rate", "sigma"), [(0.25, 0.25), (0.75, 0.125)])
def test_a_selected_number_moves_by_a_truncated_normal(rate: float, sigma: float) -> None:
    space = Space({"x": Float(0, 1), **{f"y{i}": Float(0, 1) for i in range(20)}})
    state = after(space, {"x": 0.3, **{f"y{i}": 0.5 for i in range(20)}})
    found = [config["x"] for config in draws(Perturb(rate, sigma), state, 4000)]
    moved = [x for x in found if x != 0.3]
    assert close(len(moved) / len(found), rate, len(found))
    theirs = stats.truncnorm(-0.3 / sigma, 0.7 / sigma, 0.3, sigma)
    assert stats.kstest(moved, theirs.cdf).pvalue > 1e-4


def test_the_usual_rate_and_width_are_those_of_the_paper() -> None:
    assert Perturb() == Perturb(rate=0.5, sigma=0.25, always_change=False)


def test_always_change_never_keeps_a_selected_category() -> None:
    state = after(Space({"c": Categorical(range(4)), "x": Float(0, 1)}), {"c": 1, "x": 0.5})
    counts = Counter(config["c"] for config in draws(Perturb(1, always_change=True), state, 3000))
    assert counts[1] == 0
    assert all(close(counts[c] / 3000, 1 / 3, 3000) for c in (0, 2, 3))


LOGARITHMIC = Space({"lr": Float(1e-5, 1e-1, log=True), "decay": Float(1e-6, 1, log=True)})


@every
@pytest.mark.parametrize("lr", [1e-3, 3e-4, 0.0123456789])
def test_the_incumbent_is_never_returned_not_even_but_for_rounding(
    sampler: Sampler, lr: float
) -> None:
    state = after(LOGARITHMIC, {"lr": lr, "decay": 0.01})
    for config in draws(sampler, state, 300):
        same = [math.isclose(config["lr"], lr, rel_tol=1e-9)]
        same.append(math.isclose(config["decay"], 0.01, rel_tol=1e-9))
        assert not all(same)


@pytest.mark.parametrize("sampler", [Perturb(), Crossover(WEIGHTS)], ids=["perturb", "crossover"])
def test_what_is_not_changed_keeps_exactly_the_incumbents_value(sampler: Sampler) -> None:
    best = {"lr": 1e-3, "decay": 3e-4}
    for config in draws(sampler, after(LOGARITHMIC, best), 300):
        for name, value in best.items():
            assert config[name] == value or not math.isclose(config[name], value, rel_tol=1e-9)


def test_configurations_tried_before_are_avoided_in_a_small_space() -> None:
    names = ["a", "b", "c"]
    space = Space({name: Categorical([0, 1]) for name in names})
    tried = [dict(zip(names, map(int, f"{i:03b}"), strict=True)) for i in range(7)]
    found = draws(Perturb(), after(space, tried[3], *tried), 200)
    assert sum(config == {"a": 1, "b": 1, "c": 1} for config in found) > 190


def test_a_space_that_is_used_up_still_gives_something_else_than_the_incumbent() -> None:
    space = Space({"a": Categorical([0, 1]), "n": Integer(1, 2)})
    tried = [{"a": a, "n": n} for a in (0, 1) for n in (1, 2)]
    assert all(config != tried[0] for config in draws(Perturb(), after(space, *tried), 100))


def test_after_many_unchanged_draws_one_parameter_is_forced_to_change() -> None:
    space = Space(
        {
            **{"x": Float(0, 1), "c": Categorical([0, 1, 2]), "n": Integer(1, 3)},
            **{"o": Ordinal(["s", "t"]), "one": Categorical([7])},
        }
    )
    best = {"x": 0.5, "c": 1, "n": 3, "o": "s", "one": 7}
    changed = [
        tuple(name for name in best if config[name] != best[name])
        for config in draws(Perturb(rate=1e-12), after(space, best), 400)
    ]
    assert {len(each) for each in changed} == {1}
    counts = Counter(name for each in changed for name in each)
    assert set(counts) == {"x", "c", "n", "o"}
    assert all(close(count / 400, 0.25, 400) for count in counts.values())


@every
@pytest.mark.parametrize("value", ["only", 7])
def test_a_space_of_one_configuration_gives_that(sampler: Sampler, value: Any) -> None:
    space = Space({"c": Categorical([value])})
    assert sampler.sample(after(space, {"c": value}), 0, rng()).config == {"c": value}


@every
def test_without_an_incumbent_a_draw_is_uniform(sampler: Sampler) -> None:
    state = Study(LOGARITHMIC, method="random").state
    assert sampler.sample(state, 0, rng()).origin == "uniform"


def test_the_partner_comes_from_the_prior_the_more_surely_the_more_alike_the_shares() -> None:
    assert partner_share((0.5, 0.2, 0.3)) == pytest.approx(0.8)
    assert partner_share((0.25, 0.375, 0.375)) == 1.0
    assert partner_share((0.5, 0.0, 0.5)) == pytest.approx(0.0)


def test_a_child_takes_half_of_its_parameters_from_its_partner() -> None:
    names = [f"x{i}" for i in range(8)]
    space, n = Space({name: Float(0, 1) for name in names}), 4000
    believed = prior(space, {name: Normal(0.9, sigma=1e-4) for name in names})
    state = after(space, dict.fromkeys(names, 0.5), belief=believed)
    found = np.array([list(config.values()) for config in draws(Crossover(WEIGHTS), state, n)])
    taken = found != 0.5
    assert all(close(share, 0.5, n) for share in taken.mean(axis=0))
    near = abs(found - 0.9) < 1e-3
    sure = taken.sum(axis=1) >= 3
    from_prior = (near.sum(axis=1) == taken.sum(axis=1))[sure]
    assert close(from_prior.mean(), 0.8, int(sure.sum()))


def test_distance_is_euclidean_plus_the_share_of_categories_that_differ() -> None:
    space = Space(
        {
            **{"x": Float(0, 1), "c": Categorical(list("abc")), "n": Integer(1, 4)},
            **{"d": Categorical([1, 2]), "o": Ordinal(["s", "t"])},
        }
    )
    base = {"x": 0.5, "c": "a", "n": 1, "d": 1, "o": "s"}
    others = [{**base, "x": 0.8, "n": 2}, {**base, "c": "c"}, {**base, "d": 2, "c": "b", "o": "t"}]
    state = after(space, base)
    rows = space.encode([base, *others])
    expected = [0.0, math.hypot(0.3, 0.25), 0.5, 0.5 + 1.0]
    assert distances(state, rows, rows[0]) == pytest.approx(expected)


def test_a_ball_reaches_to_the_nearest_other_configuration_and_is_filled_evenly() -> None:
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    state = after(space, {"x": 0.5, "y": 0.5}, {"x": 0.5, "y": 0.7}, {"x": 0.1, "y": 0.1})
    found = draws(Hypersphere(), state, 400)
    radii = np.array([math.hypot(config["x"] - 0.5, config["y"] - 0.5) for config in found])
    assert radii.max() < 0.2
    assert stats.kstest((radii / 0.2) ** 2, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "with a near neighbour"])
def test_a_ball_grows_until_it_is_hit_in_fourteen_dimensions(alone: bool) -> None:
    names = [f"x{i}" for i in range(14)]
    centre = dict.fromkeys(names, 0.5)
    tried = [centre] if alone else [centre, {**centre, "x0": 0.501}]
    state = after(Space({name: Float(0, 1) for name in names}), *tried)
    config = Hypersphere().sample(state, 0, rng()).config
    assert 0 < math.dist(list(config.values()), [0.5] * 14) < 1.5


@pytest.mark.parametrize("choices", [[0, 1], list(range(50))])
def test_a_ball_reaches_other_choices(choices: list[int]) -> None:
    state = after(Space({"c": Categorical(choices)}), {"c": 1})
    assert Hypersphere().sample(state, 0, rng()).config["c"] != 1


BAD: list[tuple[type, dict[str, Any], str]] = [
    (Perturb, {"rate": 0}, "`rate` must be in (0, 1], got 0."),
    (Perturb, {"rate": 1.5}, "`rate` must be in (0, 1], got 1.5."),
    (Perturb, {"rate": math.nan}, "`rate` must be in (0, 1], got nan."),
    (Perturb, {"rate": "0.5"}, "`rate` must be in (0, 1], got '0.5'."),
    (Perturb, {"sigma": 0}, "`sigma` must be a positive number, got 0."),
    (Perturb, {"sigma": math.inf}, "`sigma` must be a positive number, got inf."),
    (Perturb, {"sigma": None}, "`sigma` must be a positive number, got None."),
    (Hypersphere, {"growth": 1.0}, "`growth` must"),
    (Hypersphere, {"growth": 0.5}, "`growth` must"),
    (Hypersphere, {"least": 0.0}, "`least` must"),
    (Hypersphere, {"least": -1}, "`least` must"),
    (Crossover, {"weights": 0.5}, "`weights` must"),
]


@pytest.mark.parametrize(("kind", "options", "message"), BAD)
def test_a_local_search_that_cannot_be_is_refused(
    kind: type, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(MethodError) as caught:
        kind(**options)
    assert message in str(caught.value)
