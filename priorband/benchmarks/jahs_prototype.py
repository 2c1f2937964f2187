"""An early model of networks on CIFAR-10, to exercise a space with categories on real data.

It is no JAHS-Bench-201: it shares the space, but its values agree neither with the released
surrogates nor with the paper. Nothing about the paper may be claimed from it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.benchmarks.base import Array, Configs, InBatches
from priorband.benchmarks.folder import required
from priorband.benchmarks.jahs_space import CONSTANTS, OPERATIONS, jahs_fidelity, jahs_space
from priorband.benchmarks.onnx import Network

MODEL = "jahs_c10_prototype/model.onnx"
"""The model in the data folder."""
_ACTIVATIONS = {"Hardswish": 0, "Mish": 1, "ReLU": 2}
_OPERATIONS = tuple((name, 3 + 5 * i) for i, name in enumerate(OPERATIONS))
_OPTIMIZER, _AUGMENT, _NUMBERS, _WIDTH = 33, 34, 35, 41


@final
class JAHSPrototype(InBatches):
    """The early model: a mixed space of ten parameters, and an error in percent."""

    caveat = "early prototype, not JAHS-Bench-201"
    """To be said wherever a result is shown."""

    def __init__(self, folder: Path | None = None) -> None:
        self.label = f"mixed-cifar10 ({self.caveat})"
        self.space = jahs_space()
        self.fidelity = jahs_fidelity()
        self._network = Network(required(folder, MODEL, f"mixed-cifar10 ({self.caveat})"))

    def __repr__(self) -> str:
        return f"<{self.label}>"

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The validation errors in percent after so many epochs."""
        rows = np.zeros((len(configs), _WIDTH), dtype=np.float32)
        for row, config in zip(rows, configs, strict=True):
            _fill(row, config, fidelity)
        return self._network.run(x=rows)[:, 0].astype(np.float64)


def _fill(row: NDArray[np.float32], config: Mapping[str, Any], fidelity: float) -> None:
    """One-hot choices, then numbers, in the model's order."""
    row[_ACTIVATIONS[config["Activation"]]] = 1.0
    for name, first in _OPERATIONS:
        row[first + config[name]] = 1.0
    row[_OPTIMIZER] = 1.0
    row[_AUGMENT] = config["TrivialAugment"]
    numbers = (config["LearningRate"], CONSTANTS["N"], CONSTANTS["Resolution"], CONSTANTS["W"])
    row[_NUMBERS:] = (*numbers, config["WeightDecay"], fidelity)
