"""Corners that were wrong once."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from priorband import (
    Beta,
    Categorical,
    Config,
    Draw,
    Fidelity,
    Float,
    FromUniform,
    Hartmann,
    Hyperband,
    Ladder,
    LossError,
    MethodError,
    Mixture,
    Optimizer,
    Shares,
    SingleRungWarning,
    Space,
    SpaceError,
    State,
    Study,
    TrialError,
    optimizer,
    prior,
    simulate,
)
from priorband.brackets import ready_brackets
from priorband.streams import Generator

UNIT = Space({"x": Float(0, 1, prior=0.3)})


def test_the_incumbent_becomes_active_in_a_space_of_three_configurations() -> None:
    space = Space({"c": Categorical(["a", "b", "c"], prior="a")})
    study = Study(space, Fidelity("epochs", 1, 81), seed=1)
    for _ in range(130):
        trial = study.ask()
        study.tell(trial, "cba".index(trial.config["c"]) + 1 / trial.fidelity)
    chances = study.replay()[129].chances
    assert isinstance(chances, Shares) and chances.p_incumbent > 0


@pytest.mark.parametrize("method", ["hyperband", "asha", "priorband"])
@pytest.mark.parametrize("workers", [2, 4, 7])
def test_simulated_workers_do_the_same_on_a_scaled_ladder(method: str, workers: int) -> None:
    def loss(config: Mapping[str, Any], fidelity: float) -> float:
        del fidelity
        return abs(float(config["x"]) - 0.6)

    plans = []
    for fidelity in (Fidelity("epochs", 1.0, 81.0), Fidelity("share", 0.1, 8.1)):
        runs = simulate(Study(UNIT, fidelity, method, seed=2), loss, workers, budget=12)
        plans.append([(run.outcome.trial.slot, run.outcome.trial.parent) for run in runs])
        units = {round(run.cost / fidelity.low, 6) for run in runs}
        assert len(units) == len({run.cost for run in runs})  # equal costs are equal to the bit
    assert plans[0] == plans[1]


def test_a_tiny_fidelity_is_simulated_as_any_other() -> None:
    study = Study(UNIT, Fidelity("share", 1e-13, 1e-11), "hyperband")
    assert len(simulate(study, lambda config, fidelity: 0.5, budget=3)) > 30


def test_a_bracket_that_waits_for_a_lost_trial_is_not_looked_at_again() -> None:
    study = Study(UNIT, Fidelity("epochs", 1, 9), "hyperband")
    lost = set()
    for _ in range(600):
        trial = study.ask()
        assert trial.slot is not None
        if trial.slot.bracket in lost or trial.parent is not None:
            study.tell(trial, 0.5)
        else:
            lost.add(trial.slot.bracket)
    assert len(lost) > 90
    assert len(ready_brackets(study.state)) <= 1
    first = study.state.history.running[0]
    study.tell(first, 0.1)
    [(bracket, *_), *_] = ready_brackets(study.state)
    assert bracket == 0  # the loser came back


@pytest.mark.parametrize("dimensions", [7, 9, 14, 40])
def test_a_density_rounds_alike_alone_and_in_a_batch(dimensions: int) -> None:
    space = Space({f"x{i}": Float(0, 1, prior=0.3) for i in range(dimensions)})
    rows = space.uniform(200, np.random.default_rng(0))
    alone = [float(space.prior.logpdf(rows[i : i + 1])[0]) for i in range(200)]
    assert space.prior.logpdf(rows).tolist() == alone


def test_an_import_next_to_a_rung_is_on_it() -> None:
    study = Study(UNIT, Fidelity("share", 0.1, 1.0), "hyperband")
    for loss in (0.1, 0.2, 0.3):
        study.add({"x": loss}, loss, fidelity=0.3333333333)
    assert study.state.scored_rung() == 1


def test_a_ladder_up_to_the_largest_float_ends() -> None:
    assert Ladder(Fidelity("e", 1.0, 1.7976931348623157e308)).top == 646
    assert Ladder(Fidelity("e", 1, 10**308)).top == 645


def test_a_study_warns_of_a_single_rung_at_its_own_eta_and_not_otherwise() -> None:
    space = Space({"x": Float(0, 1)})
    narrow = Fidelity("epochs", 1, 3)
    Study(space, narrow, "hyperband")
    Study(space, narrow, optimizer("hyperband", eta=2))
    Study(space, narrow, optimizer("random", eta=4))
    with pytest.warns(SingleRungWarning, match="from 1 to 3 has a single rung with eta=4"):
        Study(space, narrow, optimizer("hyperband", eta=4))
    with pytest.warns(SingleRungWarning, match="No fidelity was given"):
        Study(space, method="hyperband")
    Study(space, method="random")


def test_equal_trials_have_equal_hashes() -> None:
    trials = [Study(UNIT, Fidelity("epochs", 1, 9), seed=3).ask() for _ in range(2)]
    assert trials[0] == trials[1] and len(set(trials)) == 1
    assert hash(Config(a=1, b=2)) == hash(Config(b=2, a=1))


def test_a_whole_priors_confidence_is_a_word() -> None:
    with pytest.raises(SpaceError, match="must be a word, got 4: a number means a width here"):
        prior(UNIT, {"x": 0.3}, confidence=4)


def test_the_one_value_that_a_mixture_names_need_not_be_its_mode() -> None:
    stated = Mixture([0.2, Beta(60, 3)], weights=[1, 9])
    mode = Space({"x": Float(0, 1, prior=stated)}).prior.mode
    assert mode["x"] == pytest.approx(59 / 61)


def test_an_imported_trial_has_no_decision_to_replay() -> None:
    study = Study(UNIT, Fidelity("epochs", 1, 9))
    study.add({"x": 0.5}, 0.1)
    with pytest.raises(TrialError, match="Trial 0 was not decided here"):
        study.replay()[0]


class Pretender:
    """A sampler that calls its draws queued."""

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        return Draw(FromUniform().sample(state, rung, rng).config, "queued")


def test_what_people_give_is_not_a_samplers_to_claim() -> None:
    study = Study(UNIT, Fidelity("epochs", 1, 9), Optimizer(Hyperband(), Pretender()))
    with pytest.raises(MethodError, match="'queued' is kept for what people give"):
        study.ask()
    assert len(study.state.history) == 0


def test_a_decimal_that_signals_is_no_loss() -> None:
    study = Study(UNIT, Fidelity("epochs", 1, 9))
    with pytest.raises(LossError, match="must be one real number"):
        study.tell(study.ask(), Decimal("sNaN"))


def test_a_seed_beyond_64_bits_is_refused_by_hartmann() -> None:
    with pytest.raises(SpaceError, match="`seed` must be a whole number of 64 bits"):
        Hartmann(3, seed=2**63)
