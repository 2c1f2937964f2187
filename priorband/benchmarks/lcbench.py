"""LCBench: networks on 34 tabular tasks, through the surrogate of YAHPO Gym.

The loss is 1 - balanced validation accuracy. Zimmer, Lindauer and Hutter (2021) trained the
networks, Pfisterer and others (2022) fitted the surrogate, and the paper's experiments used it.
"""

import json
from pathlib import Path
from typing import final

import numpy as np

from priorband.benchmarks.base import Array, Configs, InBatches
from priorband.benchmarks.folder import required
from priorband.benchmarks.onnx import Network
from priorband.errors import DataError, SpaceError, suggestion
from priorband.fidelity import Fidelity
from priorband.numeric import whole
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space

# fmt: off
TASKS = (
    "3945", "7593", "34539", "126025", "126026", "126029", "146212", "167104", "167149", "167152",
    "167161", "167168", "167181", "167184", "167185", "167190", "167200", "167201", "168329",
    "168330", "168331", "168335", "168868", "168908", "168910", "189354", "189862", "189865",
    "189866", "189873", "189905", "189906", "189908", "189909",
)
"""The ids of the surrogate's OpenML tasks."""
# fmt: on
PAPER_TASKS = ("126026", "167190", "168330", "168910", "189906")
"""The tasks in the paper's evaluation."""
MODEL, CODES = "lcbench/model.onnx", "lcbench/encoding.json"
_BALANCED_ACCURACY = 3


@final
class LCBench(InBatches):
    """One task of LCBench, from 1 to 52 epochs.

    The loss is 1 - balanced validation accuracy. Needs the extra `surrogates`.

    Args:
        task: The id of an OpenML task, such as "126026".
        folder: The data folder, which holds `lcbench/model.onnx` and `lcbench/encoding.json`.

    Raises:
        SpaceError: If there is no such task.
        DataError: If a file is missing or damaged.

    Example:
        >>> bench = LCBench("126026", "path/to/data")  # doctest: +SKIP
    """

    def __init__(self, task: str, folder: str | Path | None = None) -> None:
        if task not in TASKS:
            raise SpaceError(f"Unknown LCBench task {task!r}. {suggestion(task, TASKS)}")
        self.task = task
        self._network = Network(required(folder, MODEL, "LCBench"))
        self._code = _task_code(required(folder, CODES, "LCBench"), task)
        self.space = Space(
            {
                "batch_size": Integer(16, 512, log=True),
                "learning_rate": Float(1e-4, 0.1, log=True),
                "momentum": Float(0.1, 0.99),
                "weight_decay": Float(1e-5, 0.1),
                "num_layers": Integer(1, 5),
                "max_units": Integer(64, 1024, log=True),
                "max_dropout": Float(0.0, 1.0),
            }
        )
        self.fidelity = Fidelity("epoch", 1, 52)

    def __repr__(self) -> str:
        return f"LCBench({self.task!r})"

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """1 - balanced validation accuracy after `fidelity` epochs."""
        names = self.space.names
        rows = [[fidelity, *(config[name] for name in names)] for config in configs]
        values = np.array(rows, dtype=np.float32).reshape(len(rows), 1 + len(names))
        tasks = np.full((len(rows), 1), self._code, dtype=np.int32)
        accuracy = self._network.run(x_cat=tasks, x_cont=values)[:, _BALANCED_ACCURACY]
        return 1.0 - accuracy.astype(np.float64)


def _task_code(path: Path, task: str) -> int:
    """The number of a task in the surrogate's inputs."""
    try:
        code = json.loads(path.read_text(encoding="utf-8"))["OpenML_task_id"][task]
    except (ValueError, KeyError, TypeError):
        code = None
    if not whole(code):
        raise DataError(f"The file {path} has no number for the task {task}.")
    return int(code)
