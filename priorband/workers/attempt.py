"""What an objective is given: one attempt at a trial."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, final

from priorband.arguments import given_loss, plain_metric
from priorband.errors import LossError
from priorband.numeric import real, whole
from priorband.space.config import Config
from priorband.storage.checkpoints import Checkpoints, stamp
from priorband.values import frozen


class Interrupted(BaseException):
    """Raised in an objective at the end of a step, when its worker is asked to stop.

    It is no `Exception`, so that an objective's own error handling lets it pass.
    """


class Diverged(BaseException):
    """Raised in an objective that reports a loss which is not finite."""


@final
@frozen
class TrialTask:
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


class RankMeeting(Protocol):
    """The processes that make an attempt together."""

    rank: int
    world_size: int

    def meet(self, place: str, why: str = "") -> str:
        """Wait until all are at a place in the code; why to stop there, as all have agreed."""


@final
class SingleRank:
    """The one process that makes an attempt."""

    rank = 0
    world_size = 1

    def meet(self, place: str, why: str = "") -> str:
        """Its own word is what all have agreed."""
        del place
        return why


@final
class Attempt:
    """One attempt at a trial: its configuration, how far to train, where to save and resume.

    `config` holds the settings and `fidelity` says how far to train in all. `resume_from` is the
    folder with the checkpoint to go on from, or None; `steps()` are the steps still to do. `seed`
    is the same for all attempts at a configuration. `rank` and `world_size` say which of how many
    processes this is, where several train together; `task` is all of it, for other processes.
    """

    def __init__(
        self,
        task: TrialTask,
        send: Callable[[dict[str, Any]], None] = lambda message: None,
        stopping: Callable[[], str] = lambda: "",
        ranks: RankMeeting | None = None,
    ) -> None:
        self.id = task.trial
        self.attempt = task.attempt
        self.config = task.config
        self.fidelity = task.fidelity
        self.start = task.start
        self.resume_from = task.resume_from
        self.seed = task.seed
        self.task = task
        self._ranks = ranks or SingleRank()
        self.rank, self.world_size = self._ranks.rank, self._ranks.world_size
        self.diverged = ""
        """What was wrong with a loss that was reported: in a group, an end that is yet to come."""
        self._checkpoints = Checkpoints(task.root)
        self._send, self._stopping = send, stopping
        self._workplace: Path | None = None
        if self.rank == 0 and self.world_size > 1:
            self._workplace = self.checkpoint_dir  # there, and empty, before others save into it
        self._seen: tuple[object, ...] = ()
        self._stepping = False

    def __repr__(self) -> str:
        return f"Attempt({self.attempt} at trial {self.id}, up to {self.fidelity:g})"

    @property
    def checkpoint_dir(self) -> Path:
        """The folder to save into: what lies in it at the end is the trial's checkpoint."""
        if self._workplace is None and self.rank == 0:
            self._workplace = self._checkpoints.workplace(self.id, self.attempt)
        elif self._workplace is None:
            self._workplace = self._checkpoints.folder(self.id) / str(self.attempt)
        return self._workplace

    @property
    def should_stop(self) -> str:
        """Why the objective should save and return soon; empty while it should go on.

        Where several ranks train together, all of them ask, and all get the same answer.
        """
        return self._ranks.meet("`should_stop`", self._stopping())

    def steps(self) -> Iterator[float]:
        """The steps still to do: from after the checkpoint up to the fidelity.

        After each, what was saved in `checkpoint_dir` is kept, so that another worker can go on
        from there; and when the worker is asked to stop, the objective ends there. A fidelity that
        is not a whole number is one single step. Ranks that train together take the same steps: at
        the end of each they wait for one another.
        """
        self._stepping = True
        first, last = int(self.start) + 1, self.fidelity
        steps = range(first, int(last) + 1) if self.task.integer else [last]
        for step in steps:
            yield step
            self._send({"step": step})
            if step != last:
                self._end_step(step)

    def report(self, step: float, loss: Any = None, **metrics: Any) -> None:
        """Numbers for people: a point of the trial's curve. A loss that is not finite ends it.

        Of ranks that train together any may call it, but what rank 0 reports is kept.
        """
        if real(step) is None:
            raise LossError(f"A step must be a number, got {step!r}.")
        number = None if loss is None else given_loss(loss)
        point: dict[str, Any] = {"step": plain_metric(step)}
        if number is not None:
            point["loss"] = plain_metric(number)
        point |= {name: plain_metric(value) for name, value in metrics.items()}
        if self.rank == 0:
            self._draw(point)
            self._send({name: point[name] for name in ("step", "loss") if name in point})
        if number is not None and number - number != 0:
            self.diverged = f"the loss was {number} at step {step:g}"
        if self.world_size == 1:  # where others would wait for us, we end at the next meeting
            self._end_if_diverged()
            if not self._stepping:
                self._end_if_asked()

    @contextmanager
    def checkpoint(self, step: float) -> Iterator[Path]:
        """A folder to save a step's checkpoint into: it counts when it is complete.

        Use it where copying `checkpoint_dir` after each step would cost too much. Ranks that train
        together all call it, whether they save something or not.
        """
        reached = real(step)
        if reached is None or reached < 0:
            raise LossError(f"A step must be a number of at least 0, got {step!r}.")
        place = self._checkpoints.folder(self.id)
        made = place / f"{self.attempt}.part"
        if self.rank == 0:
            _empty(made)
        self._ranks.meet("`checkpoint`")
        yield made
        self._ranks.meet("the end of `checkpoint`")
        if self.rank == 0:
            last = reached >= self.fidelity
            self._checkpoints.put(self.id, self.attempt, whole_start(reached), made, False, last)

    def _end_step(self, step: float) -> None:
        self._end_if_diverged()
        self._ranks.meet("the end of a step")
        if self.rank == 0:  # all have saved, and none goes on before what they saved is kept
            self._keep(step)
        self._end_if_asked()

    def _keep(self, step: float) -> None:
        now = stamp(self._workplace) if self._workplace else ()
        if now and now != self._seen:
            with _harmless(f"The checkpoint of step {step:g}"):
                self._checkpoints.seal(self.id, self.attempt, step)
                self._seen = now

    def _end_if_asked(self) -> None:
        why = self._ranks.meet("the beginning of a step", self._stopping())
        if why:
            raise Interrupted(why)

    def _end_if_diverged(self) -> None:
        if self.diverged:
            raise Diverged(self.diverged)

    def _draw(self, point: Mapping[str, Any]) -> None:
        with _harmless("A point of the curve"):
            path = self._checkpoints.folder(self.id) / f"curve-{self.attempt}.jsonl"
            with open(path, "a", encoding="utf-8", opener=_no_links) as curve:
                curve.write(json.dumps(point) + "\n")


@contextmanager
def _harmless(what: str) -> Iterator[None]:
    """A disk that is full, say, may cost what we keep on the side, but not the training."""
    try:
        yield
    except OSError as error:
        with suppress(OSError):  # what it prints may lie on the same disk
            print(f"{what} could not be kept: {error}", file=sys.stderr, flush=True)


def _no_links(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _empty(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def whole_start(start: float) -> float:
    """A step as an integer where it is one."""
    return int(start) if whole(start) or float(start).is_integer() else start
