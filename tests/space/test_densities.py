"""Densities: each integrates to one, draws what it says, names its peak and moves to another."""

import math
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from priorband.space.densities import (
    BetaDensity,
    Blend,
    Choices,
    Density,
    Flat,
    TruncatedNormal,
    normalised_steps,
    preferred_choice,
)

exact = settings(max_examples=examples(100))
NEXT_TO_ONE = math.nextafter(1.0, 0.0)
STEPS = normalised_steps((0.0, 0.2, 0.5, 0.6, 1.0), (1.0, 0.0, 4.0, 2.0))
TWO_PEAKS = Blend((TruncatedNormal(0.2, 0.05), TruncatedNormal(0.8, 0.05)), (0.75, 0.25))
SMOOTH: dict[str, Density] = {
    "normal in the middle": TruncatedNormal(0.5, 0.25),
    "normal at the lower bound": TruncatedNormal(0.0, 0.25),
    "normal at the upper bound": TruncatedNormal(1.0, 0.125),
    "wide normal": TruncatedNormal(0.3, 10.0),
    "flat": Flat(),
    "beta": BetaDensity(2.0, 5.0),
    "flat beta": BetaDensity(1.0, 1.0),
    "beta at a bound": BetaDensity(1.0, 4.0),
    "sharp beta": BetaDensity(60.0, 20.0),
    "two peaks": TWO_PEAKS,
    "all kinds": Blend((Flat(), BetaDensity(3, 3), TruncatedNormal(0.9, 0.1)), (0.2, 0.3, 0.5)),
}
UNIT: dict[str, Density] = {
    **SMOOTH,
    "ten parts": Blend((TruncatedNormal(0.2, 0.1), BetaDensity(3, 2)) * 5, (0.1,) * 10),
    "narrow normal": TruncatedNormal(0.4, 1e-6),
    "narrow normal at a bound": TruncatedNormal(0.0, 1e-6),
    "steps": STEPS,
    "one step": normalised_steps((0.0, 1.0), (3.0,)),
    "steps and a normal": Blend((STEPS, TruncatedNormal(0.1, 0.2)), (0.5, 0.5)),
}
every = pytest.mark.parametrize("density", UNIT.values(), ids=UNIT.keys())
SINGLE = {name: density for name, density in SMOOTH.items() if not isinstance(density, Blend)}
single = pytest.mark.parametrize("density", SINGLE.values(), ids=SINGLE.keys())


def at(density: Density, code: float) -> float:
    [value] = density.logpdf(np.array([code]))
    return float(value)


def mass(density: Density, low: float, high: float) -> float:
    """The integral of a density, piece by piece around everything that may be narrow or a jump."""
    peaks = [0.0, density.mode, 1.0, 0.2, 0.5, 0.6, 0.8, 0.1, 0.9]
    cuts = {min(max(p + w, low), high) for p in peaks for w in (-0.1, -1e-5, 0.0, 1e-5, 0.1)}
    edges = sorted(cuts | {low, high})
    pieces = zip(edges, edges[1:], strict=False)
    return float(sum(quad(lambda x: math.exp(at(density, x)), a, b)[0] for a, b in pieces))


@every
def test_a_density_integrates_to_one(density: Density) -> None:
    assert mass(density, 0.0, 1.0) == pytest.approx(1.0, abs=1e-8)


@every
def test_the_draws_of_a_uniform_grid_are_distributed_as_the_density(density: Density) -> None:
    n = 1000
    draws = sorted(density.draw((i + 0.5) / n) for i in range(n))
    for place in range(25, n, 50):
        share = mass(density, 0.0, draws[place])
        assert share == pytest.approx((place + 0.5) / n, abs=6 / n)


@every
def test_draws_stay_in_the_unit_interval(density: Density) -> None:
    for u in (0.0, 5e-324, 2.0**-53, 0.5, 1 - 2.0**-40, NEXT_TO_ONE):
        draw = density.draw(u)
        assert 0.0 <= draw <= 1.0
        assert isinstance(draw, float)


@single
def test_the_mode_is_where_the_density_is_highest(density: Density) -> None:
    peak = at(density, density.mode)
    assert peak >= density.logpdf(np.linspace(0.0, 1.0, 4001)).max() - 1e-9


def test_the_mode_of_steps_is_the_middle_of_the_highest() -> None:
    assert STEPS.mode == pytest.approx(0.55)
    assert at(STEPS, STEPS.mode) == STEPS.logpdf(np.linspace(0, 1, 1001)).max()


