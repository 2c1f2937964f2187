"""Studies of any method, as several workers and people could have made them."""

import random

import priorband as pb

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.35), "c": pb.Categorical(["a", "b"], prior="b")})
EPOCHS = pb.Fidelity("epochs", 1, 9)


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
