"""Correlation of fidelities: against scipy, by hand, and for the paper's classes."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from real_data import data_folder
from scipy.stats import spearmanr

from priorband.analysis.correlation import (
    Correlations,
    correlation_curve,
    is_high_correlation,
    spearman,
    tenth_index,
)
from priorband.analysis.curves import Array
from priorband.benchmarks.hartmann import Hartmann
from priorband.benchmarks.lcbench import LCBench
from priorband.errors import MethodError, SpaceError
from priorband.fidelity import Fidelity
from priorband.space.parameters import Float
from priorband.space.space import Space


class FunctionBenchmark:
    """A benchmark on [0, 1] whose losses at each fidelity come from a function."""

    space = Space({"x": Float(0.0, 1.0)})

    def __init__(self, fidelity: Fidelity, low: float = 1.0) -> None:
        self.fidelity = fidelity
        self.low = low

    optimum = None

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """One of them."""
        return float(self.evaluate_many([config], fidelity)[0])

    def evaluate_many(self, configs: Sequence[Mapping[str, Any]], fidelity: float) -> Array:
        """The position itself in full, and `low` times it below."""
        x = np.array([config["x"] for config in configs])
        return x if fidelity == self.fidelity.high else self.low * x


def test_spearman_by_hand() -> None:
    """Ranks 1 2 3 and 1 3 2: 1 - 6 * 2 / (3 * 8)."""
    assert spearman(np.array([10.0, 20.0, 30.0]), np.array([0.1, 0.9, 0.3])) == 0.5
    assert spearman(np.array([1.0, 2.0]), np.array([5.0, 4.0])) == -1.0


def test_spearman_is_undefined_if_all_values_are_equal() -> None:
    assert math.isnan(spearman(np.array([1.0, 1.0]), np.array([1.0, 2.0])))


def test_a_failed_training_is_worse_than_all_others() -> None:
    for failed in (math.nan, math.inf, -math.inf):
        assert spearman(np.array([1.0, failed, 2.0]), np.array([1.0, 3.0, 2.0])) == 1.0


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0]), st.floats(0, 1)),
        min_size=2,
        max_size=30,
    )
)
def test_spearman_is_that_of_scipy(pairs: list[tuple[float, float]]) -> None:
    first, second = (np.array(column) for column in zip(*pairs, strict=True))
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert math.isnan(spearman(first, second))
    else:
        assert spearman(first, second) == pytest.approx(spearmanr(first, second).statistic)


def test_fidelities_that_agree_have_a_correlation_of_one_and_stop_at_once() -> None:
    found = correlation_curve(FunctionBenchmark(Fidelity("epochs", 1, 9)))
    assert found.fidelities.tolist() == list(range(1, 10))
    assert found.means.tolist() == [1.0] * 9
    assert found.deviations.tolist() == [0.0] * 9
    assert found.repeats == 3


def test_fidelities_with_the_reverse_order_have_minus_one() -> None:
    found = correlation_curve(FunctionBenchmark(Fidelity("epochs", 1, 9), low=-1.0))
    assert found.means.tolist() == [-1.0] * 8 + [1.0]


def test_a_fidelity_with_equal_losses_has_a_correlation_of_zero() -> None:
    found = correlation_curve(FunctionBenchmark(Fidelity("epochs", 1, 3), low=0.0))
    assert found.means.tolist() == [0.0, 0.0, 1.0]


def test_a_curve_is_the_mean_of_its_repeats() -> None:
    """One repeat at a time: the second of two continues the generator of the first."""
    bench = Hartmann(3, "terrible")
    asked = (3, 33, 100)
    one = correlation_curve(bench, asked, max_repeats=1)
    two = correlation_curve(bench, asked, max_repeats=2)
    rng = np.random.default_rng(1)
    curves = []
    for _ in range(2):
        configs = [bench.space.decode(row) for row in bench.space.uniform(25, rng)]
        losses = [bench.evaluate_many(configs, z) for z in asked]
        curves.append([spearmanr(each, losses[-1]).statistic for each in losses])
    np.testing.assert_allclose(one.means, curves[0])
    np.testing.assert_allclose(two.means, np.mean(curves, axis=0))
    np.testing.assert_allclose(two.deviations, np.std(curves, axis=0, ddof=1), atol=1e-12)
    assert np.isnan(one.deviations).all()
    assert (one.repeats, two.repeats) == (1, 2)


def test_repeats_stop_when_the_mean_does_not_change() -> None:
    bench, asked = Hartmann(3), (3, 11, 33, 100)
    found = correlation_curve(bench, asked, tolerance=0.02)
    before = correlation_curve(bench, asked, tolerance=0.02, max_repeats=found.repeats - 1)
    assert 3 <= before.repeats == found.repeats - 1
    assert np.linalg.norm(found.means - before.means) <= 0.02
    assert correlation_curve(
        bench, asked, tolerance=0.0, max_repeats=found.repeats + 2
    ).repeats == (found.repeats + 2)


def test_the_same_seed_gives_the_same_curve() -> None:
    first, again, other = (
        correlation_curve(Hartmann(3), (3, 100), seed=seed, max_repeats=2) for seed in (1, 1, 2)
    )
    assert first.means.tolist() == again.means.tolist() != other.means.tolist()


def test_the_good_hartmann_function_correlates_better_than_the_terrible_one() -> None:
    """They are 0.53 and 0.16, with errors of 0.03: 9 standard errors apart."""
    means = [
        correlation_curve(Hartmann(3, name), (11, 100), tolerance=0.0, max_repeats=40).means[0]
        for name in ("good", "terrible")
    ]
    assert means[0] > means[1]


def test_a_tenth_of_a_complete_list_is_at_a_tenth_of_its_length() -> None:
    """Place floor(n / 10): epoch 6 of LCBench's 52, 22 of JAHS' 3 to 200, 60 of CIFAR-100's."""
    assert range(1, 53)[tenth_index(range(1, 53))] == 6
    assert range(3, 201)[tenth_index(range(3, 201))] == 22
    assert range(45, 200)[tenth_index(range(45, 200))] == 60
    assert tenth_index([5]) == 0


