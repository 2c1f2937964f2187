"""Normalised regret."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priorband.analysis.curves import Curve, incumbent_curve
from priorband.analysis.regret import extremes, normalised, regret_curves
from priorband.errors import DataError

A = incumbent_curve([0.3, 0.3, 1.0], [0.50, 0.45, 0.30], [0.40, 0.42, 0.30])
B = incumbent_curve([1.0, 1.0], [0.40, 0.35], [0.40, 0.35])


def steady(value: float) -> Curve:
    return Curve(np.array([1.0]), np.array([value]), np.array([value]))


def test_tv16_regret() -> None:
    grid, found = regret_curves({"A": {"one": [A]}, "B": {"one": [B]}}, horizon=2.0)
    assert grid.tolist() == [0.3, 0.6, 1.0, 1.6, 2.0]
    np.testing.assert_allclose(found["A"].mean, [0.8333, 1, 1, 0, 0], atol=5e-5)
    nan = math.nan
    np.testing.assert_allclose(found["B"].mean, [nan, nan, 0.8333, 0.8333, 0.4167], atol=5e-5)


def test_values_after_the_horizon_do_not_change_the_scale() -> None:
    """Up to 1.0 the values are .40 and .42 of A, .40 of B: later ones do not count."""
    assert extremes([A, B]) == (0.30, 0.42)
    assert extremes([A, B], horizon=1.0) == (0.40, 0.42)
    grid, found = regret_curves({"A": {"one": [A]}, "B": {"one": [B]}}, horizon=1.0)
    assert grid.tolist() == [0.3, 0.6, 1.0]
    np.testing.assert_allclose(found["A"].mean, [0, 1, 1])


def test_values_before_the_start_change_the_scale() -> None:
    grid, found = regret_curves({"A": {"one": [A]}, "B": {"one": [B]}}, horizon=2.0, start=1.6)
    assert grid.tolist() == [1.6, 2.0]
    np.testing.assert_allclose(found["B"].mean, [0.8333, 0.4167], atol=5e-5)


def test_a_horizon_allows_for_rounding() -> None:
    late = Curve(np.array([0.1 + 0.2]), np.array([0.7]), np.array([0.7]))
    assert extremes([late, steady(0.5)], horizon=0.3) == (0.7, 0.7)


def test_scales_belong_to_benchmarks_and_are_shared_by_seeds() -> None:
    """Benchmark one spans 0..10 over two seeds, benchmark two 0..1. A: (.0+.5)/2 and (.5+1)/2."""
    group = {
        "A": {"one": [steady(0), steady(5)], "two": [steady(0.5), steady(1)]},
        "B": {"one": [steady(10), steady(0)], "two": [steady(0), steady(0)]},
    }
    _, found = regret_curves(group, horizon=12)
    assert found["A"].mean.tolist() == [0.5]
    assert found["A"].sem.tolist() == pytest.approx([0.25])
    assert found["B"].mean.tolist() == [0.25]


def test_if_all_values_are_equal_there_is_no_regret() -> None:
    values = np.array([0.5, math.nan])
    np.testing.assert_array_equal(normalised(values, 0.5, 0.5), [0.0, math.nan])
    _, found = regret_curves({"A": {"one": [steady(1)]}, "B": {"one": [steady(1)]}}, horizon=5)
    assert found["A"].mean.tolist() == [0.0]


def test_a_failed_training_is_as_bad_as_the_worst() -> None:
    assert normalised(np.array([math.inf, 2.0]), 1.0, 3.0).tolist() == [1.0, 0.5]
    assert normalised(np.array([math.inf, 2.0]), 2.0, 2.0).tolist() == [1.0, 0.0]
    failing = Curve(np.array([0.5, 1.0]), np.array([0.9, 0.4]), np.array([math.inf, 0.4]))
    assert extremes([failing]) == (0.4, 0.4)


def test_a_horizon_before_any_result_is_refused() -> None:
    with pytest.raises(DataError, match="No run has a result within 0.5 full trainings"):
        regret_curves({"B": {"one": [B]}}, horizon=0.5)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(-1e6, 1e6), st.floats(0.1, 1e6))
def test_regret_does_not_depend_on_units(values: list[float], shift: float, scale: float) -> None:
    """Exact except for the digits lost to a shift."""
    given_values = np.array(values)
    low, high = min(values), max(values)
    found = normalised(given_values, low, high)
    assert ((found >= 0) & (found <= 1)).all()
    if high - low > 1.0:
        moved = normalised(scale * given_values + shift, scale * low + shift, scale * high + shift)
        np.testing.assert_allclose(moved, found, atol=1e-7)
