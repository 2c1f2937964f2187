"""An early surrogate of networks on CIFAR-10, to try methods on a space with categories.

It is not JAHS-Bench-201. It has the same space, but its losses match neither the released
surrogates nor the paper, so its results say nothing about the paper's.
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
"""The path of the model in the data folder."""
_ACTIVATIONS = {"Hardswish": 0, "Mish": 1, "ReLU": 2}
_OPERATIONS = tuple((name, 3 + 5 * i) for i, name in enumerate(OPERATIONS))
_OPTIMIZER, _AUGMENT, _NUMBERS, _WIDTH = 33, 34, 35, 41


@final
class JAHSPrototype(InBatches):
    """The early surrogate: a mixed space of ten parameters; the loss is the error in percent."""

    caveat = "early prototype, not JAHS-Bench-201"
    """A warning to show with every result."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self.label = f"mixed-cifar10 ({self.caveat})"
        self.space = jahs_space()
        self.fidelity = jahs_fidelity()
        self._network = Network(required(folder, MODEL, f"mixed-cifar10 ({self.caveat})"))

    def __repr__(self) -> str:
        return f"<{self.label}>"

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The validation errors in percent after `fidelity` epochs."""
        rows = np.zeros((len(configs), _WIDTH), dtype=np.float32)
        for row, config in zip(rows, configs, strict=True):
            _fill_row(row, config, fidelity)
        return self._network.run(x=rows)[:, 0].astype(np.float64)


def _fill_row(row: NDArray[np.float32], config: Mapping[str, Any], fidelity: float) -> None:
    """Write a configuration as the model's input: one-hot choices, then numbers."""
    row[_ACTIVATIONS[config["Activation"]]] = 1.0
    for name, first in _OPERATIONS:
        row[first + config[name]] = 1.0
    row[_OPTIMIZER] = 1.0
    row[_AUGMENT] = config["TrivialAugment"]
    numbers = (config["LearningRate"], CONSTANTS["N"], CONSTANTS["Resolution"], CONSTANTS["W"])
    row[_NUMBERS:] = (*numbers, config["WeightDecay"], fidelity)
