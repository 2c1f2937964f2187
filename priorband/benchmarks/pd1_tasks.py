"""The four tasks of PD1 in the paper's evaluation: their spaces and their epochs.

The bounds and epochs are those of the paper's experiments (mf-prior-bench). The data are from Wang
and others (2021): three parameters of a polynomial learning rate decay, and the momentum.
"""

from typing import final

from priorband.errors import SpaceError, suggestion
from priorband.fidelity import Fidelity
from priorband.space.parameters import Float
from priorband.space.space import Space
from priorband.values import frozen

Bounds = tuple[float, float]
FEATURES = ("lr_decay_factor", "lr_initial", "lr_power", "opt_momentum", "epoch")
"""The inputs of the surrogates of PD1, in this order."""


@final
@frozen
class PD1Task:
    """One task of PD1: a network on a dataset.

    `paper` is its name in the paper's tables; `surrogate` and `stand_in` are the names in the files
    of the published surrogate and of the stand-in. `rungs` are the epochs of a ladder with eta 3.
    """

    paper: str
    surrogate: str
    stand_in: str
    bounds: tuple[Bounds, Bounds, Bounds, Bounds]
    epochs: tuple[int, int]
    rungs: tuple[int, ...]

    @property
    def space(self) -> Space:
        """The learning rate schedule and the momentum; two of the four are on a log scale."""
        logs = (False, True, False, True)
        parameters = zip(FEATURES, self.bounds, logs, strict=False)
        return Space({name: Float(low, high, log=log) for name, (low, high), log in parameters})

    @property
    def fidelity(self) -> Fidelity:
        """The epochs."""
        return Fidelity(FEATURES[-1], *self.epochs)


TASKS = {
    "cifar100": PD1Task(
        paper="PD1-Cifar100",
        surrogate="cifar100-wide_resnet-2048",
        stand_in="cifar100_wideresnet_2048",
        bounds=((0.010093, 0.989012), (1e-5, 9.779176), (0.100708, 1.999376), (5.9e-5, 0.998993)),
        epochs=(45, 199),
        rungs=(66, 199),
    ),
    "imagenet": PD1Task(
        paper="PD1-ImageNet",
        surrogate="imagenet-resnet-512",
        stand_in="imagenet_resnet_512",
        bounds=((0.010294, 0.989753), (1e-5, 9.774312), (0.100225, 1.999326), (5.9e-5, 0.998993)),
        epochs=(3, 99),
        rungs=(3, 11, 33, 99),
    ),
    "lm1b": PD1Task(
        paper="PD1-LM1B",
        surrogate="lm1b-transformer-2048",
        stand_in="lm1b_transformer_2048",
        bounds=((0.010543, 0.9885653), (1e-5, 9.986256), (0.100811, 1.999659), (5.9e-5, 0.9989986)),
        epochs=(1, 74),
        rungs=(2, 8, 24, 74),
    ),
    "wmt": PD1Task(
        paper="PD1-WMT",
        surrogate="translate_wmt-xformer_translate-64",
        stand_in="translatewmt_xformer_64",
        bounds=(
            *((0.0100221257, 0.988565263), (1.00276e-5, 9.8422475735)),
            *((0.1004250993, 1.9985927056), (5.86114e-5, 0.9989999746)),
        ),
        epochs=(1, 19),
        rungs=(2, 6, 19),
    ),
}
"""The tasks by the names that our commands take."""


def pd1_task(name: str) -> PD1Task:
    """The task called `name`."""
    if name not in TASKS:
        raise SpaceError(f"Unknown PD1 task {name!r}. {suggestion(name, TASKS)}")
    return TASKS[name]
