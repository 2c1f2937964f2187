"""The durable study: the journal is the only record, and any process may ask and tell at any time.

All that this object holds is a cache of the records. A trial is handed out together with a lease;
the next worker that asks takes over the trials of dead workers. The first result of a trial counts,
no matter which worker reports it; a later one is kept as a remark.
"""

import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from priorband.arguments import (
    asked_trial,
    checked_cost,
    checked_failure_kind,
    checked_loss,
    checked_seconds,
    json_metrics,
    result_fidelity,
    running_trial,
    trial_fidelity,
)
from priorband.durable.budget import Budget, BudgetLike, Spending, as_budget
from priorband.durable.dispatch import Dispatcher
from priorband.durable.ledger import Ledger
from priorband.durable.messages import Assignment, Idle, Report, allowed_attempts
from priorband.durable.records import (
    AskedRecord,
    BudgetRecord,
    FailedRecord,
    QueuedRecord,
    Record,
    ToldRecord,
    decode,
)
from priorband.durable.snapshot import Snapshots
from priorband.durable.view import StudyView
from priorband.errors import ExhaustedError, TrialError
from priorband.events import Asked, Event, Queued, Told
from priorband.failures import FailureKind, split_reason
from priorband.problem import Problem
from priorband.replay import Replay
from priorband.state import State
from priorband.storage.checkpoints import Checkpoints
from priorband.storage.heartbeat import Heartbeat
from priorband.storage.identity import worker_name
from priorband.storage.journal import Journal, Transaction
from priorband.study import BaseStudy
from priorband.trial import IMPORTED, Observation, Trial

LEASE = 60.0