def test_the_mode_of_a_mixture_is_the_likeliest_of_its_parts_modes() -> None:
    assert TWO_PEAKS.mode == 0.2
    assert Blend(TWO_PEAKS.parts, (0.25, 0.75)).mode == 0.8
    assert at(TWO_PEAKS, 0.2) >= TWO_PEAKS.logpdf(np.linspace(0.0, 1.0, 4001)).max() - 1e-6
    narrow_wins = Blend((TruncatedNormal(0.2, 0.5), TruncatedNormal(0.8, 0.01)), (0.75, 0.25))
    assert narrow_wins.mode == 0.8


@exact
@given(st.sampled_from(sorted(SINGLE)), st.floats(0.0, 1.0))
def test_a_density_moved_to_a_centre_has_its_mode_there(name: str, centre: float) -> None:
    assert SINGLE[name].around(centre).mode == pytest.approx(centre, abs=1e-12)


@pytest.mark.parametrize("centre", [0.0, 0.05, 0.3, 0.55, 0.8, 1.0])
def test_steps_moved_to_a_centre_are_highest_there(centre: float) -> None:
    moved = STEPS.around(centre)
    assert at(moved, centre) == moved.logpdf(np.linspace(0, 1, 1001)).max()
    assert mass(moved, 0.0, 1.0) == pytest.approx(1.0, abs=1e-3)


def test_steps_moved_keep_their_shape_and_fill_the_gap_with_the_outer_step() -> None:
    moved = STEPS.around(0.75)  # by 0.2: the first step now reaches from 0 to 0.4
    scale = 1.0 / (0.4 * 1 + 0.1 * 4 + 0.2 * 2)
    assert [math.exp(at(moved, x)) for x in (0.1, 0.39, 0.75, 0.9)] == pytest.approx(
        [scale, scale, 4 * scale, 2 * scale]
    )
    assert at(moved, 0.5) == -math.inf


@pytest.mark.parametrize("centre", [0.05, 0.2, 0.3])
def test_a_mixture_moved_within_the_range_keeps_the_distance_of_its_parts(centre: float) -> None:
    moved = TWO_PEAKS.around(centre)
    assert moved.mode == pytest.approx(centre)
    assert [part.mode for part in moved.parts] == pytest.approx([centre, centre + 0.6])
    assert moved.weights == TWO_PEAKS.weights


def test_a_mixture_moved_to_a_bound_keeps_all_parts_within() -> None:
    assert all(0 <= part.mode <= 1 for part in TWO_PEAKS.around(1.0).parts)
    assert TWO_PEAKS.around(1.0).mode == 1.0


def test_a_moved_normal_has_its_own_truncation_and_a_moved_flat_one_the_medium_width() -> None:
    assert TruncatedNormal(0.3, 0.1).around(1.0) == TruncatedNormal(1.0, 0.1)
    assert Flat().around(0.7) == BetaDensity(1, 1).around(0.7) == TruncatedNormal(0.7, 0.25)
    assert BetaDensity(3, 7).around(0.5) == BetaDensity(5.0, 5.0)


