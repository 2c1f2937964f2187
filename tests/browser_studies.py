"""The studies that the browser tests look at, and an objective to run while they look."""

import math
import sys
import time
from pathlib import Path
from typing import Any

import priorband as pb

SPACE = pb.Space(
    {
        "lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
        "momentum": pb.Float(0, 0.99, prior=0.9),
        "width": pb.Integer(16, 512, log=True, prior=128),
        "optimizer": pb.Categorical(["sgd", "adam", "lion"], prior="adam"),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 27)

MARKUP = "<script>window.hacked = 1</script><img src=x onerror=window.hacked=2>\"'&amp;"
RIGHT_TO_LEFT = "\u202egnp.exe\u202c"
HOSTILE = f"{MARKUP}\n{RIGHT_TO_LEFT}\n" + "long " * 2000
"""Markup, quotes, line breaks, right-to-left marks, and 10,000 characters."""
HOSTILE_NAME = "<b onclick=window.hacked=3>\"name' ${window.hacked=4}"


def loss(config: Any, fidelity: float) -> float:
    """A loss with its optimum at a higher learning rate than the prior's."""
    away = (math.log10(config["lr"]) + 2.4) ** 2 * 0.08 + (config["momentum"] - 0.9) ** 2
    return float(0.08 + away + 0.5 * math.exp(-fidelity / 9))


def train(trial: Any) -> float:
    """Train one trial, with a report and a line in the log for each epoch."""
    for epoch in range(1, int(trial.fidelity) + 1):
        print(f"epoch {epoch} of {trial.fidelity}")
        trial.report(epoch, loss(trial.config, epoch))
    time.sleep(0.05)
    return loss(trial.config, trial.fidelity)


def tell(study: pb.DurableStudy, trials: int) -> None:
    """Ask for trials and tell them; each ninth fails."""
    for _ in range(trials):
        trial = study.ask()
        if trial.id % 9 == 4:
            study.fail(trial, "CUDA out of memory: tried to allocate 2.1 GiB", "memory")
        else:
            study.tell(trial, loss(trial.config, trial.fidelity))


def write_studies(folder: Path) -> None:
    """Write a usual study, one that was trained, an empty one, and a hostile one."""
    with pb.open_study(folder / "resnet", SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trainings=40))
        tell(study, 90)
        study.note("The data of May, without augmentation.")
        study.note("Looks too good to be true.", trial=7)
        study.ask(hold=3600)
    with pb.open_study(folder / "empty", SPACE, EPOCHS):
        pass
    write_trained(folder / "trained", 2)
    write_hostile(folder / f"hostile {MARKUP.replace('/', '')}")


def write_trained(folder: Path, budget: float) -> None:
    """Write a study of trainings that report their curves."""
    pb.tune(train, SPACE, EPOCHS, study=folder, budget=budget, workers=1, show="quiet")


def write_hostile(folder: Path) -> None:
    """Write a study in which every text is hostile."""
    space = pb.Space(
        {
            HOSTILE_NAME: pb.Float(0, 1),
            "kind": pb.Categorical([MARKUP, RIGHT_TO_LEFT, "plain"]),
        }
    )
    with pb.open_study(folder, space, pb.Fidelity("<i>epochs</i>", 1, 9), "random") as study:
        for number in range(12):
            trial = study.ask()
            if number % 3 == 0:
                study.fail(trial, HOSTILE)
            else:
                study.tell(trial, number, cost=None, **{MARKUP: MARKUP})
        study.note(HOSTILE)
        study.note(HOSTILE, trial=0)


if __name__ == "__main__":
    write_trained(Path(sys.argv[1]), float(sys.argv[2]))
