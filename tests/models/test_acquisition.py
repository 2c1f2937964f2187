"""Log expected improvement, against quadrature, simulation and differences."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from priorband.models.acquisition import Bonus, Improvement, log_ei, log_h
from priorband.models.gp import GP
from priorband.models.kernels import Array, Kernel

from .test_kernels import differences, mixed_rows, random_logs, rows_for

ROOT = 0.5 * math.log(2 * math.pi)


def h(a: float) -> float:
    return float(log_h(np.array([a]))[0])


def integral(function: Any, low: float, high: float) -> float:
    return float(integrate.quad(function, low, high, epsabs=0.0, epsrel=1e-12, limit=200)[0])


def slow_log_h(a: float) -> float:
    """The log of the integral of u p(a - u), u > 0: what the improvement is, however far out.

    p(a - u) = p(a) exp(a u - u^2 / 2); with s = -a u the integral keeps its size for any a < 0.
    """
    if a > -1:
        return math.log(integral(lambda u: u * stats.norm.pdf(a - u), 0.0, a + 40.0))
    total = integral(lambda s: s * math.exp(-s - 0.5 * (s / a) ** 2), 0.0, 60.0)
    return math.log(total) - 2 * math.log(-a) - 0.5 * a * a - ROOT


def process(kernel: Kernel, n: int = 10, seed: int = 0) -> GP:
    rows = rows_for(kernel, n, seed)
    targets = np.random.default_rng(seed).standard_normal(n)
    return GP.conditioned(kernel, random_logs(kernel, seed), rows, targets)


# The function itself


@pytest.mark.parametrize(
    "a", [-1e4, -3e3, -300, -40, -20, -8, -5, -2, -1.5, -1 - 1e-9, -1, -0.5, 0, 0.7, 3, 10, 50]
)
def test_log_h_is_that_of_quadrature(a: float) -> None:
    assert h(a) == pytest.approx(slow_log_h(a), rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("a", [-40, -30, -20, -12])
def test_log_h_is_that_of_an_asymptotic_series(a: float) -> None:
    """h / p = 1/a^2 - 3/a^4 + 15/a^6 - 105/a^8 + ..., and P by scipy's own logarithm of it."""
    terms = [(-1) ** k * math.prod(range(1, 2 * k + 2, 2)) / a ** (2 * k + 2) for k in range(9)]
    density = -0.5 * a * a - ROOT
    assert h(a) == pytest.approx(math.log(sum(terms)) + density, rel=1e-8)
    with_scipy = math.log1p(a * math.exp(float(special.log_ndtr(a)) - density)) + density
    assert h(a) == pytest.approx(with_scipy, rel=1e-8)


def test_log_h_by_hand() -> None:
    assert h(0.0) == pytest.approx(-ROOT, rel=1e-12)
    assert math.exp(h(-1.0)) == pytest.approx(0.0833154706, rel=1e-8)
    assert h(1e10) == pytest.approx(math.log(1e10), rel=1e-12)
    assert h(-1e8) == pytest.approx(-0.5e16 - 2 * math.log(1e8) - ROOT, rel=1e-15)


def test_log_h_is_finite_and_rises_from_no_hope_to_certainty() -> None:
    ends = 10.0 ** np.linspace(300, -300, 6001)
    a = np.concatenate((-ends, [0.0], ends[::-1][: 6001 - 2900]))
    assert a[-1] == pytest.approx(1e10)
    values = log_h(a)
    assert np.isfinite(values).all() and (np.diff(values) >= 0).all()
    shown = np.linspace(-60, 20, 5001)
    assert (np.diff(log_h(shown)) > 0).all()


@pytest.mark.parametrize("switch", [-1.0, -1e4])
def test_log_h_and_its_slope_are_continuous_where_the_formula_changes(switch: float) -> None:
    steps = [math.nextafter(switch, -math.inf), switch, math.nextafter(switch, math.inf)]
    values = [h(a) for a in steps]
    assert np.ptp(values) < 1e-7 and np.ptp(values) < 1e-12 * abs(switch) ** 2
    gradients = [single(a).slope(np.zeros(1))[1][0] for a in steps]
    assert gradients == pytest.approx([gradients[1]] * 3, rel=1e-6)


