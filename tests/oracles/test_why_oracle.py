"""`why` agrees with a second computation for every trial of studies of every method."""

import random
from typing import Any

import pytest
from amounts import MODELLED, slow, slow_unless_in

import priorband as pb
from oracles import why_oracle
from priorband.replay import Replay

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.35), "c": pb.Categorical(["a", "b"], prior="b")})
EPOCHS = pb.Fidelity("epochs", 1, 9)
EVERYDAY = (
    *("priorband", "hyperband", "sh", "asha+esp", "async-hyperband+guard", "guardband", "random"),
    "guardband+bo",
)


def played(method: str, workers: int, trials: int, seed: int, retries: bool = True) -> pb.Study:
    """A study with failures, retries, queued and imported trials, told in random order."""
    study = pb.Study(SPACE, EPOCHS, method, seed=seed)
    chance, running = random.Random(f"{method} {workers} {seed}"), list[pb.Trial]()
    while len(study.state.history) < trials:
        _interfere(study, chance, retries)
        try:
            running.append(study.ask())
        except pb.ExhaustedError:
            break
        while len(running) >= workers:
            _end(study, running.pop(chance.randrange(len(running))), chance)
    return study


def _interfere(study: pb.Study, chance: random.Random, retries: bool) -> None:
    """What people do now and then."""
    history = study.state.history
    failed = [o.trial.id for o in history.observations if o.failed]
    again = [n for n in failed if not history.retried(n)]
    drawn = chance.random()
    config = {"x": chance.random(), "c": "a"}
    if again and drawn < 0.2 * retries:
        study.retry([chance.choice(again)])
    elif 0.2 < drawn < 0.23:
        study.queue(config, chance.choice([None, 2, 9]))
    elif 0.23 < drawn < 0.25:
        study.add(config, 0.2 + chance.random(), chance.choice([1, 9]))


def _end(study: pb.Study, trial: pb.Trial, chance: random.Random) -> None:
    if chance.random() < 0.1:
        study.fail(trial, f"no {trial.id}", chance.choice(["raised", "memory"]))
    else:
        apart = abs(trial.config["x"] - 0.3) + 0.2 * (trial.config["c"] == "a")
        # Few digits, so that there are ties.
        study.tell(trial, round(apart + chance.random() / 4 + 1 / trial.fidelity, 1))


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
