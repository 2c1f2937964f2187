"""Objectives that write a log: short trainings, some with checkpoints that must be complete."""

import multiprocessing
import os
import random
import time
from dataclasses import dataclass
from typing import Any, final

import priorband as pb
from faults.planted_bugs import plant_bug
from faults.worker_log import WorkerLog


def loss(trial: pb.Attempt | pb.Trial) -> float:
    """A loss that depends only on the trial."""
    x, y = float(trial.config["x"]), float(trial.config["y"])
    return (x - 0.3) ** 2 + abs(y - 0.01) + 1 / trial.fidelity


def worker_pid() -> int:
    """In the process of a training: the pid of the worker that started it."""
    worker = multiprocessing.parent_process()
    assert worker is not None and worker.pid is not None
    return worker.pid


@final
@dataclass(frozen=True)
class Training:
    """A training that takes between 0 and `seconds` seconds."""

    log: WorkerLog
    seconds: float = 0.1
    fresh: bool = False
    """Whether it runs in a process of its own, started by the worker."""
    checkpoints: bool = True
    """Whether each fourth trial saves checkpoints."""
    curves: bool = False
    """Whether it reports a learning curve."""
    plant: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it so that another process plants the same bug when it loads it."""
        arguments = (self.log, self.seconds, self.fresh, self.checkpoints, self.curves, self.plant)
        return _with_bug, arguments

    def __call__(self, attempt: pb.Attempt) -> float:
        worker = worker_pid() if self.fresh else os.getpid()
        self.log.write("start", attempt.id, attempt.attempt, worker_pid=worker)
        rng = random.Random(f"{attempt.id}.{attempt.attempt}")
        seconds = rng.random() * self.seconds if rng.random() < 0.5 else 0.0
        if self.curves:
            attempt.report(1, loss=1.0)
        if self.checkpoints and attempt.id % 4 == 0:
            self._train_in_steps(attempt, seconds)
        else:
            time.sleep(seconds)
        result = loss(attempt)
        self.log.write("done", attempt.id, attempt.attempt, loss=result)
        return result

    def _train_in_steps(self, attempt: pb.Attempt, seconds: float) -> None:
        """Save two files in each step; log "torn" if a checkpoint does not have both."""
        if attempt.resume_from:
            contents = [(attempt.resume_from / name).read_text() for name in "ab"]
            if contents != [str(int(attempt.start))] * 2:
                self.log.write("torn", attempt.id, attempt.attempt, contents=contents)
        for step in attempt.steps():
            for name in "ab":
                (attempt.checkpoint_dir / name).write_text(str(int(step)))
                time.sleep(seconds / attempt.fidelity / 2)


def _with_bug(*arguments: Any) -> Training:
    training = Training(*arguments)
    plant_bug(training.plant)
    return training