@pytest.mark.parametrize(
    ("mean", "variance", "best"),
    [(0.0, 1.0, 0.0), (2.0, 0.5, 1.0), (-1.0, 4.0, 1.0), (0.3, 1e-4, 0.28), (5.0, 1.0, -3.0)],
)
def test_expected_improvement_is_that_of_quadrature_and_simulation(
    mean: float, variance: float, best: float
) -> None:
    normal = stats.norm(mean, math.sqrt(variance))
    low = min(mean, best) - 12 * math.sqrt(variance)
    expected = integral(lambda y: (best - y) * normal.pdf(y), low, best)
    got = math.exp(log_ei(np.array([mean]), np.array([variance]), best)[0])
    assert got == pytest.approx(expected, rel=1e-9)
    if best > mean - 3 * math.sqrt(variance):
        draws = mean + math.sqrt(variance) * np.random.default_rng(0).standard_normal(400_000)
        gains = np.maximum(best - draws, 0.0)
        assert abs(gains.mean() - got) < 4.5 * gains.std() / math.sqrt(len(gains))


def test_a_lower_mean_and_a_higher_variance_promise_more() -> None:
    means = log_ei(np.linspace(-30, 30, 200), np.ones(200), best=0.0)
    assert (np.diff(means) < 0).all()
    for mean in (-2.0, 0.0, 2.0):
        variances = log_ei(np.full(100, mean), np.logspace(-1, 3, 100), best=0.0)
        assert (np.diff(variances) > 0).all()


def test_what_is_certain_promises_what_it_gains() -> None:
    got = log_ei(np.array([-1.0, 1.0]), np.full(2, 1e-16), best=2.0)
    assert np.exp(got) == pytest.approx([3.0, 1.0], rel=1e-9)


@settings(max_examples=examples(100))
@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(1e-15, 1e3)), min_size=1, max_size=5),
    st.floats(-1e3, 1e3),
)
def test_log_ei_is_finite_and_at_least_the_expected_gain(
    beliefs: list[tuple[float, float]], best: float
) -> None:
    mean, variance = np.array(beliefs).T
    got = log_ei(mean, variance, best)
    assert np.isfinite(got).all()
    hoped = best > mean
    assert (got[hoped] >= np.log(best - mean[hoped]) - 1e-9).all()  # Jensen
    shifted = log_ei(4.0 * mean, 16.0 * variance, 4.0 * best)
    assert shifted == pytest.approx(got + math.log(4.0), rel=1e-9, abs=1e-9)


# Of rows


def single(a: float) -> Improvement:
    """A row at 0 where nothing is known but a slope, so far from the best that h is asked at a."""
    kernel, logs = Kernel((None,)), np.log([1.0, 1.0, 1e-2])
    known = GP.conditioned(kernel, logs, np.array([[0.5]]), np.array([1.0]), mean=0.0)
    mean, variance, _, _ = known.slope(np.zeros(1))
    return Improvement(known, best=mean + a * math.sqrt(variance))


MODELS: list[tuple[Kernel, tuple[float, ...]]] = [
    (Kernel((None,)), ()),
    (Kernel((None,) * 5), ()),
    (Kernel((3, None, 2, None)), ()),
    (Kernel((3, None, 2, None), product=True), (1.0,)),
    (Kernel((None, 2, None), graded=True), (0.7,)),
    (Kernel((None,) * 4), (0.3, 0.9)),
    (Kernel((3, None), graded=True), (1.0,)),
    (Kernel((3, 2)), ()),
    (Kernel((None, 3, None, 2, None), optional=(1, 2, 4)), ()),
    (Kernel((3, None, None, None), True, True, (1, 2)), (0.6,)),
]
"""Kernels, and the columns that are not searched: numbers at the end."""


def bowl(rows: Array) -> Array:
    """A parabola in each column, over the entries that are active."""
    parts = np.where(np.isnan(rows), 0.0, -3.0 * (rows - 0.3) ** 2)
    return np.asarray(parts.sum(axis=1) + rows[:, 0], dtype=np.float64)


