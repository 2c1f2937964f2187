"""The loop of one worker: get a trial, evaluate it, submit the result, and again.

`tune` (tuning.py) runs a single `Worker` itself; with several, `run_pool` (pool.py) runs each in a
process. `Worker.run` calls `DurableStudy.turn` again and again: one transaction that records the
report of the last trial and answers with the next `Assignment`, or with `Idle` if there is none. An
assignment goes to the `TrialRunner` (trial_runner.py), which returns the `Report` to submit.

While storage does not respond, the worker retries, and keeps a finished result in a local spool. If
a trial finds a disk full, the worker hands it back, and tries again after growing pauses.
"""

import errno
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar, final

from priorband.durable.messages import Assignment, Idle, Report
from priorband.durable.study import DurableStudy
from priorband.errors import MethodError, PriorbandError, StorageError, TrialError
from priorband.space.config import Config
from priorband.storage.spool import Spool
from priorband.values import frozen
from priorband.workers.checkpoint_cleanup import CheckpointCleanup
from priorband.workers.objective_results import DISK_FULL, Objective
from priorband.workers.stop_signals import StopSignals
from priorband.workers.trial_process import kill_stray_processes
from priorband.workers.trial_runner import TrialRunner, WorkerOptions

FIRST_POLL, POLL = 0.02, 0.5  # seconds between requests while others run the last trials
MESSAGES_EVERY = 30.0  # seconds between messages about storage that does not respond
LONGEST_PAUSE = 5.0  # seconds between retries
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds between trials while a disk is full
TRANSIENT = (errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.ENOMEM, errno.ESTALE, errno.EIO)

T = TypeVar("T")


@final
@frozen
class WorkerEnd:
    """Why a worker has ended."""

    status: Literal["done", "stopped", "halted", "method", "storage"]
    """Nothing is left to do; it was asked to stop; the objective always fails, or cannot be run in
    another process; storage failed."""
    reason: str


