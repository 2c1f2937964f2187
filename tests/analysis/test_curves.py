"""Incumbent curves, by hand and in general."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priorband.analysis.curves import (
    Curve,
    incumbent_curve,
    loss_at,
    step_values,
    value_at,
    values_at,
    within_limit,
)
from priorband.benchmarks.hartmann import Hartmann
from priorband.errors import DataError
from priorband.study import Study
from priorband.workers.simulation import simulate

A = incumbent_curve([0.3, 0.3, 1.0], [0.50, 0.45, 0.30], [0.40, 0.42, 0.30])
B = incumbent_curve([1.0, 1.0], [0.40, 0.35], [0.40, 0.35])
GRID = np.array([0.3, 0.6, 1.0, 1.6, 2.0])

runs = st.lists(
    st.tuples(
        st.integers(1, 30),
        st.one_of(st.floats(0, 1), st.sampled_from([0.25, 0.5, math.inf, math.nan])),
        st.floats(0, 1),
        st.integers(0, 3),
    ),
    max_size=40,
)


def test_tv16_values_are_held_until_the_next_incumbent() -> None:
    np.testing.assert_allclose(
        values_at([A, B], GRID),
        [[0.40, 0.42, 0.42, 0.30, 0.30], [math.nan, math.nan, 0.40, 0.40, 0.35]],
    )


def test_tv16_one_budget_at_a_time() -> None:
    assert [value_at(A, x) for x in GRID] == [0.40, 0.42, 0.42, 0.30, 0.30]
    assert [loss_at(A, x) for x in GRID] == [0.50, 0.45, 0.45, 0.30, 0.30]
    assert [value_at(B, x) for x in GRID[2:]] == [0.40, 0.40, 0.35]


def test_a_value_may_rise_while_the_loss_falls() -> None:
    assert value_at(A, 0.6) > value_at(A, 0.3)
    assert loss_at(A, 0.6) < loss_at(A, 0.3)


def test_before_the_first_result_there_is_no_value() -> None:
    """An index of -1 would return the last value instead."""
    assert math.isnan(value_at(B, 0.999))
    assert math.isnan(loss_at(B, 0.999))
    assert math.isnan(value_at(incumbent_curve([], [], []), 5.0))
    assert values_at([], GRID).shape == (0, 5)


def test_only_strict_improvements_are_incumbents() -> None:
    curve = incumbent_curve([1, 1, 1, 1], [0.5, 0.5, 0.6, 0.4], [0.1, 0.2, 0.3, 0.4])
    assert curve.budgets.tolist() == [1, 4]
    assert curve.losses.tolist() == [0.5, 0.4]
    assert curve.values.tolist() == [0.1, 0.4]


@pytest.mark.parametrize("failed", [math.inf, -math.inf, math.nan])
def test_a_failed_evaluation_costs_and_is_never_the_incumbent(failed: float) -> None:
    curve = incumbent_curve([9, 9, 9], [failed, 0.5, failed], [0.1, 0.2, 0.3], full=9)
    assert curve.budgets.tolist() == [2.0]
    assert curve.values.tolist() == [0.2]


def test_an_incumbent_whose_full_training_fails_has_an_infinite_value() -> None:
    curve = incumbent_curve([1, 9], [0.5, 0.4], [math.nan, 0.4], full=9)
    assert curve.values.tolist() == [math.inf, 0.4]
    assert curve.losses.tolist() == [0.5, 0.4]


def test_costs_are_counted_in_full_trainings() -> None:
    curve = incumbent_curve([3, 6, 18], [0.5, 0.4, 0.3], [0.5, 0.4, 0.3], full=27)
    assert curve.budgets.tolist() == [3 / 27, 9 / 27, 1.0]


def test_costs_are_counted_per_worker() -> None:
    """Two workers, full 10. Worker 0 pays 3, 3, 4; worker 1 pays 6, 5.

    On the axis: 0.3 worker 0 (.5), 0.6 worker 0 (.4) and worker 1 (.45), 1.0 worker 0 (.1), 1.1
    worker 1 (.2), although the last one of worker 0 ended last.
    """
    curve = incumbent_curve(
        costs=[3, 6, 3, 5, 4],
        losses=[0.5, 0.45, 0.4, 0.2, 0.1],
        at_full=[5, 4.5, 4, 2, 1],
        workers=[0, 1, 0, 1, 0],
        full=10,
    )
    np.testing.assert_allclose(curve.budgets, [0.3, 0.6, 1.0])
    assert curve.losses.tolist() == [0.5, 0.4, 0.1]
    assert curve.values.tolist() == [5, 4, 1]


def test_a_later_worker_may_improve_at_an_earlier_budget() -> None:
    """Results are ordered by budget, not by time: worker 1's at 0.5 counts before 0.9."""
    curve = incumbent_curve([9, 5], [0.3, 0.2], [0.3, 0.2], workers=[0, 1], full=10)
    assert curve.budgets.tolist() == [0.5]
    assert value_at(curve, 0.9) == 0.2


