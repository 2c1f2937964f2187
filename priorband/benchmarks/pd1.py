"""PD1: large networks and their learning rates, through the published surrogates or stand-ins.

The loss is the validation error rate. `PD1` is what the paper's experiments ran on. `PD1StandIn`
takes its place where those files cannot be had: close to it, not equal.
"""

from pathlib import Path
from typing import final

import numpy as np

from priorband.benchmarks.base import Array, Configs, InBatches
from priorband.benchmarks.boosted import BoostedTrees
from priorband.benchmarks.folder import required
from priorband.benchmarks.onnx import Network
from priorband.benchmarks.pd1_tasks import FEATURES, pd1_task
from priorband.errors import SpaceError

SURROGATE = "pd1/surrogates/{}-valid_error_rate.json"
"""A published surrogate in the data folder: mf-prior-bench's own layout."""
STAND_IN = "pd1_distilled/{}.onnx"
"""A stand-in in the data folder."""
_ORIGIN = "PD1 (surrogates of the project mf-prior-bench, version vPaper-Arxiv)"


@final
class PD1(InBatches):
    """One task of PD1, through the surrogate that was published with mf-prior-bench.

    Its error rates are not clipped, as in the paper's experiments: some are a little above 1.

    Args:
        task: the name of the task, such as "cifar100".
        folder: the folder with the benchmarks' data; without it, the one in `PRIORBAND_DATA`.

    Raises:
        DataError: if the data is missing or not as expected.
        ExtraError: if xgboost is not installed.
    """

    def __init__(self, task: str, folder: Path | None = None) -> None:
        about = pd1_task(task)
        self.task = task
        self.label = about.paper
        self.space = about.space
        self.fidelity = about.fidelity
        path = required(folder, SURROGATE.format(about.surrogate), _ORIGIN)
        self._model = BoostedTrees(path, FEATURES)

    def __repr__(self) -> str:
        return f"PD1({self.task!r})"

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The validation error rates after `fidelity` epochs."""
        return self._model.predict(_rows(configs, fidelity))


@final
class PD1StandIn(InBatches):
    """A stand-in for one task of PD1: trees fitted to evaluations of the published surrogate.

    Use it to compare methods with each other; its losses are within about 0.015 of the paper's. It
    has only the epochs of the rungs of a ladder with eta 3.

    Args:
        task: the name of the task, such as "cifar100".
        folder: the folder with the benchmarks' data; without it, the one in `PRIORBAND_DATA`.

    Raises:
        DataError: if the data is missing or not as expected.
        ExtraError: if onnxruntime is not installed.
    """

    caveat = "stand-in for the published surrogate: comparable with the paper to about 0.015"
    """Shown with every result."""

    def __init__(self, task: str, folder: Path | None = None) -> None:
        about = pd1_task(task)
        self.task = task
        self.label = f"{about.paper} (stand-in)"
        self.space = about.space
        self.fidelity = about.fidelity
        self.rungs = about.rungs
        path = required(folder, STAND_IN.format(about.stand_in), "The stand-in for PD1")
        self._network = Network(path)

    def __repr__(self) -> str:
        return f"PD1StandIn({self.task!r})"

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The validation error rates after `fidelity` epochs."""
        if fidelity not in self.rungs:
            known = ", ".join(map(str, self.rungs))
            raise SpaceError(
                f"The stand-in for {self.task} knows epochs {known} only, got {fidelity!r}. "
                "These are the rungs with eta=3; other epochs need the published surrogate."
            )
        rows = _rows(configs, fidelity).astype(np.float32)
        return self._network.run(x=rows)[:, 0].astype(np.float64)


def _rows(configs: Configs, fidelity: float) -> Array:
    names = FEATURES[:-1]
    rows = [[*(config[name] for name in names), fidelity] for config in configs]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))
