"""Ranks, by hand, and over benchmarks and seeds."""

import math

import numpy as np
import pytest
from amounts import slow
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import rankdata

from priorband.analysis.curves import Array, Curve, incumbent_curve, value_at
from priorband.analysis.ranks import rank_curves, ranks
from priorband.errors import DataError

A = incumbent_curve([0.3, 0.3, 1.0], [0.50, 0.45, 0.30], [0.40, 0.42, 0.30])
B = incumbent_curve([1.0, 1.0], [0.40, 0.35], [0.40, 0.35])

tables = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 4)),
    elements=st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, math.inf]),
)


def steady(value: float) -> Curve:
    """The curve of a run that has one value from one training on."""
    return Curve(np.array([1.0]), np.array([value]), np.array([value]))


def test_ties_share_their_rank() -> None:
    assert ranks(np.array([0.3, 0.3, 0.5])).tolist() == [1.5, 1.5, 3.0]
    assert ranks(np.array([0.5, 0.5, 0.5])).tolist() == [2.0, 2.0, 2.0]


def test_an_algorithm_without_a_result_has_no_rank() -> None:
    found = ranks(np.array([math.nan, 0.3, 0.2]))
    np.testing.assert_array_equal(found, [math.nan, 2.0, 1.0])


def test_failures_rank_last_together() -> None:
    assert ranks(np.array([math.inf, 0.3, math.inf])).tolist() == [2.5, 1.0, 2.5]


def test_each_column_is_ranked_by_itself() -> None:
    found = ranks(np.array([[0.3, math.nan, 0.1], [0.2, 0.5, 0.1], [0.4, 0.2, math.inf]]))
    expected = [[2.0, math.nan, 1.5], [1.0, 2.0, 1.5], [3.0, 1.0, 3.0]]
    np.testing.assert_array_equal(found, expected)


@given(tables)
def test_the_sum_of_ranks_does_not_depend_on_ties(values: Array) -> None:
    n = len(values)
    np.testing.assert_array_equal(ranks(values).sum(axis=0), n * (n + 1) / 2)


@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_algorithms_does_not_matter(values: Array, random: object) -> None:
    order = np.argsort([random.random() for _ in values])  # type: ignore[attr-defined]  # a Random
    np.testing.assert_array_equal(ranks(values[order]), ranks(values)[order])


def test_tv16_ranks_from_one_training_on() -> None:
    grid, found = rank_curves({"A": {"one": [A]}, "B": {"one": [B]}})
    assert grid.tolist() == [1.0, 1.6, 2.0]
    assert found["A"].mean.tolist() == [2, 1, 1]
    assert found["B"].mean.tolist() == [1, 2, 2]
    assert np.isnan(found["A"].sem).all()


def test_before_its_first_result_an_algorithm_has_no_rank() -> None:
    grid, found = rank_curves({"A": {"one": [A]}, "B": {"one": [B]}}, start=0.0)
    assert grid.tolist() == [0.3, 0.6, 1.0, 1.6, 2.0]
    np.testing.assert_array_equal(found["B"].mean, [math.nan, math.nan, 1, 2, 2])
    assert found["A"].mean.tolist() == [1, 1, 2, 1, 1]


def test_a_mean_over_benchmarks_is_over_those_with_a_result() -> None:
    """B has begun on the second benchmark only: rank 2 there, and no rank on the first."""
    early = Curve(np.array([0.5]), np.array([0.9]), np.array([0.9]))
    group = {"A": {"one": [A], "two": [A]}, "B": {"one": [B], "two": [early]}}
    _, found = rank_curves(group, grid=np.array([0.6]), start=0.0)
    assert found["A"].mean.tolist() == [1.0]
    assert found["B"].mean.tolist() == [2.0]


