"""The dealer hands out trials and takes in results, within a transaction."""

from typing import Any, final

from priorband.durable.expiry import reap
from priorband.durable.ledger import FailureKind
from priorband.durable.messages import Assignment, Idle, Report
from priorband.durable.view import StudyView
from priorband.errors import ExhaustedError
from priorband.storage.checkpoints import Checkpoints
from priorband.storage.identity import me
from priorband.storage.journal import Journal, Lease, Transaction
from priorband.storage.json_text import Entry, body
from priorband.trial import IMPORTED, Trial

SAME_FAILURES = 3


@final
class Dispatcher:
    """Rules for who gets which trial, and which result counts."""

    def __init__(
        self,
        folded: StudyView,
        journal: Journal,
        checkpoints: Checkpoints | None,
        attempts: dict[FailureKind, int],
        lease: float,
    ) -> None:
        self.folded = folded
        self.journal = journal
        self.checkpoints = checkpoints
        self.attempts = attempts
        self.lease = lease
        self.opened_at = 0
        """The last record when the study was opened: earlier failures are forgiven."""

    def claim(
        self, transaction: Transaction, claim: str, hold: float | None = None
    ) -> Assignment | Idle:
        """The next trial for a worker, with a lease; what dead workers have left comes first."""
        for entry in reap(self.folded.ledger, transaction, self.attempts["lost"]):
            self.folded.append(transaction, entry)
        for opened in self.folded.ledger.running.values():
            if claim and opened.held and opened.claim == claim:
                return self._claimed(opened.trial, opened.attempt, opened.start)
        if self.folded.ledger.waiting:
            opened = self.folded.ledger.waiting[min(self.folded.ledger.waiting)]
            again = {"attempt": opened.attempt + 1, "claim": claim, "start": opened.start}
            self.folded.append(transaction, Entry("adopted", opened.trial.id, again))
        else:
            idle = self._nothing_left(transaction.now)
            if idle is not None:
                return idle
            try:
                trial = self.folded.problem.optimizer.propose(
                    self.folded.state, self.folded.problem.seed
                )
            except ExhaustedError as error:
                return Idle(str(error), len(self.folded.ledger.running))
            self.folded.append(transaction, self.asked(trial, claim), trial)
            opened = self.folded.ledger.running[trial.id]
        seconds, owner = self.lease if hold is None else hold, me()
        if hold is not None:
            owner = type(owner)(owner.host, owner.machine, owner.place, 0, "")
        until = transaction.now + seconds
        lease = (opened.trial.id, opened.attempt, self.folded.worker, owner, until, seconds)
        transaction.claim(Lease(*lease))
        return self._claimed(opened.trial, opened.attempt, opened.start)

    def _claimed(self, trial: Trial, attempt: int, start: float) -> Assignment:
        parent = None if trial.parent is None else self.folded.ledger.winners.get(trial.parent, 1)
        return Assignment(trial, attempt, parent, start)

    def _nothing_left(self, now: float) -> Idle | None:
        running = len(self.folded.ledger.running)
        reached = self.folded.ledger.spending(now).reached(self.folded.ledger.budget)
        if reached:
            limits = self.folded.ledger.budget.limits
            spent = " and ".join(f"{limits[name]:g} {name}" for name in reached)
            how = "handed out" if running else "spent"
            return Idle(f"The budget of {spent} is {how}.", running)
        what, times, since = self.folded.ledger.trouble
        if (
            times >= SAME_FAILURES
            and since > self.opened_at
            and not self.folded.state.history.finished
        ):
            return Idle(
                f"The first {times} trials all failed in the same way ({what.strip()}). Mend the "
                "objective and start again; `priorband retry` runs them anew.",
                running,
                halted=True,
            )
        return None

    def asked(self, trial: Trial, claim: str = "") -> Entry:
        """The record that hands out a trial."""
        about: dict[str, Any] = {"fidelity": trial.fidelity, "origin": trial.origin}
        if trial.slot is not None:
            about["slot"] = list(trial.slot)
        if trial.parent is None:
            about["config"] = self.folded.write(trial.config)
        else:
            about["parent"] = trial.parent
        if trial.origin != IMPORTED:
            about |= {"start": self._continued(trial, claim), "claim": claim}
        return Entry("asked", trial.id, about)

    def _continued(self, trial: Trial, claim: str) -> float:
        """How much of a trial its parent has trained: nothing if it left no checkpoint."""
        if trial.parent is None:
            return 0
        reached = self.folded.state.history.trial(trial.parent).fidelity
        if not claim or self.checkpoints is None:  # asked by hand: the asker continues, or not
            return reached
        attempt = self.folded.ledger.winners.get(trial.parent, 1)
        return reached if self.checkpoints.left_by(trial.parent, attempt) else 0

    def settle(self, transaction: Transaction, report: Report, final: bool = False) -> bool:
        """Write down what came of an attempt; whether it counts. `final` leaves no further one."""
        opened = self.folded.ledger.running.get(report.trial)
        if opened is None:
            return self._late(transaction, report)
        if report.loss is not None:
            ended = {**report.details, "attempt": report.attempt, "loss": report.loss}
            self.folded.append(transaction, Entry("told", report.trial, ended))
        elif opened.attempt != report.attempt or not opened.held:
            return self._late(transaction, report)
        else:
            kind = report.kind or "raised"
            ended = {"attempt": report.attempt, "kind": kind, "reason": report.reason}
            last = final or opened.ended(kind) + 1 >= self.attempts[kind]
            ended = {**report.details, **ended} if last else ended
            self.folded.append(
                transaction, Entry("failed" if last else "returned", report.trial, ended)
            )
        transaction.drop(report.trial)
        return True

    def _late(self, transaction: Transaction, report: Report) -> bool:
        """A report that comes second is kept as a remark, unless it is written already."""
        for row in self.journal.about(report.trial):
            if row.kind in ("told", "failed", "returned", "remark"):
                known = body(row.body)
                same = [known.get(name) for name in ("attempt", "loss", "kind")]
                if same == [report.attempt, report.loss, report.kind]:
                    transaction.confirmed = True
                    return row.kind != "remark"
        what = report.reason if report.loss is None else f"a loss of {report.loss!r}"
        late = {"attempt": report.attempt, "text": f"came too late: {what}"}
        late = {**report.details, **late, "loss": report.loss, "kind": report.kind}
        self.folded.append(transaction, Entry("remark", report.trial, late))
        return False
