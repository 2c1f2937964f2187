"""Evaluating a claimed trial, in a process of its own or in this one, under time limits."""

import signal
import time
import warnings
from collections.abc import Callable
from typing import Any, Literal, final

from priorband.durable.messages import Assignment, Report
from priorband.durable.study import DurableStudy
from priorband.errors import ArgumentError, MethodError
from priorband.failures import FailureKind
from priorband.numeric import real
from priorband.storage.checkpoints import Checkpoints, sync_tree
from priorband.streams import Dice
from priorband.values import frozen
from priorband.workers.attempt import Attempt, TrialTask
from priorband.workers.objective_results import failed, raised
from priorband.workers.stop_signals import StopSignals
from priorband.workers.trial_process import Objective, TrialProcess, evaluated

LOOK = 0.25  # seconds between looks at signals and clocks
GRACE = 20.0
PATIENCE = 600.0

Keep = Literal["promotable", "all"]
"""Which checkpoints stay: those that a trial may still continue from, or all."""

Send = Callable[[dict[str, Any]], None]
Here = Callable[[Objective, TrialTask, Send, Callable[[], str]], dict[str, Any]]
"""A way to make an attempt in this process, told what to report to and whom to ask when to stop."""


@final
@frozen
class WorkerOptions:
    """How a worker works."""

    fresh_process: bool = True
    """Each trial in a new process: nothing leaks, and time limits hold."""
    trial_seconds: float | None = None
    step_seconds: float | None = None
    """The longest time until the next step is reported."""
    grace: float = GRACE
    """Seconds that a running step is given to finish when the worker is asked to stop."""
    patience: float = PATIENCE
    """Seconds to wait for storage that is busy, full or out of reach."""
    wait: bool = True
    """Stay while others are at work on the last trials: one may yet be given back."""
    keep: Keep = "promotable"
    """Which checkpoints stay."""
    show_output: bool = False
    """What trials print goes to the terminal instead of a file."""

    def __post_init__(self) -> None:
        for name in ("trial_seconds", "step_seconds", "grace", "patience"):
            seconds = getattr(self, name)
            if seconds is not None and (real(seconds) is None or seconds < 0):
                raise ArgumentError(f"`{name}` must be a number of seconds, got {seconds!r}.")
        if self.keep not in ("promotable", "all"):
            raise ArgumentError(f"`keep` must be 'promotable' or 'all', got {self.keep!r}.")
        if not self.fresh_process and (self.trial_seconds or self.step_seconds):
            raise ArgumentError(
                "Time limits need fresh_process=True: a trial in the worker's own process cannot "
                "be ended from outside."
            )


