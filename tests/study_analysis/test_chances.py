"""The chances over budget are exactly those of the decisions, as a replay repeats them."""

import math
from typing import Any

import numpy as np
import pytest
from amounts import MODELLED, slow_unless_in
from analysed_studies import EPOCHS, SPACE, busy, in_memory

import priorband as pb
from priorband.errors import ArgumentError
from priorband.samplers import Fixed, FromPrior, FromUniform, Mix
from priorband.schedulers import Hyperband
from priorband.study_analysis import chances_over_budget, study_data

EVERYDAY = ("priorband", "asha+esp", "guardband", "hyperband", "random+prior(50%)", "bohb")


@pytest.mark.parametrize("method", slow_unless_in(EVERYDAY, pb.methods()))
def test_they_are_what_a_replay_finds(method: str) -> None:
    study = busy(in_memory(method), 30 if method in MODELLED else 90)
    found, replay = chances_over_budget(study_data(study)), study.replay()
    assert replay.exact
    assert found.repeated == found.decisions == len(found.trial) == study.state.history.drawn
    for entry, number in enumerate(found.trial.tolist()):
        chances = replay[number].chances
        shown = dict(zip(found.sources, found.probability[:, entry].tolist(), strict=True))
        assert sum(shown.values()) == pytest.approx(1)
        if chances is None:  # one source alone
            assert max(shown.values()) == 1
        else:
            assert sorted(p for p in shown.values() if p) == sorted(
                p for p in chances.probabilities if p
            )
            scores: Any = getattr(chances, "scores", None)
            if scores is None:
                assert math.isnan(found.prior_score[entry]) and found.scored[entry] == 0
            else:
                assert found.prior_score[entry] == scores.prior
                assert found.incumbent_score[entry] == scores.incumbent
                assert (found.scored_rung[entry], found.scored[entry]) == (scores.rung, scores.top)
        origin = found.origin[entry]
        if (
            method not in ("grid", "bohb") and origin in shown
        ):  # a model without results draws uniformly
            assert shown[origin] > 0 or "model" in shown


def test_some_decisions_are_those_of_all_spread_evenly() -> None:
    study = busy(in_memory(), 120)
    data = study_data(study)
    every, some = chances_over_budget(data), chances_over_budget(data, most=10)
    assert (some.decisions, some.repeated) == (every.decisions, 10)
    assert (some.trial[0], some.trial[-1]) == (every.trial[0], every.trial[-1])
    at = np.searchsorted(every.trial, some.trial)
    assert some.sources == every.sources
    assert some.probability.tolist() == every.probability[:, at].tolist()
    assert some.spent.tolist() == every.spent[at].tolist()
    assert np.ptp(np.diff(at)) <= 1


def test_budget_is_what_was_spent_when_it_was_drawn() -> None:
    study = pb.Study(SPACE, EPOCHS, "priorband")
    mode = study.ask()
    study.tell(mode, 0.5)
    for loss in (0.4, 0.3):
        study.tell(study.ask(), loss)
    found = chances_over_budget(study_data(study))
    assert found.spent.tolist() == pytest.approx([0, 1, 1 + 1 / 27])
    assert found.sources == ("uniform", "prior", "incumbent", "mode")
    assert found.probability.T.tolist() == [[0, 0, 0, 1], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]]


def test_a_mixture_of_mixtures_is_asked_by_drawing_again() -> None:
    inner = Mix((FromUniform(), FromPrior()), Fixed((0.25, 0.75)))
    method = pb.Optimizer(Hyperband(), Mix((inner, FromUniform()), Fixed((0.5, 0.5))))
    study = pb.Study(SPACE, EPOCHS, method)
    for _ in range(12):
        study.tell(study.ask(), 0.5)
    found, replay = chances_over_budget(study_data(study)), study.replay()
    for entry, number in enumerate(found.trial.tolist()):
        chances = replay[number].chances
        assert chances is not None
        assert found.probability[:, entry].tolist() == list(chances.probabilities)


def test_without_draws_there_are_none() -> None:
    study = in_memory()
    found = chances_over_budget(study_data(study))
    assert (found.sources, found.probability.shape, found.decisions) == ((), (0, 0), 0)
    with pytest.raises(ArgumentError, match="most"):
        chances_over_budget(study_data(study), most=0)
