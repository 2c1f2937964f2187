"""Objectives that keep a diary: short trainings, some with checkpoints that must be whole."""

import os
import random
import time
from dataclasses import dataclass
from typing import Any, final

import priorband as pb
from faults.diary import Diary
from faults.plants import sow


def loss(trial: pb.Attempt | pb.Trial) -> float:
    """A loss that depends on nothing but the trial."""
    x, y = float(trial.config["x"]), float(trial.config["y"])
    return (x - 0.3) ** 2 + abs(y - 0.01) + 1 / trial.fidelity


@final
@dataclass(frozen=True)
class Training:
    """Takes 0 s or up to `seconds`; some trials save checkpoints as they go, or draw curves."""

    diary: Diary
    seconds: float = 0.1
    fresh: bool = False
    """Whether it runs in a process of its own, whose parent is the worker."""
    checkpoints: bool = True
    curves: bool = False
    plant: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        """Made anew in another process, with the same bug in it."""
        given = (self.diary, self.seconds, self.fresh, self.checkpoints, self.curves, self.plant)
        return _planted, given

    def __call__(self, attempt: pb.Attempt) -> float:
        worker = os.getppid() if self.fresh else os.getpid()
        self.diary.note("start", attempt.id, attempt.attempt, of=worker)
        dice = random.Random(f"{attempt.id}.{attempt.attempt}")
        long = dice.random() * self.seconds if dice.random() < 0.5 else 0.0
        if self.curves:
            attempt.report(1, loss=1.0)
        if self.checkpoints and attempt.id % 4 == 0:
            self._in_steps(attempt, long)
        else:
            time.sleep(long)
        result = loss(attempt)
        self.diary.note("done", attempt.id, attempt.attempt, loss=result)
        return result

    def _in_steps(self, attempt: pb.Attempt, long: float) -> None:
        """Save two files a step; what is resumed from must have both, of the step it says."""
        if attempt.resume_from:
            found = [(attempt.resume_from / name).read_text() for name in "ab"]
            if found != [str(int(attempt.start))] * 2:
                self.diary.note("torn", attempt.id, attempt.attempt, found=found)
        for step in attempt.steps():
            for name in "ab":
                (attempt.checkpoint_dir / name).write_text(str(int(step)))
                time.sleep(long / attempt.fidelity / 2)


def _planted(*given: Any) -> Training:
    training = Training(*given)
    sow(training.plant)
    return training
