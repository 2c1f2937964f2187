"""Dispatch: which worker gets which trial, and which result counts, within a transaction."""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, final

from priorband.durable.budget import limit_text
from priorband.durable.clients import Client
from priorband.durable.expiry import expire, would_expire
from priorband.durable.ledger import OpenTrial
from priorband.durable.messages import Assignment, Idle, Report
from priorband.durable.records import (
    NO_DETAILS,
    AdoptedRecord,
    AskedRecord,
    FailedRecord,
    Record,
    RemarkRecord,
    ReturnedRecord,
    ToldRecord,
    decode,
)
from priorband.durable.view import StudyView
from priorband.errors import ExhaustedError
from priorband.failures import FailureKind
from priorband.space.config import Config
from priorband.storage.checkpoints import Checkpoints
from priorband.storage.journal import Journal, Lease, Transaction
from priorband.trial import IMPORTED, Trial
from priorband.values import replaced

SAME_FAILURES = 3
"""How often the first trials may fail in the same way before the study halts."""
FEW_LEASES = 8
"""With more running trials than these, workers look for dead workers less often."""
SHORT_WAIT = 0.02
"""Seconds between two looks of a worker for dead workers, if few trials are running."""
LOOKS_PER_SECOND = 16
"""How often all workers of a study together look for dead workers, if many trials are running."""


@final
class Looks:
    """When this process last looked for dead workers, and for how many it takes turns."""

    def __init__(self) -> None:
        self.at = -math.inf
        """When it last looked, by `time.monotonic`."""
        self.workers = 1
        """How many workers' turns the last transaction took: its own, and those that were posted.

        The others do not look while this process takes their turns.
        """
        self.reported: Collection[int] = ()
        """The trials that posted turns report, and that this process is about to settle.

        If a worker has died after that, its trial is not lost.
        """


