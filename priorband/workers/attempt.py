"""The `trial` that is passed to an objective: one attempt at evaluating a configuration."""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, final

from priorband.arguments import checked_loss, json_metric
from priorband.attribute_hints import OF_TRIALS, no_attribute
from priorband.errors import FormatError, LossError, MismatchError
from priorband.numeric import real, whole
from priorband.space.config import Config
from priorband.storage.checkpoints import Checkpoints, Held
from priorband.values import frozen


class Interrupted(BaseException):
    """Raised in an objective at the end of a step when its worker is asked to stop.

    It is not an `Exception`, so the objective's own `except Exception` does not catch it.
    """


class Diverged(BaseException):
    """Raised in an objective that reports a loss that is not finite."""


@final
@frozen
class TrialTask:
    """Everything that a process needs to evaluate a trial."""

    trial: int
    attempt: int
    config: Config
    fidelity: float
    integer: bool
    """Whether fidelities are whole numbers."""
    start: float
    """The fidelity that the checkpoint in `resume_from` has reached; 0 without one."""
    resume_from: Path | None
    root: Path
    """The folder of the study's checkpoints."""
    seed: int
    maximize: bool = False
    study: str = ""
    """The study's id."""
    config_digest: str = ""
    """A digest of the configuration, which the checkpoints are marked with."""
    held: Held | None = None
    """The folder of all trials that the worker holds open: see `Checkpoints`."""


class RankSync(Protocol):
    """The processes that train one trial together."""

    rank: int
    world_size: int

    def synchronize(self, place: str, stop_reason: str = "") -> str:
        """Wait until all ranks are at `place` in the code; return the reason to stop, if any.

        Every rank passes its own reason, and all get the same one back.
        """


@final
class SingleRank:
    """A process that trains a trial by itself."""

    rank = 0
    world_size = 1

    def synchronize(self, place: str, stop_reason: str = "") -> str:
        """Return the given reason, as there is no other rank to agree with."""
        del place
        return stop_reason


