"""A worker: claims a trial, evaluates it, hands in what came of it, until nothing is left to do."""

import errno
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar, final

from priorband.durable.messages import Assignment, Idle, Report
from priorband.durable.study import DurableStudy
from priorband.errors import PriorbandError, StorageError
from priorband.storage.spool import Spool
from priorband.values import frozen
from priorband.workers.checkpoint_cleanup import CheckpointCleanup
from priorband.workers.stop_signals import StopSignals
from priorband.workers.trial_process import Objective, end_strays
from priorband.workers.trial_runner import TrialRunner, WorkerOptions

SOON, POLL = 0.02, 0.5  # seconds between looks for work that others give back
COMPLAIN = 30.0  # seconds between messages about storage that does not answer
SLOWEST = 5.0  # seconds between tries
TRANSIENT = (errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.ENOMEM, errno.ESTALE, errno.EIO)

T = TypeVar("T")


@final
@frozen
class WorkerEnd:
    """Why a worker has stopped."""

    how: Literal["done", "stopped", "halted", "storage"]
    reason: str


@final
class Worker:
    """One worker of a study."""

    def __init__(  # noqa: PLR0913  # whom it works for, and whom it speaks to
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
        """Whether to say that it was asked to stop; in a pool that is said once for all."""
        self.stopping = StopSignals(self._asked_to_stop)
        self.evaluation = TrialRunner(study, objective, options, self.stopping, tick)
        self.keeping = CheckpointCleanup(study, self.evaluation.checkpoints)
        self._claims = 0
        self._spool = Spool(study.ledger.study)  # which the ledger forgets when a write fails

    def run(self) -> WorkerEnd:
        """Work until the budget is handed out and done, or until asked to stop."""
        with self.stopping:
            try:
                self._hand_in_spooled()
                return self._work()
            except KeyboardInterrupt:
                return WorkerEnd("stopped", self.stopping.why)
            except PriorbandError as error:
                return WorkerEnd("storage", str(error))

    def _work(self) -> WorkerEnd:
        report: Report | None = None
        idle = SOON
        while True:
            asking = "" if self.stopping.why else f"{self.study.worker}.{self._claims}"
            answer = self._turn(report, asking)
            if report is not None:
                self._tidy(report)
                report = None
            if self.stopping.why:
                if isinstance(answer, Assignment):  # the signal came while it was handed out
                    self._turn(self._given_back(answer, self.stopping.why), "")
                return WorkerEnd("stopped", self.stopping.why)
            if isinstance(answer, Assignment):
                self._claims += 1
                idle = SOON
                report = self._evaluated(answer)
                continue
            assert isinstance(answer, Idle)
            if answer.halted:
                return WorkerEnd("halted", answer.reason)
            if not (answer.running and self.options.wait):
                return WorkerEnd("done", answer.reason)
            self.tick()
            self._pause(idle)
            idle = min(idle * 2, POLL)

    def _given_back(self, claim: Assignment, why: str) -> Report:
        return Report(claim.trial.id, claim.attempt, None, "preempted", why)

    def _evaluated(self, claim: Assignment) -> Report:
        try:
            begun = self._patient(lambda: self.evaluation.begin(claim))
            return self.evaluation.finish(claim, begun)
        except KeyboardInterrupt:
            end_strays()
            if not self.stopping.why:  # raised by the objective, or by a handler that it has set
                self.stopping.why = "SIGINT"
                return self._given_back(claim, "KeyboardInterrupt")
            return self._given_back(claim, f"{self.stopping.why}, twice")
        except BaseException:
            end_strays()
            self.study.turn(self._given_back(claim, "the worker failed"), "")
            raise

    def _turn(self, report: Report | None, claim: str) -> Assignment | Idle | None:
        """Hand in and ask; a result that storage does not take is spooled while we wait."""
        kept: Path | None = None

        def on_trouble() -> None:
            nonlocal kept
            if report is not None and kept is None and report.kind != "preempted":
                kept = self._spool.put(f"{report.trial}-{report.attempt}", report.to_data())
                if kept:
                    self.say(f"The result of trial {report.trial} is kept in {kept} meanwhile.")

        try:
            answer = self._patient(lambda: self.study.turn(report, claim), on_trouble)
        except KeyboardInterrupt:
            on_trouble()
            if report is None:
                raise
            answer = self.study.turn(report, "")
        if kept is not None:
            kept.unlink(missing_ok=True)
        return answer

    def _patient(self, act: Callable[[], T], on_trouble: Callable[[], None] = lambda: None) -> T:
        """Do something, again and again with growing pauses while storage does not let us."""
        began, pause, told = time.monotonic(), 0.05, 0
        while True:
            try:
                done = act()
                break
            except OSError as error:  # a StorageError is one; so are full disks and process tables
                if not isinstance(error, StorageError) and error.errno not in TRANSIENT:
                    raise
                trouble = error
            on_trouble()
            waited = time.monotonic() - began
            most = self.options.grace if self.stopping.why else self.options.patience
            if waited > most:
                raise StorageError(f"Gave up after {waited:.0f} s: {trouble}") from trouble
            if waited > COMPLAIN * told:
                self.say(f"{trouble} Waiting for it, for up to {most - waited:.0f} s more.")
                told += 1
            self.tick()
            self._pause(pause * (0.5 + os.urandom(1)[0] / 255))
            pause = min(pause * 2, SLOWEST)
        if told:
            self.say(f"{self.study.where} answers again.")
        return done

    def _hand_in_spooled(self) -> None:
        """Results that an earlier worker on this machine could not hand in."""
        for path, data in self._spool.waiting().items():
            try:
                report = Report.from_data(data)
                self._patient(partial(self.study.turn, report, ""))
            except StorageError:  # ours to wait for: nobody may come after us
                raise
            except PriorbandError as error:
                self.say(f"{path} cannot be handed in: {error}")
                continue
            self.say(f"Handed in the result of trial {report.trial} from {path}.")
            self._spool.remove(path)

    def _tidy(self, report: Report) -> None:
        """Remove checkpoints that are of no more use."""
        try:
            if not self.evaluation.checkpoints.knows(report.trial):
                return
            outcome = self.study.state.history.outcome(report.trial)
            if outcome is not None and not outcome.failed:  # maybe by another attempt than ours
                winner = self.study.ledger.winners.get(report.trial, 1)
                self.evaluation.checkpoints.settle(report.trial, winner)
            if self.options.keep == "promotable":
                self.keeping.tidy()
        except OSError as error:
            self.say(f"Old checkpoints could not be removed: {error}")

    def _pause(self, seconds: float) -> None:
        """Wait, unless we are asked to stop meanwhile."""
        end, asked = time.monotonic() + seconds, self.stopping.times
        while time.monotonic() < end and self.stopping.times == asked:
            time.sleep(min(0.1, seconds))

    def _asked_to_stop(self, why: str, times: int) -> None:
        if times == 1 and self.announce:
            self.say(
                f"{why}: letting the running step finish, for at most {self.options.grace:g} s. "
                "Once more to stop at once."
            )