def test_where_two_results_share_a_budget_the_lower_loss_counts() -> None:
    for losses in ([0.5, 0.4], [0.4, 0.5]):
        curve = incumbent_curve([6, 6], losses, losses, workers=[0, 1], full=10)
        assert curve.budgets.tolist() == [0.6]
        assert curve.values.tolist() == [0.4]


def test_of_equal_losses_at_one_budget_the_first_to_end_counts() -> None:
    curve = incumbent_curve([6, 6], [0.4, 0.4], [1.0, 2.0], workers=[1, 0], full=10)
    assert curve.values.tolist() == [1.0]


def test_budgets_that_differ_by_rounding_are_equal() -> None:
    """0.1 + 0.2 is not 0.3, but it is the same budget."""
    curve = incumbent_curve([0.1, 0.3, 0.2], [0.9, 0.5, 0.4], [9, 5, 4], workers=[0, 1, 0])
    assert len(curve.budgets) == 2
    assert value_at(curve, 0.3) == 4


def test_a_sum_that_rounds_up_is_still_within_its_budget() -> None:
    third = 0.1 + 0.2
    assert third > 0.3
    assert value_at(incumbent_curve([0.1, 0.2], [0.5, 0.4], [5, 4]), 0.3) == 4
    tenths = incumbent_curve([0.1] * 120, np.linspace(2, 1, 120), np.linspace(2, 1, 120))
    assert tenths.budgets[-1] != 12.0
    assert value_at(tenths, 12) == 1.0
    assert value_at(tenths, 11.95) > 1.0


def test_within_limit_allows_for_rounding_only() -> None:
    budgets = np.array([11.9, 12.0, 12.000000000000002, 12.001])
    assert within_limit(budgets, 12).tolist() == [True, True, True, False]


def test_step_values_returns_whole_rows() -> None:
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(
        step_values(np.array([1.0, 2.0]), rows, np.array([0.5, 1.0, 5.0])),
        [[math.nan, math.nan], [1.0, 2.0], [3.0, 4.0]],
    )


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(DataError, match="same length, got 2, 1, 2 and 2"):
        incumbent_curve([1, 2], [1], [1, 2])
    with pytest.raises(DataError, match="same length, got 1, 1, 1 and 2"):
        incumbent_curve([1], [1], [1], workers=[0, 1])
    with pytest.raises(DataError, match="`costs` must be at least 0"):
        incumbent_curve([-1], [1], [1])
    with pytest.raises(DataError, match="`full` above 0"):
        incumbent_curve([1], [1], [1], full=0)
    with pytest.raises(DataError, match="ascending budgets"):
        Curve(np.array([2.0, 1.0]), np.array([1.0, 0.5]), np.array([1.0, 0.5]))
    with pytest.raises(DataError, match="flat list"):
        incumbent_curve([[1]], [1], [1])


def curve_of(evaluations: list[tuple[int, float, float, int]]) -> Curve:
    """The curve where a full training costs 30."""
    costs, losses, at_full, workers = np.array(evaluations, dtype=np.float64).reshape(-1, 4).T
    return incumbent_curve(costs, losses, at_full, workers, full=30)


@given(runs)
def test_losses_fall_budgets_rise_and_the_last_loss_is_the_lowest(
    evaluations: list[tuple[int, float, float, int]],
) -> None:
    curve = curve_of(evaluations)
    assert (np.diff(curve.losses) < 0).all()
    assert (np.diff(curve.budgets) > 0).all()
    finite = [loss for _, loss, _, _ in evaluations if math.isfinite(loss)]
    assert curve.losses.tolist()[-1:] == sorted(finite)[:1]
    pairs = {(loss, value) for _, loss, value, _ in evaluations}
    assert set(zip(curve.losses, curve.values, strict=True)) <= pairs


