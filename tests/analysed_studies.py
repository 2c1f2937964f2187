"""Studies for the tests of their analysis: with failures, several workers, imports and retries."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress

import priorband as pb
from priorband.errors import ExhaustedError
from priorband.study import BaseStudy

SPACE = pb.Space(
    {
        "lr": pb.Float(1e-4, 1e-1, log=True, prior=1e-2),
        "drop": pb.Float(0, 0.9, step=0.1),
        "units": pb.Integer(4, 256, log=True, prior=64),
        "layers": pb.Integer(1, 6),
        "kind": pb.Categorical(["a", "b", "c"], prior="b"),
        "size": pb.Ordinal(["s", "m", "l"]),
        "momentum": pb.Float(0, 1, when={"kind": ["a", "b"]}),
        "version": pb.Constant(2),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 27)


def loss_of(trial: pb.Trial) -> float:
    """A loss that depends on two parameters and the fidelity, and has ties."""
    config = trial.config
    distance = abs(math.log10(config["lr"]) + 2.5) + 0.3 * (config["kind"] != "a")
    return float(round(distance, 1) + 1 / trial.fidelity)


def work(study: BaseStudy, trials: int, workers: int = 3) -> Iterator[pb.Trial]:
    """Let workers run trials by turns, the last asked first now and then; each seventh fails."""
    held: list[pb.Trial] = []
    for step in range(trials + workers):
        if step < trials:
            with suppress(ExhaustedError):
                held.append(study.ask())
                yield held[-1]
        if len(held) >= workers or (step >= trials and held):
            trial = held.pop(-1 if step % 5 == 0 else 0)
            if trial.id % 7 == 3:
                study.fail(trial, "out of luck")
            elif trial.id % 11 == 5:
                study.tell(trial, math.nan)
            else:
                sign = -1 if study.maximize else 1
                study.tell(trial, sign * loss_of(trial), cost=trial.fidelity / 2)


def busy(
    study: BaseStudy, trials: int = 60, meanwhile: Callable[[], object] = lambda: None
) -> BaseStudy:
    """A study in which all kinds of things happen: two trials are left running."""
    config = {"lr": 0.003, "drop": 0.3, "units": 32, "layers": 2, "kind": "c", "size": "m"}
    study.add(config | {"version": 2}, 0.9, 3)
    for number, trial in enumerate(work(study, trials)):
        if number == trials // 4:
            study.queue(config | {"kind": "a", "momentum": 0.5, "version": 2})
            study.queue(config | {"kind": "b", "momentum": 0.1, "version": 2}, 9)
        if number == trials // 3:
            study.add(config | {"units": 8, "version": 2}, 0.2)
            failed = study.state.history.latest_failures(1)
            study.retry([ended.trial.id for ended in failed if ended.trial.origin != "imported"])
        del trial
        meanwhile()
    study.ask()
    study.ask()
    return study


def in_memory(method: str = "priorband", seed: int = 0, maximize: bool = False) -> pb.Study:
    """An empty study of the usual space."""
    return pb.Study(SPACE, EPOCHS, method, seed=seed, maximize=maximize)