@final
class Attempt:
    """One attempt at a trial: its configuration, how far to train, where to save and resume.

    `config` holds the settings, and `fidelity` is how far to train in total. `resume_from` is the
    folder of the checkpoint to continue from, or None. `steps()` iterates over the steps that are
    left. `seed` is the same for all attempts at a configuration. Where several processes train
    together, `rank` and `world_size` say which of how many this is. `task` holds all of this in a
    form that can be passed to another process.

    An objective is given an attempt; it does not make one itself.

    Args:
        task: what to evaluate, and where.
        send: called with each step and loss that is reported.
        stopping: returns why to stop, or an empty string.
        ranks: the processes that train together; None for one process.
    """

    def __init__(
        self,
        task: TrialTask,
        send: Callable[[dict[str, Any]], None] = lambda message: None,
        stopping: Callable[[], str] = lambda: "",
        ranks: RankSync | None = None,
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
        """Which reported loss was not finite; with several ranks they stop later, together."""
        self._send, self._stop_reason = send, stopping
        self._workplace: Path | None = None
        if self.rank == 0 and self.world_size > 1:
            self._workplace = self.checkpoint_dir  # create it, empty, before other ranks use it
        self._last_stamp: tuple[object, ...] = ()
        self._stepping = False

    if not TYPE_CHECKING:  # a type checker knows which attributes there are

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name, OF_TRIALS)

    @cached_property
    def _checkpoints(self) -> Checkpoints:
        return task_checkpoints(self.task)

    def __repr__(self) -> str:
        return f"Attempt({self.attempt} at trial {self.id}, up to {self.fidelity:g})"

    @property
    def checkpoint_dir(self) -> Path:
        """The folder to save to: what it holds at the end is the checkpoint of the trial."""
        if self._workplace is None and self.rank == 0:
            self._workplace = self._checkpoints.workplace(self.id, self.attempt)
        elif self._workplace is None:
            self._workplace = self._checkpoints.checkpoint_dir(self.id, self.attempt)
        return self._workplace

    @property
    def should_stop(self) -> str:
        """Why the objective should save and return soon; empty if it should continue.

        If several ranks train together, all must read it, and all get the same answer.
        """
        return self._ranks.synchronize("`should_stop`", self._stop_reason())

    def steps(self) -> Iterator[float]:
        """Iterate over the steps that are left, from the checkpoint up to the fidelity.

        After each step, what was saved in `checkpoint_dir` is copied, so that another worker can
        continue from there. If the worker was asked to stop, the objective is ended at that point.
        A fidelity that is not a whole number is a single step. Ranks that train together take the
        same steps and wait for each other at the end of each.
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
        """Record a point of the learning curve. A loss that is not finite ends the trial.

        Where the study maximises, pass what is maximised, with the sign that the objective
        returns: as `value=0.93`, or as `loss`. With several ranks any of them may call it, but only
        the points of rank 0 are recorded.
        """
        if real(step) is None:
            raise LossError(f"`step` must be a number, such as the epoch, got {step!r}.")
        word, loss = self._reported(loss, metrics)
        number = None if loss is None else _number(word, loss)
        point: dict[str, Any] = {"step": json_metric(step)}
        if number is not None:
            point[word] = json_metric(number)
        point |= {name: json_metric(value) for name, value in metrics.items()}
        if self.rank == 0:
            self._write_point(point)
            progress = {"step": point["step"]}
            self._send(progress if number is None else progress | {"loss": point[word]})
        if number is not None and number - number != 0:
            self.diverged = f"the {word} was {number} at step {step:g}"
        if self.world_size == 1:  # other ranks would wait for this one: stop with them later
            self._stop_if_diverged()
            if not self._stepping:
                self._stop_if_asked()

    def _reported(self, loss: Any, metrics: dict[str, Any]) -> tuple[str, Any]:
        """What a point reports, and under which name; a `value` is taken out of the metrics."""
        if not self.task.maximize or metrics.get("value") is None:
            return "loss", loss
        if loss is not None:
            raise LossError(
                "`report` takes `loss` or `value`, and was given both. Give one of them."
            )
        return "value", metrics.pop("value")

    @contextmanager
    def checkpoint(self, step: float) -> Iterator[Path]:
        """A folder to save the checkpoint of a step to; it is used only once it is complete.

        Use it if copying `checkpoint_dir` after each step would take too long. If several ranks
        train together, all must call it, even those that save nothing.
        """
        reached = real(step)
        if reached is None or reached < 0:
            raise LossError(f"A step must be a number of at least 0, got {step!r}.")
        folder = self._checkpoints.checkpoint_dir(self.id, self.attempt, ".part")
        if self.rank == 0:
            self._checkpoints.new_part(self.id, self.attempt)
        self._ranks.synchronize("`checkpoint`")
        yield folder
        self._ranks.synchronize("the end of `checkpoint`")
        if self.rank == 0:
            last = reached >= self.fidelity
            self._checkpoints.put(self.id, self.attempt, _whole_step(reached), last)

    def _end_step(self, step: float) -> None:
        self._stop_if_diverged()
        self._ranks.synchronize("the end of a step")
        if self.rank == 0:  # all ranks have saved, and wait until the copy is made
            self._copy_checkpoint(step)
        self._stop_if_asked()

    def _copy_checkpoint(self, step: float) -> None:
        """Copy what was saved in `checkpoint_dir`, if it has changed."""
        if self._workplace is None:
            return
        with _disk_errors_as_warnings(f"The checkpoint of step {step:g}"):
            current = self._checkpoints.stamp(self.id, self.attempt)
            if current and current != self._last_stamp:
                self._checkpoints.seal(self.id, self.attempt, step)
                self._last_stamp = current

    def _stop_if_asked(self) -> None:
        reason = self._ranks.synchronize("the beginning of a step", self._stop_reason())
        if reason:
            raise Interrupted(reason)

    def _stop_if_diverged(self) -> None:
        if self.diverged:
            raise Diverged(self.diverged)

    def _write_point(self, point: Mapping[str, Any]) -> None:
        with _disk_errors_as_warnings("A point of the curve"):
            self._checkpoints.add_point(self.id, self.attempt, json.dumps(point))


def _number(word: str, reported: Any) -> float:
    """A reported loss or value as a number."""
    try:
        return checked_loss(reported)
    except LossError:
        raise LossError(
            f"`{word}` must be one real number, such as 0.31, got {reported!r:.60}. Convert text "
            "with `float(...)`, and reduce an array with `.mean()`, for example."
        ) from None


def task_checkpoints(task: TrialTask) -> Checkpoints:
    """The checkpoints of a task's study, in the folder that its worker holds."""
    return Checkpoints(task.root, task.study, lambda _: task.config_digest, held=task.held)


@contextmanager
def _disk_errors_as_warnings(what: str) -> Iterator[None]:
    """Warn about errors such as a full disk, or a FIFO for a file, instead of failing."""
    try:
        yield
    except (OSError, FormatError, MismatchError) as error:
        with suppress(OSError, Warning):  # the log may be on the same disk
            warnings.warn(f"{what} could not be kept: {error}", stacklevel=1)


def _whole_step(step: float) -> float:
    """The step as an int if it is whole."""
    return int(step) if whole(step) or float(step).is_integer() else step