@final
class TrialRunner:
    """Runs the trials that a worker has claimed."""

    def __init__(
        self,
        study: DurableStudy,
        objective: Objective,
        options: WorkerOptions,
        stopping: StopSignals,
        tick: Callable[[], None],
    ) -> None:
        assert study.checkpoints is not None
        self.study = study
        self.objective = objective
        self.options = options
        self.stopping = stopping
        self.tick = tick
        self.checkpoints: Checkpoints = study.checkpoints
        self.here: Here = alone

    def begin(self, claim: Assignment) -> tuple[TrialTask, TrialProcess | None]:
        """Make ready what a claimed trial needs, and start its process."""
        task = self._task(claim)
        if not self.options.fresh_process:
            return task, None
        self.checkpoints.folder(task.trial)
        return task, TrialProcess(self.objective, task, self.options.show_output)

    def finish(self, claim: Assignment, begun: tuple[TrialTask, TrialProcess | None]) -> Report:
        """What comes of a claimed trial."""
        task, child = begun
        result = self._here(task) if child is None else self._in_child(task, child)
        number, attempt = claim.trial.id, claim.attempt
        if self.stopping.times and result.get("kind") in ("raised", "crashed"):
            # A batch system signals all processes of a job: of those that an objective has started,
            # such as loaders of data or ranks, some have died, and it could not go on.
            result = {"interrupted": f"{self.stopping.why}; {result['reason']}"}
        if "interrupted" in result:
            return Report(number, attempt, None, "preempted", result["interrupted"])
        details = result["details"]
        if "loss" not in result:
            return Report(number, attempt, None, result["kind"], result["reason"], details)
        self._sync(number, attempt)
        return Report(number, attempt, result["loss"], details=details)

    def _sync(self, number: int, attempt: int) -> None:
        """Make a checkpoint durable before its trial's result is."""
        try:
            left = self.checkpoints.left_by(number, attempt)
            if left is not None:
                sync_tree(left)
        except OSError as error:  # the result counts all the same
            self.checkpoints.remove(number)  # nobody may go on from what may not last
            warnings.warn(f"The checkpoint of trial {number} is lost: {error}", stacklevel=2)

    def _task(self, claim: Assignment) -> TrialTask:
        trial, problem = claim.trial, self.study.problem
        taken = None
        if claim.attempt > 1:
            taken = self.checkpoints.take_over(trial.id, claim.attempt, trial.fidelity)
        if taken is None and trial.parent is not None:
            left = self.checkpoints.left_by(trial.parent, claim.parent_attempt or 1)
            reached = self.study.state.history.trial(trial.parent).fidelity
            taken = (left, reached) if left is not None else None
        resume_from, start = taken or (None, 0)
        return TrialTask(
            trial.id,
            claim.attempt,
            trial.config,
            trial.fidelity,
            problem.fidelity.integer,
            start,
            resume_from,
            self.checkpoints.root,
            int(Dice(problem.seed, trial.root, "objective").random() * 2**31),
            self.study.maximize,
        )

    def _here(self, task: TrialTask) -> dict[str, Any]:
        def send(message: dict[str, Any]) -> None:
            self._hear(task, message)
            self.tick()

        return self.here(self.objective, task, send, lambda: self.stopping.why or self._gone(task))

    def _in_child(self, task: TrialTask, child: TrialProcess) -> dict[str, Any]:
        try:
            return self._attended(child, task)
        except BaseException:  # such as a second Ctrl-C: it means now
            child.kill(patience=LOOK)
            raise
        finally:
            child.close()

    def _attended(self, child: TrialProcess, task: TrialTask) -> dict[str, Any]:
        began = stepped = time.monotonic()
        asked: float | None = None
        begun = False
        while True:
            for message in child.messages(LOOK):
                begun = begun or "hello" in message
                if "done" in message:
                    done: dict[str, Any] = message["done"]
                    return done
                if "end" in message:
                    return self._ended(message["end"], task, begun)
                stepped = time.monotonic()
                self._hear(task, message)
            self.tick()
            now = time.monotonic()
            late = self._late(now - began, now - stepped)
            if late:
                child.kill()
                return failed("timeout", late, {"seconds": now - began})
            why = self.stopping.why or self._gone(task)
            if why:
                asked = asked or now
                child.ask_to_stop(why)
                if now - asked > self.options.grace:
                    child.kill()
                    return {"interrupted": f"{why}; no step ended in {self.options.grace:g} s"}

    def _late(self, running: float, stepping: float) -> str:
        trial, step = self.options.trial_seconds, self.options.step_seconds
        if trial is not None and running > trial:
            return f"the trial took longer than {trial:g} s"
        if step is not None and stepping > step:
            return f"no step was reported for {step:g} s"
        return ""

    def _ended(self, code: int | None, task: TrialTask, begun: bool) -> dict[str, Any]:
        """What the end of a process without a word means."""
        if not begun and code is not None and code > 0:
            raise MethodError("A trial's process could not start; what it said stands above.")
        log = f"trials/{task.trial}/log-{task.attempt}.txt"
        kind: FailureKind = "crashed"
        if code == -signal.SIGKILL:
            return failed("memory", "the process was killed, probably because memory ran out")
        how = f"died of {_name(-code)}" if code is not None and code < 0 else f"ended with {code}"
        how = how if code is not None else "sent what is no message"
        return failed(kind, f"the process {how} before it returned; see {log}")

    def _gone(self, task: TrialTask) -> str:
        return "another worker has the trial" if self.study.pulse.gone(task.trial) else ""

    def _hear(self, task: TrialTask, message: dict[str, Any]) -> None:
        step, loss = message.get("step"), message.get("loss")
        known = real(loss)
        shown = -known if known is not None and self.study.maximize else known
        self.study.pulse.progress(task.trial, real(step), shown)


def alone(
    objective: Objective, task: TrialTask, send: Send, stopping: Callable[[], str]
) -> dict[str, Any]:
    """What comes of an attempt that this process makes by itself."""
    try:
        return evaluated(objective, Attempt(task, send, stopping), task.maximize)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # such as a cancelled coroutine: it is the trial's end, not ours
        return raised(error)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
