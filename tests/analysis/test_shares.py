"""The ensemble's probabilities over a run."""

import math

import numpy as np
import pytest

from priorband.analysis.shares import TrialShares, mean_shares, trial_shares
from priorband.benchmarks.hartmann import Hartmann
from priorband.benchmarks.priors import benchmark_prior
from priorband.errors import DataError
from priorband.fidelity import Fidelity
from priorband.space.parameters import Float
from priorband.space.space import Space
from priorband.study import Study
from priorband.workers.simulation import simulate

BENCH = Hartmann(3)


def run(quality: str, seed: int = 0, method: str = "priorband", budget: float = 13.5) -> Study:
    prior = benchmark_prior(BENCH, quality, seed)
    study = Study(BENCH.space, BENCH.fidelity, method, seed, prior)
    simulate(study, BENCH, budget=budget)
    return study


def test_each_draw_has_its_probabilities_and_promotions_have_none() -> None:
    """The draws of a first Hyperband iteration: 27 + 9 + 6 + 4, none of them the mode."""
    study = run("good")
    found = trial_shares(study)
    sampled = [t for t in study.state.history.trials if t.parent is None and t.slot is not None]
    assert [share.trial for share in found] == [trial.id for trial in sampled]
    first = [share for share in found if share.bracket < 4]
    assert [sum(share.rung == rung for share in first) for rung in range(4)] == [27, 9, 6, 4]


def test_probabilities_sum_to_one_and_chance_follows_the_rung() -> None:
    for share in trial_shares(run("good")):
        assert share.p_uniform + share.p_prior + share.p_incumbent == pytest.approx(1.0)
        assert share.p_uniform == 1 / (1 + 3**share.rung)


def test_the_incumbent_has_no_share_before_the_first_bracket_has_ended() -> None:
    """Bracket 0 costs 2.86 trainings, and the mode one before it."""
    found = trial_shares(run("good"))
    early = [share for share in found if share.spent < 2.86]
    assert all(share.p_incumbent == 0 for share in early)
    assert [share.p_prior for share in early] == [0.5] * 27
    assert all(share.p_incumbent > 0 for share in found if share.bracket == 1)


def test_spent_is_what_had_ended_when_the_draw_was_made() -> None:
    """One training for the mode, then 3 hundredths for each; bracket 1 begins after 3.86."""
    found = trial_shares(run("good"))
    expected = [1.0 + 0.03 * number for number in range(27)]
    np.testing.assert_allclose([share.spent for share in found[:27]], expected)
    assert found[27].spent == pytest.approx(3.86)


def test_running_trials_have_not_cost_anything() -> None:
    study = Study(Space({"x": Float(0, 1, prior=0.5)}), Fidelity("epochs", 1, 9), seed=0)
    mode = study.ask()
    study.ask()
    study.tell(mode, 0.5)
    study.ask()
    assert [share.spent for share in trial_shares(study)] == [0.0, 1.0]


def test_a_bad_prior_loses_its_share_and_a_good_one_keeps_more() -> None:
    """0.48 and 0.26 over 40 seeds, spreads of 0.10 and 0.07: 3 standard errors. Seeds are fixed."""
    last = {
        quality: np.mean(
            [[s.p_prior for s in trial_shares(run(quality, seed))][-10:] for seed in range(3)]
        )
        for quality in ("good", "bad")
    }
    assert last["bad"] < last["good"]


def test_methods_without_the_ensemble_have_no_shares() -> None:
    for method in ("hyperband", "hyperband+prior", "random"):
        assert trial_shares(run("good", method=method, budget=3)) == []


def test_queued_trials_have_no_shares() -> None:
    study = Study(Space({"x": Float(0, 1, prior=0.5)}), Fidelity("epochs", 1, 9), seed=0)
    study.queue({"x": 0.1})
    for _ in range(4):
        study.tell(study.ask(), 0.5)
    assert [share.trial for share in trial_shares(study)] == [2, 3]


def share(spent: float, p_uniform: float, p_prior: float) -> TrialShares:
    return TrialShares(0, spent, 0, 0, p_uniform, p_prior, 1 - p_uniform - p_prior)


def test_a_grid_holds_the_latest_draw_of_each_run_and_averages_runs() -> None:
    runs = [
        [share(1.0, 0.5, 0.5), share(2.0, 0.25, 0.5)],
        [share(1.5, 0.5, 0.25)],
    ]
    found = mean_shares(runs, np.array([0.5, 1.0, 1.5, 3.0]))
    assert list(found) == ["uniform", "prior", "incumbent"]
    np.testing.assert_allclose(found["uniform"].mean, [math.nan, 0.5, 0.5, 0.375])
    np.testing.assert_allclose(found["prior"].mean, [math.nan, 0.5, 0.375, 0.375])
    np.testing.assert_allclose(found["incumbent"].mean, [math.nan, 0.0, 0.125, 0.25])
    np.testing.assert_allclose(found["uniform"].sem, [math.nan, math.nan, 0.0, 0.125])


def test_of_draws_at_one_budget_the_latest_counts() -> None:
    found = mean_shares([[share(1.0, 0.5, 0.5), share(1.0, 0.1, 0.5)]], np.array([1.0]))
    assert found["uniform"].mean.tolist() == [0.1]


def test_a_run_without_draws_is_left_out() -> None:
    found = mean_shares([[share(1.0, 0.5, 0.5)], []], np.array([2.0]))
    assert found["prior"].mean.tolist() == [0.5]
    with pytest.raises(DataError, match="no shares to average"):
        mean_shares([], np.array([2.0]))