@pytest.mark.parametrize("bonus", [None, bowl])
@pytest.mark.parametrize(("kernel", "further"), MODELS, ids=str)
def test_the_slope_is_that_of_differences(
    kernel: Kernel, further: tuple[float, ...], bonus: Bonus | None
) -> None:
    searched = kernel.sizes[: len(kernel.sizes) - len(further)]
    numbers = [i for i, size in enumerate(searched) if size is None]
    known = process(kernel)
    for best in (known.targets.min(), known.targets.max(), known.targets.min() - 30.0):
        score = Improvement(known, float(best), further, bonus)
        for row in mixed_rows(3, searched, 8, kernel.optional):
            value, gradient = score.slope(row)
            assert value == pytest.approx(score(row[None])[0], rel=1e-8)
            expected = differences(partial(moved, score, row, numbers), row[numbers], 1e-4)
            assert gradient.shape == (len(numbers),)
            rounding = 1e-7 + 1e-9 * abs(value)
            assert gradient == pytest.approx(expected.reshape(-1), rel=1e-6, abs=rounding)
            assert (gradient[np.isnan(row[numbers])] == 0.0).all()


def moved(score: Improvement, row: Array, numbers: list[int], position: Array) -> Array:
    other = row.copy()
    other[numbers] = position
    return score(other[None])


@pytest.mark.parametrize("a", [-1e6, -1e4 - 1, -1e4 + 1, -200.0, -5.0, -1.01, -0.99, 0.0, 4.0, 1e3])
def test_the_slope_is_right_however_hopeless_the_row(a: float) -> None:
    """By the chain rule from log h, whose slope is P / h, or differences in steps of a's size."""
    score, row = single(a), np.zeros(1)
    _, variance, by_mean, by_variance = score.process.slope(row)
    deviation = math.sqrt(variance)
    if a > -1:
        exact = float(special.ndtr(a)) / math.exp(h(a))
    else:
        step = -1e-4 * a
        exact = (slow_log_h(a + step) - slow_log_h(a - step)) / (2 * step)
    by_a = -(by_mean + a * by_variance / (2 * deviation)) / deviation
    expected = exact * by_a + by_variance / (2 * variance)
    assert score.slope(row)[1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("a", [-1e155, -1e200, 1e10])
def test_the_slope_is_finite_at_any_distance(a: float) -> None:
    value, gradient = single(a).slope(np.zeros(1))
    assert math.isfinite(value) and np.isfinite(gradient).all()


def test_further_columns_are_those_of_the_whole_row() -> None:
    known, rows = process(Kernel((None, 2, None), graded=True)), mixed_rows(6, (None, 2), 1)
    for level in (0.0, 0.4, 1.0):
        whole = np.concatenate((rows, np.full((6, 1), level)), axis=1)
        mean, variance = known.predict(whole)
        got = Improvement(known, -0.5, (level,))(rows)
        assert (got == log_ei(mean, variance, -0.5)).all()
        weighed = Improvement(known, -0.5, (level,), bowl)(rows)
        assert (weighed == got + bowl(rows)).all()


def test_at_the_edges_of_the_box_the_bonus_is_not_asked_beyond_them() -> None:
    asked: list[Array] = []

    def bonus(rows: Array) -> Array:
        asked.append(rows)
        return bowl(rows)

    known, row = process(Kernel((None, None, None))), np.array([0.0, 0.5, 1.0])
    value, gradient = Improvement(known, 0.0, bonus=bonus).slope(row)
    assert all(((rows >= 0) & (rows <= 1)).all() for rows in asked)
    plain, by_plain = Improvement(known, 0.0).slope(row)
    assert value == pytest.approx(plain + bowl(row[None])[0], rel=1e-12)
    assert gradient - by_plain == pytest.approx([2.8, -1.2, -4.2], abs=1e-4)


def test_outside_of_the_bonus_support_the_value_is_no_hope_and_the_slope_finite() -> None:
    def box(rows: Array) -> Array:
        return np.where(np.abs(rows[:, 0] - 0.5) <= 0.25, 0.0, -np.inf)

    known = process(Kernel((None, None)))
    score = Improvement(known, 0.0, bonus=box)
    for x, inside in ((0.1, False), (0.25, True), (0.5, True), (0.75, True), (1.0, False)):
        value, gradient = score.slope(np.array([x, 0.3]))
        assert math.isfinite(value) == inside
        assert value == pytest.approx(score(np.array([[x, 0.3]]))[0], rel=1e-10)
        expected = Improvement(known, 0.0).slope(np.array([x, 0.3]))[1]
        assert gradient == pytest.approx(expected, rel=1e-12)
