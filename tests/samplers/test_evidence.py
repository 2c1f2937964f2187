"""What models learn from: which results, how many of them, and their losses as targets."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priorband import Constant, Fidelity, Float, Optimizer, Space, Study
from priorband.samplers.evidence import (
    bounded,
    encoded,
    evidence,
    losses_with_failures,
    standardised,
    unit_fidelity,
)
from priorband.samplers.simple import FromUniform
from priorband.schedulers import FullFidelity

SPACE = Space({"x": Float(0, 2), "fixed": Constant("a"), "y": Float(1e-2, 1, log=True)})


def study(*results: tuple[float, float, float, float]) -> Study:
    """A study with results of x, y, fidelity and loss."""
    made = Study(SPACE, Fidelity("epochs", 1, 81), Optimizer(FullFidelity(), FromUniform()))
    for x, y, fidelity, loss in results:
        made.add({"x": x, "fixed": "a", "y": y}, loss, fidelity)
    return made


def test_the_results_of_one_fidelity_are_rows_without_it() -> None:
    state = study((1, 0.1, 81, 3.0), (2, 1, 27, 1.0), (0.5, 0.01, 81, 1.0)).state
    found = evidence(state, 81, most=9)
    assert found is not None
    assert found.rows == pytest.approx(np.array([[0.5, 0.5], [0.25, 0.0]]))
    assert found.targets.tolist() == [1.0, -1.0]
    assert found.total == 2


def test_jointly_the_fidelity_is_the_last_column() -> None:
    state = study((1, 0.1, 81, 3.0), (2, 1, 41, 1.0), (0, 1, 1, 2.0)).state
    found = evidence(state, None, most=9)
    assert found is not None
    assert found.rows == pytest.approx(np.array([[0.5, 0.5, 1], [1, 1, 0.5], [0, 1, 0]]))


def test_a_trial_that_is_promoted_counts_at_each_fidelity_with_the_loss_it_had_there() -> None:
    tuned = Study(SPACE, Fidelity("epochs", 1, 9), "sh", seed=1)
    for _ in range(13):
        trial = tuned.ask()
        tuned.tell(trial, trial.id % 7 + 1 / trial.fidelity)
    for fidelity, count in ((1, 9), (3, 3), (9, 1)):
        found = evidence(tuned.state, fidelity, most=99)
        assert found is not None and found.total == count
    joint = evidence(tuned.state, None, most=99)
    assert joint is not None and joint.total == 13


def test_where_all_failed_there_is_nothing_to_learn() -> None:
    state = study((1, 0.1, 81, math.nan), (1, 0.1, 27, math.inf)).state
    assert evidence(state, 81, 9) is None
    assert evidence(state, None, 9) is None
    assert evidence(study().state, None, 9) is None


def test_a_failure_counts_as_the_worst_of_its_fidelity_or_else_of_all() -> None:
    ended = study(
        *((1, 0.1, 81, 1.0), (1, 0.2, 81, math.nan), (1, 0.3, 81, 2.0)),
        *((1, 0.4, 27, 9.0), (1, 0.5, 9, math.inf)),
    ).state.history.observations
    losses = losses_with_failures(ended)
    assert losses is not None
    assert losses.tolist() == [1.0, 2.0, 2.0, 9.0, 9.0]


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e300, -1e12])
def test_losses_of_any_size_become_the_same_targets(scale: float) -> None:
    losses = np.array([1.0, 2.0, 4.0, 3.0]) * scale
    targets = standardised(losses)
    assert targets.mean() == pytest.approx(0, abs=1e-12)
    assert targets.std() == pytest.approx(1)
    assert np.argsort(targets).tolist() == np.argsort(losses).tolist()
    assert targets == pytest.approx(standardised(np.sign(scale) * np.array([1.0, 2.0, 4.0, 3.0])))


def test_small_differences_of_great_losses_are_kept() -> None:
    assert standardised(1e12 + np.array([0.0, 1.0])) == pytest.approx([-1, 1])


@pytest.mark.parametrize("loss", [0.0, 1e-12, -3.5, 1e12, 1.7e308])
def test_equal_losses_become_zeros(loss: float) -> None:
    assert standardised(np.full(5, loss)).tolist() == [0.0] * 5


def test_a_diverged_loss_counts_as_three_interquartile_ranges_above_the_quartile() -> None:
    usual = np.linspace(0, 1, 9)
    with_fence = standardised(np.append(usual, 1e12))
    low, high = np.quantile(np.append(usual, 1e12), (0.25, 0.75))
    assert with_fence == pytest.approx(standardised(np.append(usual, high + 3 * (high - low))))
    assert np.ptp(with_fence[:9]) > 0.5


def test_a_very_good_loss_is_not_cut() -> None:
    targets = standardised(np.append(np.linspace(0, 1, 9), -50.0))
    assert targets[-1] < -2.9


def test_fidelities_lie_in_their_range_also_where_it_is_a_single_one() -> None:
    state = study().state
    assert [unit_fidelity(state, z) for z in (1, 41, 81)] == [0.0, 0.5, 1.0]
    logs = [unit_fidelity(state, z, "log") for z in (1, 9, 27, 81)]
    assert logs == pytest.approx([0.0, 0.5, 0.75, 1.0]) and logs[-1] == 1.0
    with pytest.warns(match="single rung"):
        single = Study(SPACE, Fidelity("epochs", 5, 5), "random").state
    assert unit_fidelity(single, 5) == 1.0 == unit_fidelity(single, 5, "log")
    assert encoded(single, [], joint=True).shape == (0, 3)


def test_few_results_are_all_kept_in_their_order() -> None:
    assert bounded([1, 9, 1], np.array([3.0, 1.0, 2.0]), 3) == [0, 1, 2]


def test_of_many_results_the_best_half_stay_and_a_spread_of_the_others() -> None:
    losses = np.arange(100.0)[::-1]
    kept = bounded([9.0] * 100, losses, 10)
    assert sorted(losses[kept]) == [0, 1, 2, 3, 4, 14, 33, 52, 71, 90]


def test_fidelities_share_the_places_and_leave_to_others_what_they_cannot_use() -> None:
    fidelities = [81.0] * 2 + [27.0] * 50 + [9.0] * 3 + [1.0] * 100
    kept = bounded(fidelities, np.arange(155.0), 26)
    counts = {z: sum(fidelities[i] == z for i in kept) for z in (81, 27, 9, 1)}
    assert counts == {81: 2, 27: 11, 9: 3, 1: 10}


@given(
    st.lists(st.tuples(st.sampled_from([1.0, 3.0, 9.0]), st.floats(-9, 9)), max_size=60),
    st.integers(2, 40),
)
def test_what_is_kept_is_as_much_as_may_be_each_once_with_every_best(
    results: list[tuple[float, float]], most: int
) -> None:
    fidelities = [fidelity for fidelity, _ in results]
    losses = np.array([loss for _, loss in results])
    kept = bounded(fidelities, losses, most)
    assert kept == sorted(set(kept))
    assert len(kept) == min(most, len(results))
    if most >= 3:
        for fidelity in set(fidelities):
            best = min(loss for z, loss in results if z == fidelity)
            assert best in [losses[i] for i in kept if fidelities[i] == fidelity]
