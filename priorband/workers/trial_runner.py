"""Evaluate one assigned trial, in a child process or in the worker's own, with time limits.

`Worker` (worker.py) calls `TrialRunner.start` and then `TrialRunner.finish`. `start` turns the
`Assignment` into a `TrialTask`, which says where to resume from and with which seed, and starts a
`TrialProcess` (trial_starter.py, trial_process.py). `finish` waits for the result, forwards
progress to the study, enforces the time limits, and returns the `Report` to submit.
"""

import signal
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Literal, final

from priorband.arguments import checked_flag, checked_seconds
from priorband.durable.messages import Assignment, Report
from priorband.durable.records import STARTUP
from priorband.durable.study import DurableStudy
from priorband.errors import ArgumentError, FormatError, MethodError
from priorband.numeric import one_of, real
from priorband.storage.checkpoints import Checkpoints, Held
from priorband.streams import RandomStream
from priorband.values import frozen
from priorband.workers.attempt import Attempt, TrialTask
from priorband.workers.command_failure import SCRIPT_OUTPUT, fruitless_reason
from priorband.workers.objective_results import (
    AttemptResult,
    Objective,
    evaluate,
    failure,
    failure_from_exception,
)
from priorband.workers.own_frames import Frame, frames_in_log
from priorband.workers.stop_signals import StopSignals
from priorband.workers.trial_process import TrialProcess, could_not_start
from priorband.workers.trial_starter import Start, TrialStarter, checked_start

LOOK = 0.25  # seconds between checks of signals and time limits
GRACE = 20.0
PATIENCE = 600.0

Keep = Literal["promotable", "all"]
"""Which checkpoints stay: those that a trial may still continue from, or all."""

Send = Callable[[dict[str, Any]], None]
InProcessEvaluator = Callable[[Objective, TrialTask, Send, Callable[[], str]], AttemptResult]
"""Evaluates a task in this process: called with where to send progress, and why to stop."""


@final
@frozen
class WorkerOptions:
    """How a worker runs trials."""

    start: Start = "warm"
    """Run each trial in a process of its own, forked from one that has imported the objective's
    module ("warm") or started from nothing ("cold"), or in the worker's own ("same-process")."""
    trial_seconds: float | None = None
    """The longest time that a trial may take."""
    step_seconds: float | None = None
    """The longest time between two reported steps."""
    grace: float = GRACE
    """Seconds that a running step gets to finish when the worker is asked to stop."""
    patience: float = PATIENCE
    """Seconds to wait for storage that is busy, full or unreachable."""
    wait: bool = True
    """Stay while other workers run the last trials, since one of them may be given back."""
    keep: Keep = "promotable"
    """Which checkpoints to keep."""
    show_output: bool = False
    """Show what trials print in the terminal instead of writing it to a file."""

    def __post_init__(self) -> None:
        checked_start(self.start)
        for name in ("grace", "patience"):
            seconds = getattr(self, name)
            if real(seconds) is None or seconds < 0:
                raise ArgumentError(
                    f"`{name}` must be a number of seconds of at least 0, got {seconds!r}."
                )
        for name in ("trial_seconds", "step_seconds"):
            if getattr(self, name) is not None:
                checked_seconds(name, getattr(self, name))
        for name in ("wait", "show_output"):
            checked_flag(name, getattr(self, name))
        if not one_of(self.keep, ("promotable", "all")):
            raise ArgumentError(f"`keep` must be 'promotable' or 'all', got {self.keep!r}.")
        if self.start == "same-process" and (self.trial_seconds or self.step_seconds):
            raise ArgumentError(
                "Time limits need start='warm' or start='cold': a trial that runs in the worker's "
                "own process cannot be stopped from outside. Remove `trial_seconds` and "
                "`step_seconds`, or use start='warm'."
            )


