"""What draws are made of: truncated normals, betas and mutated categories, against scipy."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from priorband import Beta, Categorical, Fidelity, Float, Normal, Space, Study
from priorband.samplers import FromPrior, Perturb
from priorband.samplers.base import Sampler
from priorband.samplers.local import changed_choice, other_choice
from priorband.space import incomplete_beta, normal
from priorband.space.densities import BetaDensity, TruncatedNormal

CENTRES = [0.0, 1e-9, 0.1, 0.3, 0.5, 0.8, 0.999, 1.0]
SIGMAS = [0.05, 0.125, 0.25, 0.5, 2.0]
SHAPES = [1.0, 1.5, 2.0, 5.0, 30.0, 400.0]


def truncated(centre: float, sigma: float) -> Any:
    return stats.truncnorm(-centre / sigma, (1 - centre) / sigma, loc=centre, scale=sigma)


@pytest.mark.parametrize("x", [-30.0, -8.0, -1.96, -0.0, 0.3, 5.0, 9.0])
def test_the_normal_distribution_function_keeps_its_tails(x: float) -> None:
    assert normal.cdf(x) == pytest.approx(float(special.ndtr(x)), rel=1e-13)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("centre", CENTRES)
def test_log_densities_agree_with_scipys_truncated_normal(centre: float, sigma: float) -> None:
    codes = np.linspace(0.0, 1.0, 41)
    ours = TruncatedNormal(centre, sigma).logpdf(codes)
    np.testing.assert_allclose(ours, truncated(centre, sigma).logpdf(codes), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("centre", CENTRES)
def test_truncated_densities_integrate_to_one(centre: float, sigma: float) -> None:
    nodes, weights = np.polynomial.legendre.leggauss(200)
    density = np.exp(TruncatedNormal(centre, sigma).logpdf((nodes + 1) / 2))
    assert 0.5 * float(weights @ density) == pytest.approx(1.0, rel=1e-10)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("centre", CENTRES)
def test_draws_are_the_quantiles_of_the_truncated_normal(centre: float, sigma: float) -> None:
    uniform = np.linspace(0.001, 0.999, 37)
    density = TruncatedNormal(centre, sigma)
    drawn = [density.draw(u) for u in uniform.tolist()]
    np.testing.assert_allclose(drawn, truncated(centre, sigma).ppf(uniform), rtol=0, atol=1e-11)


@given(st.floats(0, 1), st.floats(0, 1, exclude_max=True), st.floats(0.02, 5))
@settings(deadline=None)
def test_every_draw_lies_within_the_unit_interval(centre: float, u: float, sigma: float) -> None:
    assert 0.0 <= TruncatedNormal(centre, sigma).draw(u) <= 1.0


@given(st.floats(0, 1), st.floats(1e-6, 1 - 1e-6), st.floats(0.05, 5))
@settings(deadline=None)
def test_drawing_inverts_the_truncated_distribution_function(
    centre: float, u: float, sigma: float
) -> None:
    drawn = TruncatedNormal(centre, sigma).draw(u)
    low, at, high = special.ndtr((np.array([0.0, drawn, 1.0]) - centre) / sigma)
    assert (at - low) / (high - low) == pytest.approx(u, abs=1e-12)


def test_cutting_leaves_no_mass_at_the_bounds_where_clipping_would() -> None:
    """Clipping a normal at 0.1 of width 0.25 would put 34% of its mass on 0."""
    uniform = (np.arange(10_000) + 0.5) / 10_000
    drawn = np.array([TruncatedNormal(0.1, 0.25).draw(u) for u in uniform.tolist()])
    assert np.mean(drawn < 1e-3) < 0.01
    assert len(np.unique(drawn)) == 10_000


MOMENTS = [
    (0.0, 0.1994168566, 0.1505523096),
    (0.1, 0.2402713278, 0.1690069971),
    (0.3, 0.3527753397, 0.2040576069),
    (0.5, 0.5, 0.2199064153),
    (0.8, 0.7087863542, 0.1875645153),
]


@pytest.mark.parametrize(("centre", "mean", "deviation"), MOMENTS)
def test_tv7_the_draws_have_the_moments_of_the_truncated_normal(
    centre: float, mean: float, deviation: float
) -> None:
    """Exact: the draws of equally spaced uniform numbers, averaged."""
    density = TruncatedNormal(centre, 0.25)
    drawn = np.array([density.draw((i + 0.5) / 20_000) for i in range(20_000)])
    assert drawn.mean() == pytest.approx(mean, abs=1e-7)
    assert drawn.std() == pytest.approx(deviation, abs=1e-6)


@pytest.mark.parametrize("sampler", [FromPrior(), Perturb(rate=1.0)])
@pytest.mark.parametrize(("centre", "mean", "deviation"), MOMENTS)
def test_tv7_the_prior_and_the_perturbation_draw_from_the_truncated_normal(
    sampler: Sampler, centre: float, mean: float, deviation: float
) -> None:
    """False alarm below 1e-5 in all: five standard errors of 4000 draws."""
    space = Space({f"x{i}": Float(2.0, 4.0, prior=2 + 2 * centre) for i in range(4)})
    study = Study(space, Fidelity("epochs", 3, 81))
    study.add(space.prior.mode, loss=0.0)
    rng = np.random.default_rng(7)
    configs = [sampler.sample(study.state, 0, rng).config for _ in range(1000)]
    drawn = np.array([(value - 2) / 2 for config in configs for value in config.values()])
    error = deviation / math.sqrt(len(drawn))
    assert drawn.mean() == pytest.approx(mean, abs=5 * error)
    assert drawn.std() == pytest.approx(deviation, abs=5 * error)


@pytest.mark.parametrize(
    ("sigma", "least"), [(0.5, 0.226), (0.25, 1.07e-3), (0.125, 8.1e-14), (0.05, 2.2e-86)]
)
def test_the_smallest_densities_are_those_of_the_far_bound(sigma: float, least: float) -> None:
    [log_density] = TruncatedNormal(0.0, sigma).logpdf(np.array([1.0]))
    assert math.exp(log_density) == pytest.approx(least, rel=0.01)


def test_a_stated_normal_is_a_truncated_normal_on_the_log_scale() -> None:
    space = Space({"lr": Float(1e-4, 1e-1, log=True, prior=Normal(1e-2, sigma=0.1))})
    row = space.encode([{"lr": 1e-3}])
    assert space.prior.logpdf(row)[0] == pytest.approx(truncated(2 / 3, 0.1).logpdf(1 / 3))


@pytest.mark.parametrize("b", SHAPES)
@pytest.mark.parametrize("a", SHAPES)
def test_the_beta_distribution_function_agrees_with_scipy(a: float, b: float) -> None:
    for x in (1e-9, 0.001, 0.05, 0.3, 0.5, 0.77, 0.99, 1 - 1e-9):
        expected = float(special.betainc(a, b, x))
        assert incomplete_beta.cdf(x, a, b) == pytest.approx(expected, rel=1e-9, abs=1e-13)


def test_the_beta_distribution_function_is_0_and_1_at_the_bounds() -> None:
    assert [incomplete_beta.cdf(x, 2.0, 5.0) for x in (-1.0, 0.0, 1.0, 2.0)] == [0, 0, 1, 1]


@pytest.mark.parametrize("b", SHAPES)
@pytest.mark.parametrize("a", SHAPES)
def test_beta_quantiles_agree_with_scipy(a: float, b: float) -> None:
    for p in (1e-6, 0.01, 0.3, 0.5, 0.9, 0.9999):
        expected = float(special.betaincinv(a, b, p))
        assert incomplete_beta.quantile(p, a, b) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("b", SHAPES)
@pytest.mark.parametrize("a", SHAPES)
def test_beta_log_densities_agree_with_scipy(a: float, b: float) -> None:
    codes = np.linspace(0.01, 0.99, 33)
    ours = BetaDensity(a, b).logpdf(codes)
    np.testing.assert_allclose(ours, stats.beta(a, b).logpdf(codes), rtol=1e-10, atol=1e-10)


@given(st.floats(1, 50), st.floats(1, 50), st.floats(0, 1))
@settings(deadline=None)
def test_a_beta_that_is_moved_peaks_where_it_was_moved_to(a: float, b: float, to: float) -> None:
    moved = Beta(a, b).on(Float(0, 1)).around(to)
    assert moved.mode == pytest.approx(to, abs=1e-9)
    if isinstance(moved, BetaDensity):
        assert moved.a + moved.b == pytest.approx(a + b)


@pytest.mark.parametrize(
    ("size", "keep", "other"),
    [
        (2, 0.666667, 0.333333),
        (3, 0.6, 0.2),
        (4, 0.571429, 0.142857),
        (5, 0.555556, 0.111111),
        (10, 0.526316, 0.052632),
    ],
)
def test_tv6_a_selected_category_is_kept_with_k_in_2k_minus_1(
    size: int, keep: float, other: float
) -> None:
    """Exact: as many equally spaced uniform numbers fall to each choice as its weight says."""
    grid = [(i + 0.5) / (100 * (2 * size - 1)) for i in range(100 * (2 * size - 1))]
    for code in range(size):
        counts = Counter(changed_choice(float(code), size, u) for u in grid)
        assert counts == {float(i): 100 * (size if i == code else 1) for i in range(size)}
        assert counts[float(code)] / len(grid) == pytest.approx(keep, abs=6e-7)
        assert counts[float((code + 1) % size)] / len(grid) == pytest.approx(other, abs=6e-7)


def perturbed_categories(size: int, sampler: Perturb, draws: int) -> list[int]:
    """Drawn choices of ten categoricals whose incumbent is 0, beside numbers that always move."""
    parameters: dict[str, Any] = {f"x{i}": Float(0.0, 1.0) for i in range(30)}
    parameters |= {f"c{i}": Categorical(tuple(range(size))) for i in range(10)}
    space = Space(parameters)
    incumbent = {name: 0 if name.startswith("c") else 0.5 for name in space.names}
    study = Study(space, Fidelity("epochs", 3, 81))
    study.add(incumbent, loss=0.0)
    rng = np.random.default_rng(6)
    configs = [sampler.sample(study.state, 0, rng).config for _ in range(draws)]
    return [config[f"c{i}"] for config in configs for i in range(10)]


@pytest.mark.parametrize(("size", "stay"), [(2, 0.833333), (3, 0.8), (5, 0.777778)])
def test_tv6_a_category_stays_as_often_as_selection_and_weights_say(size: int, stay: float) -> None:
    """False alarm below 1e-6: five standard errors of 20,000 draws."""
    drawn = perturbed_categories(size, Perturb(), 2000)
    error = math.sqrt(stay * (1 - stay) / len(drawn))
    assert drawn.count(0) / len(drawn) == pytest.approx(stay, abs=5 * error)
    for other in range(1, size):
        assert drawn.count(other) / len(drawn) == pytest.approx(
            (1 - stay) / (size - 1), abs=5 * error
        )


@pytest.mark.parametrize("size", [2, 3, 5])
def test_tv6_always_change_never_keeps_a_selected_category(size: int) -> None:
    drawn = perturbed_categories(size, Perturb(rate=1.0, always_change=True), 100)
    assert set(drawn) == set(range(1, size))
    grid = [(i + 0.5) / (100 * (size - 1)) for i in range(100 * (size - 1))]
    counts = Counter(other_choice(1.0, size, u) for u in grid)
    assert counts == {float(i): 100 for i in range(size) if i != 1}
