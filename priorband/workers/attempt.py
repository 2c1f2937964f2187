"""What an objective is given: one attempt at a trial."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from priorband.errors import LossError
from priorband.given import given_loss
from priorband.numeric import real, whole
from priorband.space.config import Config
from priorband.storage.checkpoints import Checkpoints, stamp
from priorband.values import frozen
from priorband.workers.results import plain_metric


class Interrupted(BaseException):
    """Raised in an objective at the end of a step, when its worker is asked to stop.

    It is no `Exception`, so that an objective's own error handling lets it pass.
    """


class Diverged(BaseException):
    """Raised in an objective that reports a loss which is not finite."""


@final
@frozen
class Task:
    """All that a process needs to know to evaluate a trial."""

    trial: int
    attempt: int
    config: Config
    fidelity: float
    integer: bool
    start: float
    """How far the checkpoint in `resume_from` goes; 0 without one."""
    resume_from: Path | None
    root: Path
    """The folder of the study's checkpoints."""
    seed: int
    maximize: bool = False


@final
class Attempt:
    """One attempt at a trial: its configuration, how far to train, where to save and resume.

    `config` holds the settings and `fidelity` says how far to train in all. `resume_from` is the
    folder with the checkpoint to go on from, or None; `steps()` are the steps still to do. `seed`
    is the same for all attempts at a configuration.
    """

    def __init__(
        self,
        task: Task,
        send: Callable[[dict[str, Any]], None] = lambda message: None,
        stopping: Callable[[], str] = lambda: "",
    ) -> None:
        self.id = task.trial
        self.attempt = task.attempt
        self.config = task.config
        self.fidelity = task.fidelity
        self.start = task.start
        self.resume_from = task.resume_from
        self.seed = task.seed
        self._task = task
        self._checkpoints = Checkpoints(task.root)
        self._send, self._stopping = send, stopping
        self._workplace: Path | None = None
        self._seen: tuple[object, ...] = ()
        self._stepping = False

    def __repr__(self) -> str:
        return f"Attempt({self.attempt} at trial {self.id}, up to {self.fidelity:g})"

    @property
    def checkpoint_dir(self) -> Path:
        """The folder to save into: what lies in it at the end is the trial's checkpoint."""
        if self._workplace is None:
            self._workplace = self._checkpoints.workplace(self.id, self.attempt)
        return self._workplace

    @property
    def should_stop(self) -> str:
        """Why the objective should save and return soon; empty while it should go on."""
        return self._stopping()

    def steps(self) -> Iterator[float]:
        """The steps still to do: from after the checkpoint up to the fidelity.

        After each, what was saved in `checkpoint_dir` is kept, so that another worker can go on
        from there; and when the worker is asked to stop, the objective ends there. A fidelity that
        is not a whole number is one single step.
        """
        self._stepping = True
        first, last = int(self.start) + 1, self.fidelity
        steps = range(first, int(last) + 1) if self._task.integer else [last]
        for step in steps:
            yield step
            self._send({"step": step})
            if step != last:
                self._keep(step)
                self._end_if_asked()

    def report(self, step: float, loss: Any = None, **metrics: Any) -> None:
        """Numbers for people: a point of the trial's curve. A loss that is not finite ends it."""
        if real(step) is None:
            raise LossError(f"A step must be a number, got {step!r}.")
        number = None if loss is None else given_loss(loss)
        point: dict[str, Any] = {"step": plain_metric(step)}
        if number is not None:
            point["loss"] = plain_metric(number)
        point |= {name: plain_metric(value) for name, value in metrics.items()}
        self._draw(point)
        self._send(point)
        if number is not None and number - number != 0:
            raise Diverged(f"the loss was {number} at step {step:g}")
        if not self._stepping:
            self._end_if_asked()

    @contextmanager
    def checkpoint(self, step: float) -> Iterator[Path]:
        """A folder to save a step's checkpoint into: it counts when it is complete.

        Use it where copying `checkpoint_dir` after each step would cost too much.
        """
        place = self._checkpoints.folder(self.id)
        made = place / f"{self.attempt}.part"
        _empty(made)
        yield made
        self._checkpoints.put(self.id, self.attempt, step, made, copy=False)

    def _keep(self, step: float) -> None:
        now = stamp(self._workplace) if self._workplace else ()
        if now and now != self._seen:
            self._checkpoints.seal(self.id, self.attempt, step)
        self._seen = now

    def _end_if_asked(self) -> None:
        why = self._stopping()
        if why:
            raise Interrupted(why)

    def _draw(self, point: Mapping[str, Any]) -> None:
        path = self._checkpoints.folder(self.id) / f"curve-{self.attempt}.jsonl"
        with open(path, "a", encoding="utf-8", opener=_no_links) as curve:
            curve.write(json.dumps(point) + "\n")


def _no_links(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _empty(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def whole_start(start: float) -> float:
    """A step as an integer where it is one."""
    return int(start) if whole(start) or float(start).is_integer() else start