@final
class Dispatcher:
    """Hands out trials and takes in reports, for one worker."""

    def __init__(
        self,
        view: StudyView,
        journal: Journal,
        checkpoints: Checkpoints | None,
        client: Client,
        looks: Looks | None = None,
    ) -> None:
        self.view = view
        self.journal = journal
        self.checkpoints = checkpoints
        self.client = client
        """The worker that reports and asks."""
        self.looks = looks or Looks()

    def on_behalf_of(self, client: Client) -> "Dispatcher":
        """A dispatcher for another worker, whose turn this process takes."""
        return Dispatcher(self.view, self.journal, self.checkpoints, client, self.looks)

    def look_is_due(self, request: str) -> bool:
        """Whether to look for dead workers; `request` is a worker's, or empty for others.

        Reading the leases and asking for each process takes as long as the rest of a request, and
        longer if there are many. So a worker with short trials does not look each time, unless
        nothing else is left to hand out.
        """
        running = len(self.view.ledger.running)
        if running > FEW_LEASES:
            wait = running / LOOKS_PER_SECOND / self.looks.workers
        else:
            wait = SHORT_WAIT if request else 0.0
        return bool(running) and time.monotonic() - self.looks.at >= wait

    def assign(
        self, transaction: Transaction, request: str, hold: float | None = None
    ) -> Assignment | Idle:
        """Hand out the next trial with a lease; trials of dead workers come first.

        A `request` that was answered before gets the same trial again. With `hold` the lease is
        tied to no process and lasts for that many seconds.
        """
        look = self.look_is_due(request)
        if look:
            self._look_for_dead_workers(transaction)
        for opened in self.view.ledger.running.values():
            if request and opened.held and opened.request == request:
                transaction.confirmed = True
                return self._assignment(opened)
        found = self._next(transaction, request)
        if isinstance(found, Idle) and not look:
            self._look_for_dead_workers(transaction)
            found = self._next(transaction, request)
        if isinstance(found, Idle):
            return found
        transaction.write_lease(self._lease(found, transaction.now, hold))
        return self._assignment(found)

    def _next(self, transaction: Transaction, request: str) -> OpenTrial | Idle:
        """The next attempt, written down; a trial that was given back comes first."""
        view = self.view
        if view.ledger.waiting:
            opened = view.ledger.waiting[min(view.ledger.waiting)]
            trial, attempt = opened.trial.id, opened.attempt + 1
            self._append(transaction, AdoptedRecord(trial, attempt, opened.start, request))
            return opened
        new = self._propose(transaction.now, lambda: transaction.leases, by_worker=bool(request))
        if isinstance(new, Idle):
            return new
        start = self._start(new, request)
        record = AskedRecord.of(new, view.write_config, start, request)
        self._append(transaction, record, new)
        return view.ledger.running[new.id]

    def is_idle(self) -> bool:
        """Whether there is nothing to hand out while others run trials, without the write lock."""
        ledger = self.view.ledger
        if ledger.waiting or not ledger.running:
            return False
        now = self.journal.now()
        if self.look_is_due(""):  # who waits asks rarely
            self.looks.at = time.monotonic()
            if would_expire(ledger, self.journal.leases(), now):
                return False
        proposed = self._propose(now, self.journal.leases, by_worker=True)
        return isinstance(proposed, Idle) and not proposed.halted

    def _append(self, transaction: Transaction, record: Record, trial: Trial | None = None) -> None:
        self.view.append(transaction, record, trial, self.client.worker)

    def _look_for_dead_workers(self, transaction: Transaction) -> None:
        self.looks.at = time.monotonic()
        most = self.client.attempts["lost"]
        for lost in expire(self.view.ledger, transaction, most, self.looks.reported):
            self._append(transaction, lost)

    def _lease(self, opened: OpenTrial, now: float, hold: float | None) -> Lease:
        client = self.client
        seconds, owner = client.lease if hold is None else hold, client.owner
        if hold is not None:
            owner = replaced(owner, pid=0, started="")
        until = now + seconds
        return Lease(opened.trial.id, opened.attempt, client.worker, owner, until, seconds)

    def _assignment(self, opened: OpenTrial) -> Assignment:
        trial, begun = opened.trial, (opened.start, opened.since)
        if trial.parent is None:
            return Assignment(trial, opened.attempt, None, *begun)
        winner = self.view.ledger.winners.get(trial.parent, 1)
        reached = self.view.state.history.trial(trial.parent).fidelity
        return Assignment(trial, opened.attempt, winner, *begun, reached)

    def _reached(self, now: float, leases: Callable[[], Sequence[Lease]]) -> tuple[str, ...]:
        """The limits that leave no room; the leases are only read where they matter."""
        ledger = self.view.ledger
        reached = ledger.spending(now).reached(ledger.budget)
        if "hours" in reached:
            reached = ledger.spending(now, leases()).reached(ledger.budget)
        return reached

    def _propose(
        self, now: float, leases: Callable[[], Sequence[Lease]], by_worker: bool
    ) -> Trial | Idle:
        """The trial that the method wants next, or why there is none.

        Only workers are halted: who asks by hand sees the failures, and decides.
        """
        view = self.view
        ledger, running = view.ledger, len(view.ledger.running)
        reached = self._reached(now, leases)
        if reached:
            limits = ledger.budget.limits
            spent = " and ".join(limit_text(limits[name], name) for name in reached)
            state = "handed out" if running else "spent"
            return Idle(f"The budget of {spent} is {state}.", running)
        if by_worker and self._keeps_failing():
            total, what = ledger.repeated.times, ledger.repeated.what.strip()
            return Idle(
                f"The first {total} trials all failed in the same way ({what}). The study is "
                "stopped, since none has succeeded.",
                running,
                halted=True,
            )
        try:
            return view.problem.optimizer.propose(view.state, view.problem.seed)
        except ExhaustedError as error:
            return Idle(str(error), running)

    def _keeps_failing(self) -> bool:
        """Whether no trial has succeeded, and the last ones since opening failed in the same way.

        Whoever opens a study that was halted has perhaps fixed the objective. So only the failures
        since then count.
        """
        _, times, since = self.view.ledger.repeated
        opened_with = self.client.opened_with
        before = opened_with.times if opened_with.since == since else 0
        return times - before >= SAME_FAILURES and not self.view.state.history.finished

    def _start(self, trial: Trial, request: str) -> float:
        """How much of a trial its parent has trained: nothing if it left no checkpoint."""
        if trial.parent is None:
            return 0
        reached = self.view.state.history.trial(trial.parent).fidelity
        if not request or self.checkpoints is None:  # asked by hand: the asker continues, or not
            return reached
        attempt = self.view.ledger.winners.get(trial.parent, 1)
        return reached if self.checkpoints.left_by(trial.parent, attempt) else 0

    def settle(self, transaction: Transaction, report: Report, final: bool = False) -> bool:
        """Write down the outcome of an attempt. Return whether it counts.

        With `final` the trial gets no further attempt.
        """
        opened = self.view.ledger.running.get(report.trial)
        if opened is None or not 1 <= report.attempt <= opened.attempt:
            return self._settle_late(transaction, report)
        trial, attempt = report.trial, report.attempt
        if report.loss is not None:
            told = ToldRecord(trial, attempt, report.loss, report.details)
            self._append(transaction, told)
        elif opened.attempt != attempt or not opened.held:
            return self._settle_late(transaction, report)
        else:
            kind = report.failure or "raised"
            if final or opened.failures(kind) + 1 >= self.client.attempts[kind]:
                failed = FailedRecord(trial, attempt, kind, report.reason, report.details)
                self._append(transaction, failed)
            else:
                returned = ReturnedRecord(trial, attempt, kind, report.reason)
                self._append(transaction, returned)
        transaction.drop(trial)
        return True

    def _settle_late(self, transaction: Transaction, report: Report) -> bool:
        """Keep a report that came second as a remark, unless it is written already.

        A loss for a trial that has failed meanwhile is also added as an imported result. The failed
        trial stays as it is, since what was decided since depends on it.
        """
        outcome = (report.attempt, report.loss, report.failure)
        records = [decode(row) for row in self.journal.trial_rows(report.trial)]
        for record in records:
            if outcome == _outcome(record):
                transaction.confirmed = True
                return not isinstance(record, RemarkRecord)
        what = report.reason if report.loss is None else f"a loss of {report.loss!r}"
        adds = report.loss is not None and _is_first_result(report.attempt, records)
        new = f"; added as trial {len(self.view.state.history)}" if adds else ""
        remark = RemarkRecord(
            report.trial, f"came too late: {what}{new}", *outcome, details=report.details
        )
        self._append(transaction, remark)
        if adds:
            assert report.loss is not None
            trial, source = self.view.state.history.trial(report.trial), dict(report.details)
            source |= {"from_trial": report.trial, "from_attempt": report.attempt}
            self.add_result(transaction, trial.config, trial.fidelity, report.loss, source)
        return False

    def add_result(  # noqa: PLR0913  # everything that a result has
        self,
        transaction: Transaction,
        config: Config,
        fidelity: float,
        loss: float,
        details: Mapping[str, Any] = NO_DETAILS,
    ) -> int:
        """Write a result as an imported trial, outside the schedule, and return its id."""
        new = len(self.view.state.history)
        trial = Trial(new, config, fidelity, None, None, IMPORTED, new)
        self._append(transaction, AskedRecord.of(trial, self.view.write_config), trial)
        end: Record = ToldRecord(new, 0, loss, details)
        if not math.isfinite(loss):
            end = FailedRecord(new, 0, "diverged", f"the loss was {loss}", details)
        self._append(transaction, end)
        return new


def _is_first_result(attempt: int, records: Sequence[Record]) -> bool:
    """Whether a late loss of an attempt is the first that counts for its trial, which has failed.

    It does not count if the attempt was never made, or has itself reported a failure.
    """
    begun = sum(isinstance(r, AdoptedRecord) for r in records)
    begun += sum(isinstance(r, AskedRecord) and not r.imported for r in records)
    ends = [r for r in records if isinstance(r, FailedRecord | ReturnedRecord)]
    reported = {r.attempt for r in ends if r.failure not in ("lost", "preempted")}
    credible = {*range(1, begun + 1)} - reported
    late = {r.attempt for r in records if isinstance(r, RemarkRecord) and r.loss is not None}
    failed = any(isinstance(r, FailedRecord) for r in ends)
    return failed and attempt in credible and not late & credible


def _outcome(record: object) -> tuple[int | None, float | None, FailureKind | None] | None:
    """The attempt, loss and kind of failure of a record that ends an attempt; None for others."""
    match record:
        case ToldRecord():
            return record.attempt, record.loss, None
        case FailedRecord() | ReturnedRecord():
            return record.attempt, None, record.failure
        case RemarkRecord():
            return record.attempt, record.loss, record.failure
    return None