@given(runs, st.floats(0, 20))
def test_the_loss_at_a_budget_is_the_lowest_within_it(
    evaluations: list[tuple[int, float, float, int]], budget: float
) -> None:
    bills: dict[int, int] = {}
    affordable = [math.inf]
    for cost, loss, _, worker in evaluations:
        bills[worker] = bills.get(worker, 0) + cost
        if bills[worker] / 30 <= budget * (1 + 1e-9) and math.isfinite(loss):
            affordable.append(loss)
    found = loss_at(curve_of(evaluations), budget)
    assert (math.inf if math.isnan(found) else found) == min(affordable)


def test_a_simulated_run_has_the_incumbents_of_each_step() -> None:
    bench = Hartmann(3)
    runs = simulate(Study(bench.space, bench.fidelity, "hyperband", seed=3), bench, budget=6)
    ends = [bench.evaluate(run.outcome.config, 100) for run in runs]
    curve = incumbent_curve(
        [run.cost for run in runs], [run.outcome.loss for run in runs], ends, full=100
    )
    paid, lowest = 0.0, math.inf
    for run, end in zip(runs, ends, strict=True):
        paid += run.cost
        if run.outcome.loss < lowest:
            lowest, value = run.outcome.loss, end
        assert (loss_at(curve, paid / 100), value_at(curve, paid / 100)) == (lowest, value)


def test_four_simulated_workers_are_on_one_axis() -> None:
    """Budgets are per worker, as in the paper: 2 trainings include each worker's first runs."""
    bench = Hartmann(3)
    study = Study(bench.space, bench.fidelity, "random", seed=0)
    runs = simulate(study, bench, workers=4, budget=8)
    losses = [run.outcome.loss for run in runs]
    workers = [run.worker for run in runs]
    curve = incumbent_curve([run.cost for run in runs], losses, losses, workers, full=100)
    assert set(curve.budgets) <= {1.0, 2.0}
    assert value_at(curve, 1) == min(losses[:4])
    assert value_at(curve, 2) == min(losses)


def test_a_configuration_that_has_failed_is_no_longer_the_incumbent() -> None:
    nan = math.nan
    curve = incumbent_curve(
        [0.1, 0.1, 0.9, 1.0, 0.5],
        [0.1, 0.4, nan, 0.3, 0.2],
        [nan, 0.6, nan, 0.3, 0.25],
        configs=[0, 1, 0, 2, 0],
    )
    assert curve.budgets == pytest.approx([0.1, 1.1, 2.1])
    assert curve.losses == pytest.approx([0.1, 0.4, 0.3])  # it rises where the best one fails
    assert curve.values == pytest.approx([math.inf, 0.6, 0.3])


def test_if_all_configurations_failed_there_is_no_incumbent() -> None:
    curve = incumbent_curve([1.0, 1.0], [0.1, math.nan], [0.2, math.nan], configs=[7, 7])
    assert value_at(curve, 1.0) == 0.2
    assert math.isnan(value_at(curve, 2.0)) and math.isnan(loss_at(curve, 2.0))


@given(runs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=30))
def test_failures_give_the_incumbents_of_a_direct_search(runs: list[tuple[int, int]]) -> None:
    """0 stands for a failure; all losses are different."""
    losses = [math.nan if loss == 0 else loss + 0.01 * k for k, (_, loss) in enumerate(runs)]
    configs = [config for config, _ in runs]
    curve = incumbent_curve([1.0] * len(runs), losses, losses, configs=configs)
    for k in range(len(runs)):
        known = [(losses[i], configs[i]) for i in range(k + 1)]
        failed = {config for loss, config in known if math.isnan(loss)}
        left = [loss for loss, config in known if config not in failed]
        assert value_at(curve, k + 1.0) == pytest.approx(min(left, default=math.nan), nan_ok=True)


def test_a_failure_at_the_same_budget_as_a_result_removes_the_incumbent() -> None:
    curve = incumbent_curve(
        *([1, 1, 1], [0.3, 0.5, np.inf], [0.3, 0.5, np.inf]),
        workers=[0, 1, 2],
        configs=[0, 1, 0],
    )
    assert (curve.budgets.tolist(), curve.losses.tolist()) == ([1.0], [0.5])