@pytest.mark.parametrize("centre", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("sigma", [1e-6, 0.05, 0.125, 0.25, 0.5, 1.0, 10.0])
def test_a_truncated_normal_is_that_of_scipy(centre: float, sigma: float) -> None:
    density = TruncatedNormal(centre, sigma)
    theirs = stats.truncnorm(-centre / sigma, (1 - centre) / sigma, centre, sigma)
    near = np.clip(centre + sigma * np.linspace(-6, 6, 201), 0, 1)
    assert density.logpdf(near) == pytest.approx(theirs.logpdf(near), abs=1e-10, rel=1e-10)
    for u in np.linspace(0.001, 0.999, 97).tolist():
        assert density.draw(u) == pytest.approx(float(theirs.ppf(u)), abs=1e-10)


@pytest.mark.parametrize("a", [1.0, 1.5, 2.0, 30.0])
@pytest.mark.parametrize("b", [1.0, 1.01, 5.0, 200.0])
def test_a_beta_density_is_that_of_scipy(a: float, b: float) -> None:
    density, inside = BetaDensity(a, b), np.linspace(0.001, 0.999, 301)
    theirs = stats.beta(a, b)
    assert density.logpdf(inside) == pytest.approx(theirs.logpdf(inside), abs=1e-10, rel=1e-10)
    for u in np.linspace(0.001, 0.999, 37).tolist():
        assert density.draw(u) == pytest.approx(float(theirs.ppf(u)), abs=1e-10)


def test_a_beta_density_stays_finite_at_the_bounds() -> None:
    assert np.isfinite(BetaDensity(2, 5).logpdf(np.array([0.0, 1.0]))).all()


@pytest.mark.parametrize(
    ("centre", "mean", "deviation"),
    [
        *((0.0, 0.1994168566, 0.1505523096), (0.1, 0.2402713278, 0.1690069971)),
        *((0.3, 0.3527753397, 0.2040576069), (0.5, 0.5, 0.2199064153)),
        (0.8, 0.7087863542, 0.1875645153),
    ],
)
def test_a_medium_normal_has_the_moments_of_truncation(
    centre: float, mean: float, deviation: float
) -> None:
    density, n = TruncatedNormal(centre, 0.25), 20_000
    draws = np.array([density.draw((i + 0.5) / n) for i in range(n)])
    assert draws.mean() == pytest.approx(mean, abs=1e-6)
    assert draws.std() == pytest.approx(deviation, abs=1e-6)


@pytest.mark.parametrize("centre", [0.0, 0.2, 0.5, 1.0])
def test_a_narrow_normal_draws_near_its_centre_up_to_the_last_uniform_number(
    centre: float,
) -> None:
    for u in (2.0**-53, 1e-9, 0.5, 1 - 1e-9, 1 - 2.0**-52, NEXT_TO_ONE):
        assert abs(TruncatedNormal(centre, 1e-6).draw(u) - centre) < 1e-5


@pytest.mark.parametrize("sigma", [1e3, 1e6, 1e9])
def test_a_very_wide_normal_is_flat(sigma: float) -> None:
    density = TruncatedNormal(0.3, sigma)
    assert density.logpdf(np.linspace(0, 1, 5)) == pytest.approx(np.zeros(5), abs=1e-6)
    assert [density.draw(u) for u in (0.1, 0.5, 0.9)] == pytest.approx([0.1, 0.5, 0.9], abs=1e-6)


def test_steps_of_height_zero_are_never_drawn_and_have_no_density() -> None:
    draws = [STEPS.draw(u) for u in (0.0, *np.linspace(0, NEXT_TO_ONE, 1001).tolist())]
    assert not [draw for draw in draws if 0.2 < draw < 0.5]
    assert at(STEPS, 0.3) == -math.inf
    middle = normalised_steps((0.0, 0.4, 0.6, 1.0), (0.0, 1.0, 0.0))
    assert [middle.draw(0.0), middle.draw(NEXT_TO_ONE)] == pytest.approx([0.4, 0.6])


@exact
@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any))
def test_choices_are_drawn_with_their_probabilities(weights: list[int]) -> None:
    density = Choices(tuple(weight / sum(weights) for weight in weights))
    n = 720
    draws = [density.draw((i + 0.5) / n) for i in range(n)]
    counts = np.bincount(np.array(draws, dtype=int), minlength=len(weights))
    assert counts / n == pytest.approx(np.array(density.probabilities), abs=1.01 / n)
    indices = np.arange(len(weights), dtype=np.float64)
    assert np.exp(density.logpdf(indices)).sum() == pytest.approx(1.0, abs=1e-12)
    assert density.mode == weights.index(max(weights))
    assert density.draw(0.0) in indices and density.draw(NEXT_TO_ONE) in indices
    assert all(weights[int(density.draw(u))] for u in (0.0, NEXT_TO_ONE))


@exact
@given(st.lists(st.integers(0, 9), min_size=2, max_size=6).filter(any), st.data())
def test_choices_moved_to_another_have_their_mode_there(weights: list[int], data: Any) -> None:
    density = Choices(tuple(weight / sum(weights) for weight in weights))
    index = data.draw(st.integers(0, len(weights) - 1))
    moved = density.around(float(index))
    assert moved.probabilities[index] == max(moved.probabilities)
    assert sum(moved.probabilities) == pytest.approx(1.0, abs=1e-12)
    if len(set(weights)) > 1:
        assert sorted(moved.probabilities) == sorted(density.probabilities)
    else:
        assert moved == preferred_choice(index, len(weights), 4.0)


@pytest.mark.parametrize(
    ("size", "weight", "share"),
    [(2, 2, 2 / 3), (2, 4, 0.8), (3, 4, 2 / 3), (3, 6, 0.75), (5, 2, 1 / 3), (5, 4, 0.5)],
)
def test_a_favoured_choice_has_its_weight_against_each_other(
    size: int, weight: float, share: float
) -> None:
    density = preferred_choice(1, size, weight)
    assert density.probabilities[1] == pytest.approx(share)
    assert density.probabilities[0] == pytest.approx((1 - share) / (size - 1))
