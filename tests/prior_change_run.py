"""Workers for studies whose prior is changed while they run, and are killed in the middle.

Workers come from a process that has imported everything, so that starting one takes no time.
"""

import multiprocessing
import os
import signal
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import priorband as pb
from priorband.cli.entry_point import main

SPACE = pb.Space(
    {
        "x": pb.Float(0, 1, prior=pb.Normal(0.3, sigma=0.05)),
        "y": pb.Float(0, 1, prior=0.3),
        "kind": pb.Categorical(["a", "b"], prior="a"),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 9)
MODULES = ("priorband.workers.tuning", "priorband.models.search", "scipy.optimize", "psycopg")
GATES = (18, 27)
"""Trials from each of these numbers on wait until `open_gate` was called with it."""


def objective(trial: pb.Attempt) -> float:
    closed = [trial.task.root / str(gate) for gate in GATES if trial.id >= gate]
    while closed and not closed[-1].exists():
        time.sleep(0.005)
    return float((trial.config["x"] - 0.8) ** 2 + 1 / trial.fidelity + trial.id % 3 / 100)


def work(where: str, folder: str, trials: int) -> None:
    """Take part in a study until its trials are handed out."""
    options: dict[str, Any] = {} if "://" not in where else {"folder": folder}
    pb.tune(
        objective,
        study=where,
        budget=pb.Budget(trials=trials),
        start="same-process",
        show="quiet",
        **options,
    )


def change(where: str, words: list[str]) -> None:
    """Change the prior by the command line."""
    os._exit(main(["prior", "set", where, *words]))


def context() -> Any:
    """Where processes come from."""
    forked = multiprocessing.get_context("forkserver")
    forked.set_forkserver_preload([__name__, *MODULES])
    return forked


def started(target: Any, *args: Any) -> ForkServerProcess:
    process: ForkServerProcess = context().Process(target=target, args=args, daemon=False)
    process.start()
    return process


def killed(process: ForkServerProcess) -> None:
    """End a process without giving it a chance to clean up."""
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL


def open_gate(folder: Path, gate: int) -> None:
    """Let trials end up to the next gate."""
    (folder / str(gate)).touch()