@final
class DurableStudy(BaseStudy):
    """A study in storage, as one process sees it. Made by `open_study`.

    It has the properties and methods of `Study`, and those that only a stored study needs.

    Args:
        journal: where the records are stored.
        problem: what the study is about.
        folder: where checkpoints are kept; None if there are none.
        lease: for how many seconds a worker may be silent before its trial goes to another one.
        retries: after how many attempts a trial has failed, by kind of failure.

    >>> import tempfile, priorband as pb
    >>> space = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = pb.open_study(folder, space, pb.Fidelity("epochs", 1, 9))
    ...     trial = study.ask()
    ...     study.tell(trial, 0.25)
    ...     study.close()
    ...     with pb.open_study(folder) as again:
    ...         again.best.loss
    True
    0.25
    """

    def __init__(
        self,
        journal: Journal,
        problem: Problem,
        folder: Path | None = None,
        lease: float = LEASE,
        retries: Mapping[str, int] | None = None,
    ) -> None:
        self.journal = journal
        self.problem = problem
        self.checkpoints = Checkpoints(folder) if folder else None
        self.worker = worker_name()
        self.heartbeat = Heartbeat(journal, self.worker, lease)
        self._view = StudyView(problem, journal.where, self.worker)
        self._snapshots = Snapshots(self._view, journal)
        self._dispatcher = Dispatcher(
            self._view, journal, self.checkpoints, allowed_attempts(retries), lease
        )
        self._lock = threading.RLock()
        self._unfinished: object = None
        """A transaction that has not ended; what it wrote may not be remembered."""
        self.refresh()
        self._dispatcher.opened_at = self.ledger.seq

    def __enter__(self) -> "DurableStudy":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        ended = self.state.history.observation_count
        return f"DurableStudy({self.where}, {ended} of {len(self.state.history)} trials ended)"

    def close(self) -> None:
        """Close files, connections and the thread. Trials that are held are left to others."""
        self.heartbeat.stop()
        with self._lock:
            if self._unfinished is None:
                self._snapshots.write_at_close()
        self.journal.close()

    @property
    def where(self) -> str:
        """The folder or the URL, without a password."""
        return self.journal.where

    @property
    def state(self) -> State:
        """The space, the prior, the ladder and the history, as of the last `refresh`."""
        return self._current_view().state

    @property
    def ledger(self) -> Ledger:
        """The attempts and the spending, as of the last `refresh`."""
        return self._current_view().ledger

    @property
    def budget(self) -> Budget:
        """The limits of the study."""
        return self.ledger.budget

    @property
    def maximize(self) -> bool:
        """Whether higher values are better: people then see the negative of each loss."""
        return self.ledger.maximize

    def spending(self) -> Spending:
        """Return what is used or handed out by now."""
        return self.ledger.spending(self.journal.now())

    def refresh(self) -> State:
        """Take in what others have written, without waiting for a lock. Return the new state."""
        with self._lock:
            self._forget_unfinished()
            self._snapshots.catch_up()
            return self._view.state

    def limit(self, budget: BudgetLike) -> None:
        """Set the budget of all workers together.

        Args:
            budget: a number of full trainings, or a `Budget`.

        Raises:
            ArgumentError: if it is neither.
        """
        wanted = as_budget(budget)
        with self._writing() as transaction:
            if wanted != self.ledger.budget:
                self._view.append(transaction, BudgetRecord(wanted))

    def ask(self, hold: float | None = None) -> Trial:
        """Return the next trial to evaluate. This process holds it until it tells, or ends.

        Args:
            hold: for how many seconds nobody else gets the trial, even if this process ends.

        Raises:
            ExhaustedError: if nothing is left to try, or the budget is handed out.
            ArgumentError: if `hold` is not a number above 0.
        """
        seconds = None if hold is None else checked_seconds("hold", hold)
        with self._writing() as transaction:
            answer = self._dispatcher.assign(transaction, "", seconds)
        if isinstance(answer, Idle):
            raise ExhaustedError(f"{answer.reason} {answer.running} trials are still running.")
        if hold is None:
            self.heartbeat.hold(answer.trial.id, answer.attempt)
        return answer.trial

    def tell(
        self, trial: Trial | int, loss: Any, *, cost: float | None = None, **metrics: Any
    ) -> bool:
        number = checked_loss(loss)
        details: dict[str, Any] = {} if cost is None else {"cost": checked_cost(cost)}
        if metrics:
            details["metrics"] = json_metrics(metrics)
        ids = self._trial_and_attempt(trial)
        if math.isfinite(number):
            return self._settle(Report(*ids, number, details=details))
        return self._settle(Report(*ids, None, "diverged", f"the loss was {number}", details))

    def fail(self, trial: Trial | int, reason: object = "", kind: FailureKind = "raised") -> bool:
        kind = checked_failure_kind(kind)
        return self._settle(Report(*self._trial_and_attempt(trial), None, kind, str(reason)))

    def queue(self, config: Mapping[str, Any], fidelity: float | None = None) -> None:
        at = trial_fidelity(fidelity, self.problem.fidelity, self._view.state.ladder)
        checked = self._view.write_config(self.problem.space.check(config))
        with self._writing() as transaction:
            self._view.append(transaction, QueuedRecord(checked, at))

    def add(
        self, config: Mapping[str, Any], loss: Any, fidelity: float | None = None
    ) -> Observation:
        checked, number = self.problem.space.check(config), checked_loss(loss)
        full = self.problem.fidelity.high if fidelity is None else fidelity
        at = result_fidelity(full, self.problem.fidelity, self._view.state.ladder)
        with self._writing() as transaction:
            new = len(self._view.state.history)
            trial = Trial(new, checked, at, None, None, IMPORTED, new)
            asked = AskedRecord.of(trial, self._view.write_config)
            end: Record = ToldRecord(new, 0, number)
            if not math.isfinite(number):
                end = FailedRecord(new, 0, "diverged", f"the loss was {number}")
            self._view.append(transaction, asked, trial)
            self._view.append(transaction, end)
        outcome = self._view.state.history.outcome(new)
        assert outcome is not None
        return outcome

    def follow(self, events: Iterable[Event]) -> None:
        with self._writing() as transaction:
            for event in events:
                trial = event.trial if isinstance(event, Asked) else None
                self._view.append(transaction, self._record(event), trial)

    def _record(self, event: Event) -> Record:
        """The record of an event that happened elsewhere."""
        view = self._view
        match event:
            case Asked(trial):
                parent = trial.parent
                start = 0 if parent is None else view.state.history.trial(parent).fidelity
                return AskedRecord.of(trial, view.write_config, start)
            case Queued(config, fidelity):
                return QueuedRecord(view.write_config(config), fidelity)
        opened = view.ledger.running.get(event.trial)
        attempt = opened.attempt if opened else 0
        if isinstance(event, Told):
            return ToldRecord(event.trial, attempt, event.loss)
        return FailedRecord(event.trial, attempt, *split_reason(event.reason))

    def replay(self) -> Replay:
        """Make every decision again, from the records alone, and compare.

        Returns:
            The decisions by trial id; `exact` says whether all came out as recorded.
        """
        with self._lock:
            self._forget_unfinished()
            self._snapshots.read_all_records()
        return super().replay()

    def metrics(self, trial: Trial | int) -> Mapping[str, Any]:
        self.refresh()
        number = asked_trial(self.state.history, trial).id
        for row in self.journal.trial_rows(number):
            record = decode(row)
            if isinstance(record, ToldRecord | FailedRecord):
                cost = {} if record.cost is None else {"cost": record.cost}
                return {**record.details.get("metrics", {}), **cost}
        return {}

    def retry(self, trials: Sequence[int]) -> None:
        """Queue the configurations of failed trials again.

        The failed trials stay as they are: what was decided since does not change.

        Args:
            trials: the ids of the trials.

        Raises:
            TrialError: if a trial is unknown, or has not failed.
        """
        with self._writing() as transaction:
            history = self._view.state.history
            for number in trials:
                outcome = history.outcome(asked_trial(history, number).id)
                if outcome is None or not outcome.failed:
                    raise TrialError(
                        f"Trial {number} has not failed. Only failed trials can be retried."
                    )
                at = outcome.fidelity if outcome.trial.parent is not None else None
                again = QueuedRecord(self._view.write_config(outcome.config), at)
                self._view.append(transaction, again)

    def turn(self, report: Report | None, request: str) -> Assignment | Idle | None:
        """Hand in a worker's report and get its next trial, in one transaction.

        Args:
            report: the outcome of the worker's last attempt, if it has one.
            request: the worker's own name for what it asks, so that asking again after a lost
                answer gives the same trial; empty to ask for none.

        Returns:
            The assignment, or why there is none; None if none was asked for.
        """
        with self._writing() as transaction:
            if report is not None:
                self._dispatcher.settle(transaction, report)
            answer = self._dispatcher.assign(transaction, request) if request else None
        if report is not None:
            self.heartbeat.release(report.trial)
        if isinstance(answer, Assignment):
            self.heartbeat.hold(answer.trial.id, answer.attempt)
        return answer

    def _settle(self, report: Report) -> bool:
        with self._writing() as transaction:
            counts = self._dispatcher.settle(transaction, report, final=True)
        self.heartbeat.release(report.trial)
        return counts

    def _trial_and_attempt(self, trial: Trial | int) -> tuple[int, int]:
        """A trial's id and attempt; raise `TrialError` if it is unknown or has ended."""
        number = trial.id if isinstance(trial, Trial) else trial
        attempt = self.heartbeat.attempt(number) if isinstance(number, int) else None
        if attempt is None:  # another process has asked it, or it has ended
            self.refresh()
        number = asked_trial(self.state.history, trial).id
        if attempt is None:
            running_trial(self._view.state.history, number)
            attempt = self.ledger.running[number].attempt
        return number, attempt

    def _current_view(self) -> StudyView:
        """The view; built again if it was dropped after a write that failed."""
        if not self._view.ledger.seq:
            self.refresh()
        return self._view

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """A transaction, after taking in all that others have written."""
        with self._lock:
            self._forget_unfinished()
            if not self._view.ledger.seq:
                self._snapshots.catch_up()  # before the lock is held
            self._unfinished = mine = object()
            transaction: Transaction | None = None
            try:
                after = self._view.ledger.seq
                with self.journal.transaction(after, self._view.apply) as transaction:
                    self._view.apply(transaction.rows)
                    yield transaction
                self._unfinished = None
            except BaseException:
                if self._unfinished is mine:  # and not a later one, begun in a signal handler
                    if transaction is None or not transaction.appended:
                        self._unfinished = None
                    self._forget_unfinished()
                raise
            self._snapshots.write_if_due(transaction.appended)

    def _forget_unfinished(self) -> None:
        """Drop the view if a transaction did not end: a signal may come at any moment."""
        if self._unfinished is not None:
            self._view.forget()
            self._unfinished = None
