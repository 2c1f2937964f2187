"""Kendall's tau agrees with an independent one, and its interval with simulations."""

import math

import numpy as np
import pytest
from amounts import examples, slow
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from priorband.study_analysis.rank_correlation import kendall_tau, tau_interval
from priorband.study_analysis.trial_columns import Floats


def test_by_hand_with_ties() -> None:
    """Of six pairs, one is tied in x, one in y; four are in the same order, none in opposite."""
    x, y = np.array([1.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0, 3.0])
    assert kendall_tau(x, y) == pytest.approx(4 / math.sqrt(5 * 5))
    assert kendall_tau(x, -y) == pytest.approx(-4 / 5)
    assert math.isnan(kendall_tau(x, np.ones(4)))


pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=30)


@settings(max_examples=examples(100))
@given(pairs)
def test_it_is_what_counting_all_pairs_gives(drawn: list[tuple[int, int]]) -> None:
    x, y = np.array(drawn, float).T
    signs = [np.sign(each[:, None] - each[None, :]) for each in (x, y)]
    scale = math.sqrt(float((signs[0] ** 2).sum()) * float((signs[1] ** 2).sum()))
    expected = float((signs[0] * signs[1]).sum()) / scale if scale else math.nan
    assert kendall_tau(x, y) == pytest.approx(expected, nan_ok=True)


@slow
@settings(max_examples=examples(100))
@given(pairs)
def test_it_is_that_of_scipy(drawn: list[tuple[int, int]]) -> None:
    from scipy.stats import kendalltau

    x, y = np.array(drawn, float).T
    expected = kendalltau(x, y).statistic
    assert kendall_tau(x, y) == pytest.approx(float(expected), nan_ok=True)


def test_interval_by_hand() -> None:
    """n = 9: the squared error under independence is 2 * 23 / (9 * 9 * 8)."""
    a = 1.959964**2 * 46 / 648
    low, high = tau_interval(0.0, 9)
    assert (low, high) == pytest.approx((-math.sqrt(a / (1 + a)), math.sqrt(a / (1 + a))), rel=1e-5)
    assert tau_interval(1.0, 9) == pytest.approx(((1 - a) / (1 + a), 1.0), rel=1e-5)


@settings(max_examples=examples(100))
@given(st.floats(-1, 1), st.integers(2, 10_000))
def test_an_interval_contains_tau_and_is_within_its_range(tau: float, count: int) -> None:
    low, high = tau_interval(tau, count)
    assert -1 - 1e-12 <= low <= tau + 1e-12 and tau - 1e-12 <= high <= 1 + 1e-12


def _selected(count: int, rho: float, rng: Generator) -> tuple[Floats, Floats]:
    """Losses on two rungs, of those that are among the best third on the lower one."""
    x = rng.normal(size=3 * count)
    y = rho * x + math.sqrt(1 - rho * rho) * rng.normal(size=3 * count)
    best = np.argsort(x)[:count]
    return x[best], y[best]


@slow
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 0.98])
@pytest.mark.parametrize("count", [8, 12, 27])
def test_intervals_cover_the_agreement_of_those_that_went_on(count: int, rho: float) -> None:
    """At least 93 of 100 intervals; with 1,000 repeats, chance makes 0.93 of 0.95 in 1 of 300."""
    rng = np.random.default_rng(count)
    truth = float(np.mean([kendall_tau(*_selected(1000, rho, rng)) for _ in range(20)]))
    ends = [tau_interval(kendall_tau(*_selected(count, rho, rng)), count) for _ in range(1000)]
    assert np.mean([low <= truth <= high for low, high in ends]) >= 0.93