def test_ranks_are_averaged_over_benchmarks_first_and_seeds_second() -> None:
    """Ranks of A by seed and benchmark: 1 1; 2 1; 2 2. Means 1, 1.5, 2; error 0.5 / sqrt(3)."""
    wins = {"one": [0.1, 0.9, 0.9], "two": [0.1, 0.1, 0.9]}
    group = {
        "A": {name: [steady(value) for value in values] for name, values in wins.items()},
        "B": {name: [steady(0.5) for _ in values] for name, values in wins.items()},
    }
    _, found = rank_curves(group)
    assert found["A"].mean.tolist() == [1.5]
    assert found["A"].sem.tolist() == pytest.approx([0.5 / math.sqrt(3)])
    assert found["B"].mean.tolist() == [1.5]


def random_group(seeds: int, benchmarks: int, algorithms: int) -> dict[str, dict[str, list[Curve]]]:
    rng = np.random.default_rng(0)

    def run() -> Curve:
        return incumbent_curve(rng.integers(1, 20, 60), rng.random(60), rng.random(60), full=20)

    return {
        f"algorithm {a}": {
            f"benchmark {b}": [run() for _ in range(seeds)] for b in range(benchmarks)
        }
        for a in range(algorithms)
    }


def test_a_coarser_grid_has_the_same_ranks_at_its_points() -> None:
    group = random_group(seeds=4, benchmarks=3, algorithms=3)
    fine, exact = rank_curves(group)
    coarse = fine[::7]
    grid, found = rank_curves(group, grid=coarse)
    assert grid.tolist() == coarse.tolist()
    for name in group:
        np.testing.assert_array_equal(found[name].mean, exact[name].mean[::7])
        np.testing.assert_array_equal(found[name].sem, exact[name].sem[::7])


def test_curves_agree_with_ranking_each_budget_by_itself() -> None:
    group = random_group(seeds=3, benchmarks=2, algorithms=4)
    grid, found = rank_curves(group)
    for place in (0, len(grid) // 2, -1):
        by_seed = [
            np.mean(
                [
                    rankdata([value_at(group[name][bench][seed], grid[place]) for name in group])
                    for bench in ("benchmark 0", "benchmark 1")
                ],
                axis=0,
            )
            for seed in range(3)
        ]
        mean = [found[name].mean[place] for name in group]
        np.testing.assert_allclose(mean, np.mean(by_seed, axis=0))


def test_a_long_grid_is_computed_in_pieces() -> None:
    group = {"A": {"one": [A, A]}, "B": {"one": [B, B]}}
    grid = np.linspace(1.0, 2.5, 4503)
    _, found = rank_curves(group, grid=grid)
    assert found["A"].mean.shape == (4503,)
    np.testing.assert_array_equal(found["A"].mean, np.where(grid < 1.6 - 1e-9, 2.0, 1.0))


@slow
def test_as_many_runs_as_the_paper_has_are_ranked() -> None:
    """36 benchmarks with priors, 50 seeds, 4 algorithms: at each budget the ranks are 1 to 4."""
    curve = random_group(seeds=50, benchmarks=1, algorithms=4)
    group = {
        name: {f"{number}": runs["benchmark 0"] for number in range(36)}
        for name, runs in curve.items()
    }
    budgets, bands = rank_curves(group, grid=np.linspace(1, 20, 500))
    means = np.mean([band.mean for band in bands.values()], axis=0)
    assert means == pytest.approx(np.full(len(budgets), 2.5))


def test_comparisons_with_missing_runs_are_refused() -> None:
    with pytest.raises(DataError, match="B has no curves on two"):
        rank_curves({"A": {"one": [A], "two": [A]}, "B": {"one": [B]}})
    with pytest.raises(DataError, match="between 1 and 2 curves"):
        rank_curves({"A": {"one": [A, A]}, "B": {"one": [B]}})
    with pytest.raises(DataError, match="between 0 and 0 curves"):
        rank_curves({"A": {"one": []}})
    with pytest.raises(DataError, match="nothing to compare"):
        rank_curves({})
    with pytest.raises(DataError, match="ascending budgets"):
        rank_curves({"A": {"one": [A]}}, grid=np.array([2.0, 1.0]))
