"""TaskSet: learning curves of recurrent networks on text, 1000 settings of Adam on each of 5 tasks.

Metz and others (2020) trained the networks; Wistuba, Kadra and Grabocka (2022) published the tables
of these five tasks. The loss is the validation loss. Guessing has a loss of 0.693, and most
settings do not get below it.
"""

from pathlib import Path
from typing import final

import numpy as np

from priorband.benchmarks.base import Array, Configs, InBatches
from priorband.benchmarks.folder import required
from priorband.benchmarks.run_table import ROUNDING, check_in_range
from priorband.benchmarks.tabular import nearest_points
from priorband.errors import DataError, SpaceError, suggestion
from priorband.fidelity import Fidelity
from priorband.space.config import Config
from priorband.space.parameters import Float
from priorband.space.space import Space

TASKS = (
    "imdb_patch32_GRU128_bs128",
    "imdb_patch32_LSTM128_bs128",
    "imdb_patch32_VRNN64_tanh_avg_bs128",
    "imdb_patch32_IRNN64_relu_avg_bs128",
    "imdb_patch128_LSTM128_bs64",
)
"""The tasks: patch size of the IMDB reviews, kind of cell, number of units and batch size."""
POINTS = 51
"""The number of points of a curve, equally spaced."""
HIGHEST = 10.0
"""Losses above this count as failures. No network starts above 2.8; above 10, losses range up to
1e17, and of the 213 runs that were ever above 10 only one ends below 0.69."""
FILE = "taskset/FixedTextRNNClassification_{}.npz"
"""The path of a task's table in the data folder."""
_BOUNDS = {
    "learning_rate": (1e-8, 10.0),
    "beta1": (1e-4, 1.0),
    "beta2": (1e-6, 1.0),
    "epsilon": (1e-10, 1e3),
    "l1": (1e-8, 10.0),
    "l2": (1e-8, 10.0),
    "linear_decay": (1e-7, 1e-4),
    "exponential_decay": (1e-6, 1e-3),
}
"""The bounds of the parameters; for the betas, those of 1 - beta."""
_COMPLEMENTS = {"beta1": "one_minus_beta1", "beta2": "one_minus_beta2"}


@final
class TaskSet(InBatches):
    """One task of TaskSet, from 1 to 51 points of the learning curves.

    All parameters are on a log scale. Instead of the betas of Adam, the space has
    `one_minus_beta1` and `one_minus_beta2`: `one_minus_beta1` is 0.1 for the usual beta1 of 0.9. A
    configuration has the curve of the nearest of the 1000 trained ones, in the scaled unit cube. A
    loss that is nan or above 10 counts as a failed training and is nan.

    Args:
        task: The name of the task, such as "imdb_patch32_GRU128_bs128".
        folder: The data folder, which holds `taskset/*.npz`.

    Raises:
        SpaceError: If there is no such task.
        DataError: If the file of the task is missing or damaged.

    Example:
        >>> bench = TaskSet("imdb_patch32_GRU128_bs128", "path/to/data")  # doctest: +SKIP
    """

    def __init__(self, task: str, folder: str | Path | None = None) -> None:
        if task not in TASKS:
            raise SpaceError(f"Unknown TaskSet task {task!r}. {suggestion(task, TASKS)}")
        self.task = task
        self.space = Space(
            {
                _COMPLEMENTS.get(name, name): Float(*bounds, log=True)
                for name, bounds in _BOUNDS.items()
            }
        )
        self.fidelity = Fidelity("points", 1, POINTS)
        values, curves = _read_curves(required(folder, FILE.format(task), "TaskSet"))
        self._configs = [Config(zip(self.space.names, row, strict=True)) for row in values.tolist()]
        self._points = self.space.encode(self._configs)
        self._losses = np.where(curves <= HIGHEST, curves, np.nan)

    def __repr__(self) -> str:
        return f"TaskSet({self.task!r})"

    @property
    def optimum(self) -> tuple[Config, float]:
        """The trained configuration with the lowest loss at the end of its curve."""
        best = int(np.nanargmin(self._losses[:, -1]))
        return self._configs[best], float(self._losses[best, -1])

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The validation losses at the point `fidelity`; nan where the training failed."""
        check_in_range(self.fidelity, fidelity)
        rows = nearest_points(self.space.encode(configs), self._points, self.space.sizes)
        losses: Array = self._losses[rows, int(fidelity * (1 + ROUNDING)) - 1]
        return losses


def _read_curves(path: Path) -> tuple[Array, Array]:
    """The parameter values and the validation curves in a file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            names = [str(name) for name in file["hp_names"]]
            values, curves = np.array(file["hp"], np.float64), np.array(file["valid"], np.float64)
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise DataError(f"The file {path} is not a table of TaskSet: {error}.") from None
    fits = values.shape == (len(curves), len(_BOUNDS)) and curves.shape == (len(values), POINTS)
    if names != list(_BOUNDS) or not fits:
        raise DataError(
            f"The file {path} should have {POINTS} points for settings of {', '.join(_BOUNDS)}; "
            f"it has curves of shape {curves.shape} for {', '.join(names)}."
        )
    for column, (name, bounds) in enumerate(_BOUNDS.items()):
        searched = 1.0 - values[:, column] if name in _COMPLEMENTS else values[:, column]
        values[:, column] = np.clip(searched, *bounds)
    return values, curves
