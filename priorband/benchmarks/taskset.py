"""TaskSet: real learning curves of recurrent networks on text, 1000 settings of Adam on 5 tasks.

Metz and others (2020) trained them; Wistuba, Kadra and Grabocka (2022) published the tables of
these five. The loss is that on validation data, where chance is 0.693; most settings do not learn.
"""

from pathlib import Path
from typing import final

import numpy as np

from priorband.benchmarks.base import Array, Configs, InBatches
from priorband.benchmarks.folder import required
from priorband.benchmarks.table import ROUNDING, check_within
from priorband.benchmarks.tabular import nearest
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
"""What was trained: patches of the IMDB reviews, cell, units and batch size."""
POINTS = 51
"""How many points a curve has, equally spaced."""
HIGHEST = 10.0
"""A loss above is a failure. Chance is 0.693 and no network begins above 2.8; beyond 10 losses
scatter up to 1e17, and of 213 runs that were ever there one ends below 0.69."""
FILE = "taskset/FixedTextRNNClassification_{}.npz"
"""Where the table of a task lies in the data folder."""
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
"""Of the searched parameters; of the betas, of what they lack to 1."""
_LACKING = {"beta1": "one_minus_beta1", "beta2": "one_minus_beta2"}


@final
class TaskSet(InBatches):
    """One task of TaskSet, from 1 to 51 points of the curves.

    All parameters are on a log scale. The betas were drawn by what they lack to 1, and so they are
    searched: `one_minus_beta1` is 0.1 for Adam's usual 0.9. A configuration has the curve of the
    nearest of the 1000 that were trained, in the scaled unit cube. A loss that is no number or is
    above 10 is a failed training, nan. `folder` holds the data, among it `taskset/*.npz`.
    """

    def __init__(self, task: str, folder: Path | None = None) -> None:
        if task not in TASKS:
            raise SpaceError(f"Unknown TaskSet task {task!r}. {suggestion(task, TASKS)}")
        self.task = task
        self.space = Space(
            {_LACKING.get(name, name): Float(*bounds, log=True) for name, bounds in _BOUNDS.items()}
        )
        self.fidelity = Fidelity("points", 1, POINTS)
        values, curves = _read(required(folder, FILE.format(task), "TaskSet"))
        self._configs = [Config(zip(self.space.names, row, strict=True)) for row in values.tolist()]
        self._points = self.space.encode(self._configs)
        self._losses = np.where(curves <= HIGHEST, curves, np.nan)

    def __repr__(self) -> str:
        return f"TaskSet({self.task!r})"

    @property
    def optimum(self) -> tuple[Config, float]:
        """The best of the table at the end of its curve."""
        found = int(np.nanargmin(self._losses[:, -1]))
        return self._configs[found], float(self._losses[found, -1])

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The validation losses after so many points; nan where a training blew up."""
        check_within(self.fidelity, fidelity)
        found = nearest(self.space.encode(configs), self._points, self.space.sizes)
        losses: Array = self._losses[found, int(fidelity * (1 + ROUNDING)) - 1]
        return losses


def _read(path: Path) -> tuple[Array, Array]:
    """The searched values and the validation curves of a file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            names = [str(name) for name in file["hp_names"]]
            values, curves = np.array(file["hp"], np.float64), np.array(file["valid"], np.float64)
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise DataError(f"The file {path} is no table of TaskSet: {error}.") from None
    fits = values.shape == (len(curves), len(_BOUNDS)) and curves.shape == (len(values), POINTS)
    if names != list(_BOUNDS) or not fits:
        raise DataError(
            f"The file {path} should have {POINTS} points for settings of {', '.join(_BOUNDS)}; "
            f"it has curves of shape {curves.shape} for {', '.join(names)}."
        )
    for column, (name, bounds) in enumerate(_BOUNDS.items()):
        searched = 1.0 - values[:, column] if name in _LACKING else values[:, column]
        values[:, column] = np.clip(searched, *bounds)
    return values, curves
