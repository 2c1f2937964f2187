"""`why` agrees with a second computation for every trial of studies of every method."""

from typing import Any

import pytest
from amounts import MODELLED, slow, slow_unless_in

import priorband as pb
from oracles import why_oracle
from oracles.played_studies import played
from priorband.replay import Replay

EVERYDAY = (
    *("priorband", "hyperband", "sh", "asha+esp", "async-hyperband+guard", "guardband", "random"),
    "guardband+bo",
)


def check(study: pb.Study) -> list[str]:
    """Compare all explanations of a study; return the outcomes."""
    replay = study.replay()
    assert replay.exact
    found = list[str]()
    for trial in study.state.history.trials:
        why = study.why(trial.id)
        facts = why.data
        source = facts["source"]
        source["probabilities"] = source["probabilities"] and [*source["probabilities"].values()]
        wanted = why_oracle.expected(study, trial.id, _probabilities(study, replay, trial))
        for name, value in wanted.items():
            mine = facts[name]
            if name == "source":
                mine = {key: mine[key] for key in value}
            assert mine == value, (trial.id, name)
        assert str(why).startswith(f"Trial {trial.id} ") and str(why).count("\n") < 20
        assert max(map(len, str(why).splitlines())) < 300
        found.append(why.outcome)
    assert [record.outcome for record in study.trials()] == found
    return found


def _probabilities(study: pb.Study, replay: Replay, trial: pb.Trial) -> tuple[float, ...] | None:
    first = why_oracle.first_trial(study, trial)
    if first.origin == "imported":
        return None
    chances = replay[first.id].chances
    return None if chances is None else tuple(chances.probabilities)


CASES = [(method, workers) for method in pb.methods() for workers in (1, 8)]
FEW = [(method, workers) for method in EVERYDAY for workers in (1, 8)]


@pytest.mark.parametrize(("method", "workers"), slow_unless_in(FEW, CASES))
def test_why_is_what_the_events_say(method: str, workers: int) -> None:
    check(played(method, workers, trials=24 if method in MODELLED else 40, seed=0))


@slow
@pytest.mark.parametrize("workers", [1, 8])
@pytest.mark.parametrize("method", pb.methods())
def test_why_is_what_the_events_say_in_longer_studies(method: str, workers: int) -> None:
    check(played(method, workers, trials=45 if method in MODELLED else 150, seed=1))


def test_every_outcome_comes_up() -> None:
    methods = ("guardband", "hyperband", "asha+guard")
    found = {word for method in methods for word in check(played(method, 4, 60, seed=3))}
    everything = {"running", "failed", "retried", "imported", "promoted", "continued"}
    assert found == everything | {"stopped", "open", "finished"}


def test_the_oracle_finds_a_rank_that_was_shifted(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the comparison is known to compare."""
    study = played("hyperband", 8, 40, seed=0)
    real = why_oracle.place

    def shifted(*args: Any) -> Any:
        facts = real(*args)
        return facts and facts | {"of": facts["of"] + 1}

    monkeypatch.setattr(why_oracle, "place", shifted)
    with pytest.raises(AssertionError):
        check(study)