@pytest.mark.parametrize(
    ("rungs", "low", "chosen"),
    [
        ((7, 22, 66, 200), 3, 22),
        ((66, 199), 45, 66),
        ((3, 11, 33, 99), 3, 11),
        ((2, 8, 24, 74), 1, 8),
        ((2, 6, 19), 1, 2),
        ((1, 5, 17, 52), 1, 5),
    ],
)
def test_a_tenth_of_some_fidelities_is_the_nearest_to_that_of_all(
    rungs: tuple[int, ...], low: int, chosen: int
) -> None:
    assert rungs[tenth_index(rungs, low)] == chosen


def test_a_complete_list_has_the_same_tenth_with_and_without_low() -> None:
    for low, high in ((1, 52), (3, 200), (45, 199), (3, 99), (1, 74), (1, 19)):
        whole = range(low, high + 1)
        assert tenth_index(whole) == tenth_index(whole, low)


def test_a_tenth_of_fractions_is_a_tenth_of_their_range() -> None:
    rungs = (0.0123, 0.037, 0.111, 0.333, 1.0)
    assert rungs[tenth_index(rungs, low=0.01)] == 0.111  # 0.01 and a tenth of 0.99 is 0.109
    assert tenth_index(rungs, low=0.01) == tenth_index([100 * rung for rung in rungs], low=1.0)


def test_high_is_at_least_eight_tenths() -> None:
    fidelities = range(1, 21)
    curve = np.full(20, 0.9)
    curve[2] = 0.8
    assert is_high_correlation(fidelities, curve)
    curve[2] = 0.7999
    assert not is_high_correlation(fidelities, curve)


def test_invalid_arguments_are_refused() -> None:
    share = FunctionBenchmark(Fidelity("share", 0.1, 1.0))
    with pytest.raises(SpaceError, match="end with 1.0, a full training, got None"):
        correlation_curve(share)
    with pytest.raises(SpaceError, match="must be ascending and end with"):
        correlation_curve(share, (0.1, 0.5))
    with pytest.raises(SpaceError, match="must be ascending and end with"):
        correlation_curve(share, (0.5, 0.1, 1.0))
    with pytest.raises(MethodError, match="`configs` must be at least 2"):
        correlation_curve(share, (0.1, 1.0), configs=1)
    assert correlation_curve(share, (0.1, 1.0)).means.tolist() == [1.0, 1.0]


def of_lcbench(task: str) -> Correlations:
    """At epoch 6, a tenth, only.

    By 1000 repeats the means are 0.664, 0.808, 0.896, 0.874 and 0.944 with errors below 0.005; by
    100, with a fixed seed, 167190 is the nearest to the line: 0.814, with an error of 0.009.
    """
    benchmark = LCBench(task, data_folder())
    return correlation_curve(benchmark, (6, 52), tolerance=0.0, max_repeats=100)


@pytest.mark.parametrize(
    ("task", "high"),
    [
        ("126026", False),
        ("167190", True),
        ("168330", True),
        ("168910", True),
        ("189906", True),
    ],
)
def test_the_papers_tasks_of_lcbench_fall_into_the_papers_classes(task: str, high: bool) -> None:
    found = of_lcbench(task)
    assert is_high_correlation(found.fidelities, found.means, low=1) == high
