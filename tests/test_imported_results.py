"""Results from elsewhere: they inform every decision, cost nothing and are never continued."""

import math

import pytest
from amounts import MODELLED, slow
from numpy.random import default_rng

from priorband import Fidelity, Float, Integer, Space, Study, methods
from priorband.errors import TrialError
from priorband.samplers import Shares
from priorband.testing import noise

SPACE = Space({"x": Float(0.0, 1.0, prior=0.4), "n": Integer(1, 100)})
KNOWN = {"x": 0.123, "n": 7}


def study(method: str = "priorband") -> Study:
    return Study(SPACE, Fidelity("epochs", 1, 27), method)


def work(tuned: Study, trials: int) -> None:
    for _ in range(trials):
        trial = tuned.ask()
        tuned.tell(trial, noise(trial.config, trial.fidelity))


def test_an_imported_result_can_lead_on_any_fidelity_and_costs_nothing() -> None:
    for fidelity in (27, 9, 5):
        tuned = study()
        work(tuned, 30)
        spent = tuned.state.history.spent
        outcome = tuned.add(KNOWN, -3.0, fidelity)
        assert outcome.trial.origin == "imported" and outcome.trial.slot is None
        assert outcome.fidelity == fidelity
        assert tuned.best == outcome and tuned.state.incumbent == outcome
        assert tuned.state.history.spent == spent
        work(tuned, 30)
        assert tuned.replay().exact


def test_an_imported_result_counts_on_its_rung_and_nowhere_else() -> None:
    tuned = study()
    for n, fidelity in enumerate([9, 9, 9, 5, 5, 5, 5], 1):
        tuned.add({"x": 0.5, "n": n}, 1.0, fidelity)
    assert [tuned.state.success_count(rung) for rung in range(4)] == [0, 0, 3, 0]
    assert tuned.state.scored_rung() == 2


def test_imported_results_activate_the_incumbent() -> None:
    tuned = study("priorband(no-mode)")
    for results in range(1, 6):
        tuned.add({"x": 0.9, "n": results}, float(results))
        chances = tuned.optimizer.decide(tuned.state, 0).chances
        assert isinstance(chances, Shares)
        active = results >= 3  # three full trainings are the price of the first bracket
        assert (chances.p_incumbent > 0) == (chances.scores is not None) == active


def test_imported_results_below_the_top_activate_nothing() -> None:
    tuned = study("priorband(no-mode)")
    for n in range(1, 31):
        tuned.add({"x": 0.9, "n": n}, float(n), fidelity=9)
    chances = tuned.optimizer.decide(tuned.state, 0).chances
    assert isinstance(chances, Shares) and chances.p_incumbent == 0


def test_imported_results_are_scored_with_our_own() -> None:
    tuned = study()
    work(tuned, 70)
    scores = []
    for _ in range(2):
        chances = tuned.optimizer.sampler.sample(tuned.state, 1, default_rng(0)).chances
        assert isinstance(chances, Shares) and chances.scores is not None
        scores.append(chances.scores)
        tuned.add(KNOWN, -9.0)
    assert scores[0].rung == scores[1].rung == 3
    assert scores[0] != scores[1]


PLANNED = [name for name in methods() if "random" not in name]


@pytest.mark.parametrize(
    ("method", "steps"),
    [
        *((method, 12 if method in MODELLED else 60) for method in PLANNED),
        *(pytest.param(method, 60, marks=slow) for method in MODELLED),
    ],
)
def test_imported_results_are_never_promoted_and_leave_the_plan_alone(
    method: str, steps: int
) -> None:
    plans = []
    for imports in (0, 8):
        tuned = study(method)
        for n in range(imports):
            tuned.add({"x": 0.5, "n": n + 1}, -9.0, fidelity=(1, 3, 9, 5)[n % 4])
        trials = []
        for step in range(steps):
            trials.append(tuned.ask())
            tuned.tell(trials[-1], (step * 37 + 11) % 101)
        assert all(t.parent is None or t.parent >= imports for t in trials)
        plans.append([(t.slot, t.fidelity, t.parent is None) for t in trials])
    drawn = "async" in method or "mobster" in method  # their brackets are drawn by trial number
    guarded = "guard" in method  # their mode is continued only if nothing ranks before it
    assert drawn or guarded or plans[0] == plans[1]


@pytest.mark.parametrize("curve", [[1, 3, 9, 27], [27, 9, 3, 1], [9, 27, 5, 2], [27, 27, 27]])
def test_a_learning_curve_counts_once(curve: list[int]) -> None:
    tuned = study()
    for fidelity in curve:
        tuned.add(KNOWN, 1 / fidelity, fidelity)
    history = tuned.state.history
    assert (history.resources, history.spent) == (27, 0)
    assert tuned.state.incumbent is not None and tuned.state.incumbent.fidelity == 27


@pytest.mark.parametrize("imported_first", [True, False])
def test_a_configuration_is_one_whether_it_was_imported_before_or_after(
    imported_first: bool,
) -> None:
    tuned = study("hyperband")
    tuned.queue(KNOWN)
    if imported_first:
        tuned.add(KNOWN, 0.9)
    tuned.tell(tuned.ask(), 0.1)
    if not imported_first:
        tuned.add(KNOWN, 0.9)
    assert tuned.state.incumbent is not None
    assert (tuned.state.incumbent.fidelity, tuned.state.incumbent.loss) == (27, 0.9)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_an_imported_failure_leads_nowhere(loss: float) -> None:
    tuned = study()
    assert tuned.add(KNOWN, loss).failed
    assert tuned.best is None and tuned.state.incumbent is None
    work(tuned, 20)
    assert tuned.replay().exact


UNIT = Space({"x": Float(0, 1, prior=0.3)})


def test_an_import_next_to_a_rung_is_on_it() -> None:
    study = Study(UNIT, Fidelity("share", 0.1, 1.0), "hyperband")
    for loss in (0.1, 0.2, 0.3):
        study.add({"x": loss}, loss, fidelity=0.3333333333)
    assert study.state.scored_rung() == 1


def test_an_imported_trial_has_no_decision_to_replay() -> None:
    study = Study(UNIT, Fidelity("epochs", 1, 9))
    study.add({"x": 0.5}, 0.1)
    with pytest.raises(TrialError, match="did not decide on trial 0"):
        study.replay()[0]