@final
class TrialRunner:
    """Runs the trials that are assigned to a worker."""

    def __init__(  # noqa: PLR0913  # the study, the objective, and what the worker shares
        self,
        study: DurableStudy,
        objective: Objective,
        options: WorkerOptions,
        stop_signals: StopSignals,
        tick: Callable[[], None],
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        assert study.checkpoints is not None
        self.study = study
        self.objective = objective
        self.options = options
        self.stop_signals = stop_signals
        self.tick = tick
        self.starter = TrialStarter(objective, options.start, options.show_output, say)
        self.checkpoints: Checkpoints = study.checkpoints
        self._started_at = 0.0
        """When the trial was started that was started last."""
        self.left_files = True
        """Whether the trial that ended last may have left a checkpoint, a log or a curve."""
        self.evaluate_in_process: InProcessEvaluator = evaluate_alone
        """How to evaluate without a child process; replaced where several ranks train together."""

    def start(self, assignment: Assignment) -> tuple[TrialTask, TrialProcess | None]:
        """Prepare the task of an assigned trial, and start its process if it gets one."""
        self._started_at, self.left_files = time.monotonic(), True
        held = self.checkpoints.hold()
        task = self._task(assignment, held)
        if self.options.start == "same-process":
            return task, None
        self.checkpoints.folder(task.trial)
        return task, self.starter.start(task)

    def finish(
        self, assignment: Assignment, started: tuple[TrialTask, TrialProcess | None]
    ) -> Report:
        """Evaluate a trial that was started, and return the report to submit."""
        task, child = started
        result = self._run_in_process(task) if child is None else self._run_in_child(task, child)
        number, attempt = assignment.trial.id, assignment.attempt
        if result.get("kind") in ("raised", "crashed") and self.checkpoints.moved:
            result = {"interrupted": f"the study's folder was moved; {result['reason']}"}
        if self.stop_signals.count and result.get("kind") in ("raised", "crashed"):
            # Batch systems signal every process of a job. The objective may have failed only
            # because a process that it had started, such as a data loader or a rank, was ended.
            result = {"interrupted": f"{self.stop_signals.reason}; {result['reason']}"}
        if "interrupted" in result:
            return self._handed_back(number, attempt, result["interrupted"])
        if "loss" not in result:
            details = self._with_startup(result)
            return Report(number, attempt, None, result["kind"], result["reason"], details)
        self._sync_checkpoint(number, attempt)
        return Report(number, attempt, result["loss"], details=self._with_startup(result))

    def _handed_back(self, number: int, attempt: int, reason: str) -> Report:
        """The report of an attempt that was interrupted; a failure if it always hands back."""
        opened = self.study.ledger.running.get(number)
        earlier = () if opened is None else opened.endings
        fruitless = fruitless_reason([*(end.reason for end in earlier), reason])
        if fruitless:
            return Report(number, attempt, None, "raised", fruitless, {SCRIPT_OUTPUT: []})
        return Report(number, attempt, None, "preempted", reason)

    def _with_startup(self, result: AttemptResult) -> dict[str, Any]:
        """The details of a result, with the seconds that were spent outside the objective."""
        details: dict[str, Any] = result["details"]
        if "seconds" not in details or result.get("kind") == "timeout":
            return details
        outside = time.monotonic() - self._started_at - details["seconds"]
        return {**details, STARTUP: max(round(outside, 6), 0.0)}

    def _sync_checkpoint(self, number: int, attempt: int) -> None:
        """Write the checkpoint to disk before the result of its trial is recorded."""
        try:
            self.left_files = self.checkpoints.knows(number)
            if not self.left_files:
                return
            if self.checkpoints.moved:  # since then, the objective could not save
                self.checkpoints.remove(number)
                return
            self.checkpoints.sync(number, attempt)
        except (OSError, FormatError) as error:  # the result is still valid
            with suppress(OSError, FormatError):
                self.checkpoints.remove(number)  # it may be incomplete: do not resume from it
            warnings.warn(f"The checkpoint of trial {number} is lost: {error}", stacklevel=2)

    def _task(self, assignment: Assignment, held: Held | None) -> TrialTask:
        trial, problem = assignment.trial, self.study.problem
        checkpoint, attempt = None, assignment.attempt
        note = partial(self.checkpoints.note, trial.id, attempt)
        if attempt > 1:
            checkpoint = self.checkpoints.take_over(trial.id, attempt, trial.fidelity, note)
        if checkpoint is None and trial.parent is not None:
            folder = self.checkpoints.left_by(trial.parent, assignment.parent_attempt or 1, note)
            reached = assignment.parent_fidelity
            checkpoint = (folder, reached) if folder is not None else None
        resume_from, start = checkpoint or (None, 0)
        return TrialTask(
            trial.id,
            attempt,
            trial.config,
            trial.fidelity,
            problem.fidelity.integer,
            start,
            resume_from,
            self.checkpoints.root,
            int(RandomStream(problem.seed, trial.root, "objective").random() * 2**31),
            self.study.maximize,
            self.checkpoints.study,
            self.study.config_digest(trial.config),
            held,
        )

    def _run_in_process(self, task: TrialTask) -> AttemptResult:
        def send(message: dict[str, Any]) -> None:
            self._record_progress(task, message)
            self.tick()

        return self.evaluate_in_process(self.objective, task, send, lambda: self._stop_reason(task))

    def _run_in_child(self, task: TrialTask, child: TrialProcess) -> AttemptResult:
        try:
            return self._wait_for_result(child, task)
        except BaseException:  # such as a second Ctrl-C, which means stop immediately
            child.kill(patience=LOOK)
            raise
        finally:
            child.close()
            self.starter.note_end(child)

    def _wait_for_result(self, child: TrialProcess, task: TrialTask) -> AttemptResult:
        started_at = last_step_at = time.monotonic()
        asked_at: float | None = None
        pid: int | None = None
        while True:
            for message in child.receive(LOOK):
                pid = message.get("hello", pid)
                if "done" in message:
                    result: AttemptResult = message["done"]
                    return result
                if "end" in message:
                    return self._failure_from_exit(message["end"], task, pid is not None)
                last_step_at = time.monotonic()
                self._record_progress(task, message)
            self.tick()
            now = time.monotonic()
            timeout = self._timeout(now - started_at, now - last_step_at)
            if timeout:
                child.dump_stack(pid)
                child.kill()
                details = {"seconds": now - started_at, "frames": self._frames_in_log(task)}
                return failure("timeout", timeout, details)
            stop_reason = self._stop_reason(task)
            if stop_reason:
                asked_at = asked_at or now
                child.ask_to_stop(stop_reason)
                if now - asked_at > self.options.grace:
                    child.kill()
                    grace = f"no step ended in {self.options.grace:g} s"
                    return {"interrupted": f"{stop_reason}; {grace}"}

    def _timeout(self, trial_seconds: float, step_seconds: float) -> str:
        """Which time limit is exceeded; empty if none."""
        trial_limit, step_limit = self.options.trial_seconds, self.options.step_seconds
        if trial_limit is not None and trial_seconds > trial_limit:
            return f"the trial took longer than {trial_limit:g} s"
        if step_limit is not None and step_seconds > step_limit:
            return f"no step was reported for {step_limit:g} s"
        return ""

    def _failure_from_exit(self, code: int | None, task: TrialTask, running: bool) -> AttemptResult:
        """The failure of a process that exited without sending a result."""
        if not running and code is not None and code > 0:
            raise MethodError(f"The process of a trial {could_not_start(code)}")
        if code == -signal.SIGKILL:
            return failure("memory", "the process was killed, probably because memory ran out")
        if code is None:
            cause = "sent what is no message"
        else:
            cause = f"died of {_signal_name(-code)}" if code < 0 else f"ended with {code}"
        frames = self._frames_in_log(task)
        return failure("crashed", f"the process {cause} before it returned", {"frames": frames})

    def _frames_in_log(self, task: TrialTask) -> list[Frame]:
        """The user's own lines in the stack that the process has left in its log."""
        return frames_in_log(self.checkpoints.end_of_log(task.trial, task.attempt))

    def _stop_reason(self, task: TrialTask) -> str:
        """Why the trial should stop early; empty if it should not."""
        if self.stop_signals.reason:
            return self.stop_signals.reason
        return "another worker has the trial" if self.study.heartbeat.lost(task.trial) else ""

    def _record_progress(self, task: TrialTask, message: dict[str, Any]) -> None:
        value = real(message.get("loss"))
        loss = -value if value is not None and self.study.maximize else value
        self.study.heartbeat.progress(task.trial, real(message.get("step")), loss)


def evaluate_alone(
    objective: Objective, task: TrialTask, send: Send, stop_reason: Callable[[], str]
) -> AttemptResult:
    """Evaluate a task in this process, without other ranks."""
    try:
        return evaluate(objective, Attempt(task, send, stop_reason), task.maximize)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # such as CancelledError: the trial failed, the worker goes on
        return failure_from_exception(error)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