@final
class Worker:
    """One worker of a study."""

    def __init__(  # noqa: PLR0913  # the study, the objective, and three ways to report
        self,
        study: DurableStudy,
        objective: Objective,
        options: WorkerOptions,
        say: Callable[[str], None] = lambda text: None,
        tick: Callable[[], None] = lambda: None,
        announce: bool = True,
    ) -> None:
        self.study = study
        self.options = options
        self.say = say
        self.tick = tick
        self.announce = announce
        """Whether to announce a request to stop; in a pool, the pool announces it for all."""
        self.stop_signals = StopSignals(self._announce_stop)
        self.runner = TrialRunner(study, objective, options, self.stop_signals, tick, say)
        self.cleanup = CheckpointCleanup(study, self.runner.checkpoints)
        self._assignments = 0
        self._config = Config()
        """The configuration that was assigned last."""
        study.report_trouble(say)
        self._has_report = False
        """Whether a report is being submitted."""
        self._stopping_since: float | None = None
        self._full_since: float | None = None
        """When a trial first found a disk full; None if the last one has ended in another way."""
        self._waits = 0
        self._spool = Spool(study.ledger.study)  # read here: a failed write resets the ledger

    def run(self) -> WorkerEnd:
        """Evaluate trials until the budget is spent, or until asked to stop."""
        with self.stop_signals:
            try:
                self.study.journal.waiting = self._stop_waiting
                self.runner.starter.prepare()
                self._say_refused_places()
                self._submit_spooled()
                self._retry(self.runner.checkpoints.claim)
                return self._work()
            except KeyboardInterrupt:
                return WorkerEnd("stopped", self.stop_signals.reason)
            except MethodError as error:
                return WorkerEnd("method", str(error))
            except PriorbandError as error:
                return WorkerEnd("storage", str(error))
            finally:
                self.study.journal.waiting = lambda: None
                with suppress(KeyboardInterrupt):  # asked once more: the server ends with us anyway
                    self.runner.starter.close()

    def _stop_waiting(self) -> None:
        """Raise if the worker was asked to stop, and others do not let it write.

        Without a report there is nothing to wait for. A report is kept in the spool after `grace`.
        """
        if not self.stop_signals.reason:
            return
        if not self._has_report:
            raise KeyboardInterrupt(self.stop_signals.reason)
        now = time.monotonic()
        self._stopping_since = self._stopping_since or now
        if now - self._stopping_since > self.options.grace:
            raise StorageError(f"{self.study.where} is busy: the write lock was not free.")

    def _work(self) -> WorkerEnd:
        report: Report | None = None
        pause = FIRST_POLL
        while True:
            stopping = bool(self.stop_signals.reason)
            request = "" if stopping else f"{self.study.worker}.{self._assignments}"
            answer = self._turn(report, request)
            if report is not None:
                self._remove_old_checkpoints(report)
                report = None
            if self.stop_signals.reason:
                if isinstance(answer, Assignment):  # the signal came during the request
                    self._turn(self._preempted(answer, self.stop_signals.reason), "")
                return WorkerEnd("stopped", self.stop_signals.reason)
            if isinstance(answer, Assignment):
                self._assignments += 1
                self._config = answer.trial.config
                pause = FIRST_POLL
                report = self._wait_if_full(self._evaluate(answer))
                continue
            assert isinstance(answer, Idle)
            if answer.halted:
                return WorkerEnd("halted", answer.reason)
            if not (answer.running and self.options.wait):
                return WorkerEnd("done", answer.reason)
            pause = self._wait_while_idle(pause)

    def _wait_while_idle(self, pause: float) -> float:
        """Wait until there may be a trial, without taking the write lock; the next pause."""
        while True:
            self.tick()
            self._pause(pause)
            pause = min(pause * 2, POLL)
            if self.stop_signals.reason or not self._retry(self.study.is_idle):
                return pause

    def _wait_if_full(self, report: Report) -> Report | None:
        """Hand back a trial that found a disk full, and pause; return any other report.

        Only the next trial can tell whether there is room again: nobody else knows where an
        objective saves, and how much. Raise `StorageError` after `patience`.
        """
        if DISK_FULL not in report.details:
            if report.failure != "preempted":
                self._full_since, self._waits = None, 0
            return report
        self._turn(report, "")
        self._full_since = self._full_since or time.monotonic()
        waited = time.monotonic() - self._full_since
        left = self.options.patience - waited
        if left <= 0 and not self.stop_signals.reason:
            raise StorageError(f"Gave up after {waited:.0f} s: {report.reason}.")
        pause = min(FIRST_WAIT * 2**self._waits, LONGEST_WAIT, left)
        self._waits += 1
        self.say(
            f"Trial {report.trial} is handed back: {report.reason}. Waiting for room: trying again "
            f"in {pause:.1f} s, for up to {left:.0f} s."
        )
        end = time.monotonic() + pause
        while time.monotonic() < end and not self.stop_signals.reason:
            self.tick()
            self._pause(min(POLL, pause))
        return None

    def _preempted(self, assignment: Assignment, reason: str) -> Report:
        """The report that gives a trial back, for another worker to continue."""
        return Report(assignment.trial.id, assignment.attempt, None, "preempted", reason)

    def _evaluate(self, assignment: Assignment) -> Report:
        try:
            started = self._retry(lambda: self.runner.start(assignment))
            report = self.runner.finish(assignment, started)
            if DISK_FULL in report.details:
                self.runner.checkpoints.discard(report.trial, report.attempt)
            return report
        except KeyboardInterrupt:
            kill_stray_processes()
            if not self.stop_signals.reason:  # raised by the objective, or by its own handler
                self.stop_signals.reason = "SIGINT"
                return self._preempted(assignment, "KeyboardInterrupt")
            return self._preempted(assignment, f"{self.stop_signals.reason}, twice")
        except BaseException:
            kill_stray_processes()
            self.study.turn(self._preempted(assignment, "the worker failed"), "")
            raise

    def _turn(self, report: Report | None, request: str) -> Assignment | Idle | None:
        """Submit a report and request a trial; spool the report while storage does not respond."""
        spooled: Path | None = None
        self._has_report = report is not None

        def spool() -> None:
            nonlocal spooled
            if report is not None and spooled is None and report.failure != "preempted":
                name = f"{report.trial}-{report.attempt}"
                digest = self.study.config_digest(self._config)
                spooled = self._spool.put(name, {**report.to_data(), "config": digest})
                if spooled:
                    self.say(
                        f"The result of trial {report.trial} is kept in {spooled} until it can be "
                        "submitted."
                    )

        try:
            answer = self._retry(lambda: self.study.turn(report, request), spool)
        except KeyboardInterrupt:
            spool()
            if report is None:
                raise
            answer = self.study.turn(report, "")
        except PriorbandError:  # such as damage, which somebody may repair
            spool()
            raise
        if spooled is not None:
            spooled.unlink(missing_ok=True)
        return answer

    def _retry(self, action: Callable[[], T], on_failure: Callable[[], None] = lambda: None) -> T:
        """Run an action, and repeat it with growing pauses while storage does not respond."""
        began, pause, messages = time.monotonic(), 0.05, 0
        while True:
            try:
                value = action()
                break
            except OSError as error:  # a StorageError, or a full disk or process table
                if not isinstance(error, StorageError) and error.errno not in TRANSIENT:
                    raise
                failure = error
            on_failure()
            waited = time.monotonic() - began
            limit = self.options.grace if self.stop_signals.reason else self.options.patience
            if waited > limit:
                raise StorageError(f"Gave up after {waited:.0f} s: {failure}") from failure
            if waited > MESSAGES_EVERY * messages:
                self.say(f"{failure} Waiting for it to respond, up to {limit - waited:.0f} s.")
                messages += 1
            self.tick()
            self._pause(pause * (0.5 + os.urandom(1)[0] / 255))
            pause = min(pause * 2, LONGEST_PAUSE)
        if messages:
            self.say(f"{self.study.where} responds again.")
        return value

    def _say_refused_places(self) -> None:
        """Say where results cannot be kept while storage does not respond, and where they are."""
        instead = self._spool.place
        for place, reason in self._spool.refused.items():
            used = f"{instead} is used instead" if instead else "there is no other place"
            self.say(f"Results that cannot be submitted are not kept in {place}: {reason}; {used}.")

    def _submit_spooled(self) -> None:
        """Submit results that an earlier worker on this machine could not submit."""
        for path, data in self._spool.waiting().items():
            try:
                report = Report.from_data(data)
                self._retry(self.study.refresh)
                self._require_trial(report.trial, data.get("config"))
                self._retry(partial(self.study.turn, report, ""))
            except StorageError:  # do not skip it: there may be no later worker
                raise
            except PriorbandError as error:
                self.say(f"The result in {path} cannot be submitted: {error}")
                continue
            self.say(f"Submitted the result of trial {report.trial} from {path}.")
            self._spool.remove(path)

    def _require_trial(self, number: int, digest: object) -> None:
        """Raise `TrialError` if a spooled result is not of the trial that has this number.

        A copy of a study has the same id, and goes its own way. So does one from a backup.
        """
        history = self.study.state.history
        if number >= len(history):
            difference = f"there is no trial {number}"
        elif digest not in (None, self.study.config_digest(history.trial(number).config)):
            difference = f"trial {number} has another configuration"
        else:
            return
        raise TrialError(
            f"{difference} in {self.study.where}. It may be of a copy of this study, or from "
            "before a backup was restored. Delete the file if you do not need it."
        )

    def _remove_old_checkpoints(self, report: Report) -> None:
        """Remove checkpoints that are no longer needed after a report."""
        try:
            if not (self.runner.left_files and self.runner.checkpoints.knows(report.trial)):
                return
            history = self.study.state.history
            if report.trial >= len(history) or history.outcome(report.trial) is None:
                history = self.study.refresh().history  # another worker has taken our turn
            outcome = history.outcome(report.trial)
            if outcome is not None and not outcome.failed:  # perhaps from another attempt than ours
                winner = self.study.ledger.winners.get(report.trial, 1)
                self.runner.checkpoints.settle(report.trial, winner)
            if self.options.keep == "promotable":
                self.cleanup.remove_unneeded()
        except OSError as error:
            self.say(f"Old checkpoints could not be removed: {error}")

    def _pause(self, seconds: float) -> None:
        """Sleep, but return early if a stop is requested."""
        end, requests = time.monotonic() + seconds, self.stop_signals.count
        while time.monotonic() < end and self.stop_signals.count == requests:
            time.sleep(min(0.1, seconds))

    def _announce_stop(self, reason: str, count: int) -> None:
        if count == 1 and self.announce:
            self.say(
                f"{reason}: waiting up to {self.options.grace:g} s for the running step to finish. "
                "Repeat the signal to stop immediately."
            )
