"""Small studies for the tests of plots: conditional parameters, failures, either direction."""

from functools import cache

import numpy as np

import priorband as pb
from priorband.study_analysis.source import StudyData, study_data

HOSTILE = "$a^2$ <script>alert('1')</script> & _{x} \\frac{1} a name that does not end"
SPACE = pb.Space(
    {
        "lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
        "batch": pb.Integer(8, 512, log=True, prior=64),
        "depth": pb.Ordinal([2, 4, 8], prior=4),
        "optimizer": pb.Categorical({"sgd": {"momentum": pb.Float(0, 1)}, "$adam$": {}}),
        HOSTILE: pb.Float(0, 1),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 27)


def loss(config: pb.Config, fidelity: float) -> float:
    near = (np.log10(config["lr"]) + 2) ** 2 + 0.1 * (np.log2(config["batch"]) - 6) ** 2
    return float((0.1 + near) * (1 + 4 / fidelity))


def told(
    trials: int,
    method: str = "priorband",
    maximize: bool = False,
    fidelity: pb.Fidelity | None = EPOCHS,
    space: pb.Space = SPACE,
) -> pb.Study:
    """A study in which each ninth trial fails and one is running."""
    study = pb.Study(space, fidelity, method, seed=3, maximize=maximize)
    for _ in range(trials):
        trial = study.ask()
        value = loss(trial.config, trial.fidelity)
        if trial.id % 9 == 4:
            study.fail(trial, HOSTILE)
        else:
            study.tell(trial, -value if maximize else value)
    if trials:
        study.ask()
    return study


@cache
def data(trials: int, method: str = "priorband", maximize: bool = False) -> StudyData:
    """The data of such a study, which tests share."""
    return study_data(told(trials, method, maximize))


@cache
def one_rung() -> StudyData:
    """A study without a fidelity."""
    return study_data(told(30, "random", fidelity=None))
