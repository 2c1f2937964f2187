"""Lost attempts and retries of a stored study are part of its explanations."""

import random
from pathlib import Path

from amounts import slow
from oracles import why_oracle

import priorband as pb
from priorband.durable.messages import Assignment, Report
from priorband.explanations.why import LostAttempt
from priorband.study_analysis import study_data
from priorband.study_analysis.statuses import statuses
from priorband.study_analysis.why import explanation

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


def test_a_lost_attempt_is_told_and_the_trial_waits(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS, "hyperband") as study:
        first = study.turn(None, "a")
        assert isinstance(first, Assignment)
        study.turn(Report(0, 1, None, "preempted", "the machine\nwent away"), "")
        why = study.why(0)
        assert why.outcome == "waiting" == study.trials()[0].outcome
        lost = LostAttempt(1, "preempted", "the machine\nwent away", study.worker)
        assert why.lost == (lost,)
        assert str(why).startswith("Trial 0 waits for its next attempt: it is a uniform draw.")
        assert "\nattempt 1   lost, preempted: the machine went away" in str(why)
        data = study_data(study)
        assert statuses(data) == ("waiting",) and explanation(data, 0).outcome == "waiting"
        assert [one.kind for one in explanation(data, 0).lost] == ["preempted"]
        study.turn(None, "b")
        assert (study.why(0).outcome, study.why(0).lost) == ("running", (lost,))


def flaky(trial: pb.Attempt) -> float:
    """An objective that fails for some configurations."""
    if trial.config["x"] > 0.9:
        raise ValueError("too much")
    return random.Random(trial.config["x"]).random() + 1 / trial.fidelity


@slow
def test_why_is_what_the_records_of_eight_processes_say(tmp_path: Path) -> None:
    budget = pb.Budget(trials=60)
    pb.tune(flaky, SPACE, EPOCHS, budget=budget, study=tmp_path, workers=8, show="quiet")
    with pb.open_study(tmp_path, read_only=True) as study:
        replay = study.replay()
        assert replay.exact and len(replay) == 60
        for trial in study.state.history.trials:
            first = why_oracle.first_trial(study, trial)
            chances = replay[first.id].chances
            shares = None if chances is None else tuple(chances.probabilities)
            facts, wanted = study.why(trial.id).data, why_oracle.expected(study, trial.id, shares)
            probabilities = facts["source"]["probabilities"]
            facts["source"]["probabilities"] = probabilities and [*probabilities.values()]
            facts["source"] = {name: facts["source"][name] for name in wanted["source"]}
            assert {name: facts[name] for name in wanted} == wanted
