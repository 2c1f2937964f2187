"""The durable study: the journal is the truth, and any process may ask and tell at any time.

All that this object holds is a cache of the records, which may be dropped at any moment. A trial is
claimed together with a lease; whoever asks next takes over what dead workers have left. The first
result of a trial counts, whoever brings it; a later one is kept as a remark.
"""

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from priorband.arguments import (
    any_fidelity,
    given_cost,
    given_loss,
    given_seconds,
    known_trial,
    plain_metrics,
    running_trial,
    trial_fidelity,
)
from priorband.durable.budget import Budget, Spending, budget
from priorband.durable.dispatch import Dispatcher
from priorband.durable.ledger import FailureKind, Ledger
from priorband.durable.messages import Assignment, Idle, Report, attempts
from priorband.durable.problem import Problem
from priorband.durable.view import StudyView
from priorband.errors import ExhaustedError, TrialError
from priorband.replay import Replay, replayed
from priorband.state import State
from priorband.storage.checkpoints import Checkpoints
from priorband.storage.heartbeat import Heartbeat
from priorband.storage.identity import worker_name
from priorband.storage.journal import Journal, Transaction
from priorband.storage.json_text import Entry
from priorband.trial import IMPORTED, Observation, Trial

LEASE = 60.0


@final
class DurableStudy:
    """A study in storage, as one process sees it. Made by `open_study`.

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
        self.pulse = Heartbeat(journal, self.worker, lease)
        self._folded = StudyView(problem, journal.where, self.worker)
        self._dealer = Dispatcher(self._folded, journal, self.checkpoints, attempts(retries), lease)
        self._lock = threading.RLock()
        self._turn: object = None
        self.refresh()
        self._dealer.opened_at = self.ledger.seq

    def __enter__(self) -> "DurableStudy":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        ended = len(self.state.history.observations)
        return f"DurableStudy({self.where}, {ended} of {len(self.state.history)} trials ended)"

    def close(self) -> None:
        """Let go of files, connections and the thread. Trials held are left to others."""
        self.pulse.stop()
        self.journal.close()

    @property
    def where(self) -> str:
        """The folder or the address, without a password."""
        return self.journal.where

    @property
    def state(self) -> State:
        """The space, the prior, the ladder and the history, as of the last look."""
        return self._known().state

    @property
    def ledger(self) -> Ledger:
        """The attempts and the accounts, as of the last look."""
        return self._known().ledger

    @property
    def best(self) -> Observation | None:
        """The lowest loss seen at any fidelity; None before the first."""
        return self.state.history.best

    @property
    def best_in_full(self) -> Observation | None:
        """The lowest loss of a full training; None before the first."""
        return self.state.history.best_at(self.problem.fidelity.high)

    @property
    def budget(self) -> Budget:
        """What may be used."""
        return self.ledger.budget

    @property
    def maximize(self) -> bool:
        """Whether people see the negative of each loss."""
        return self.ledger.maximize

    def spending(self) -> Spending:
        """What is used or handed out by now."""
        return self.ledger.spending(self.journal.now())

    def refresh(self) -> State:
        """Take in what others have written, without waiting for anybody."""
        with self._lock:
            self._forget_unended()
            self._folded.take(self.journal.read(self._folded.ledger.seq))
            return self._folded.state

    def limit(self, given: Any) -> None:
        """Set the budget of all workers together: a number of full trainings, or a `Budget`."""
        wanted = budget(given)
        with self._writing() as transaction:
            if wanted != self.ledger.budget:
                self._folded.append(transaction, Entry("budget", None, dict(wanted.limits)))

    def ask(self, hold: float | None = None) -> Trial:
        """The next trial to evaluate; this process holds it until it tells, or ends.

        With `hold` the trial is bound to no process: for so many seconds nobody else gets it.
        """
        seconds = None if hold is None else given_seconds("hold", hold)
        with self._writing() as transaction:
            answer = self._dealer.claim(transaction, "", seconds)
        if isinstance(answer, Idle):
            raise ExhaustedError(f"{answer.reason} {answer.running} trials are still running.")
        if hold is None:
            self.pulse.hold(answer.trial.id, answer.attempt)
        return answer.trial

    def tell(self, trial: Trial | int, loss: Any, **metrics: Any) -> bool:
        """What an evaluation brought; False if another attempt had ended the trial before."""
        number = given_loss(loss)
        report = self._by_hand(trial)
        details: dict[str, Any] = {}
        if metrics.get("cost") is not None:
            details["cost"] = given_cost(metrics.pop("cost"))
        if metrics:
            details["metrics"] = plain_metrics(metrics)
        if math.isfinite(number):
            return self._told(Report(*report, number, details=details))
        return self._told(Report(*report, None, "diverged", f"the loss was {number}", details))

    def fail(self, trial: Trial | int, reason: object = "", kind: FailureKind = "raised") -> bool:
        """An evaluation brought no loss: its slot is filled, and it is never promoted."""
        return self._told(Report(*self._by_hand(trial), None, kind, str(reason)))

    def queue(self, config: Mapping[str, Any], fidelity: float | None = None) -> None:
        """A known configuration to try next, as `Study.queue`."""
        at = trial_fidelity(fidelity, self.problem.fidelity, self._folded.state.ladder)
        checked = self._folded.write(self.problem.space.check(config))
        with self._writing() as transaction:
            self._folded.append(
                transaction, Entry("queued", None, {"config": checked, "fidelity": at})
            )

    def add(
        self, config: Mapping[str, Any], loss: Any, fidelity: float | None = None
    ) -> Observation:
        """A finished result from elsewhere, as `Study.add`."""
        checked, number = self.problem.space.check(config), given_loss(loss)
        full = self.problem.fidelity.high if fidelity is None else fidelity
        at = any_fidelity(full, self.problem.fidelity, self._folded.state.ladder)
        with self._writing() as transaction:
            new = len(self._folded.state.history)
            trial = Trial(new, checked, at, None, None, IMPORTED, new)
            self._folded.append(transaction, self._dealer.asked(trial), trial)
            failed = {"attempt": 0, "kind": "diverged", "reason": f"the loss was {number}"}
            told = {"attempt": 0, "loss": number}
            kind, ended = ("told", told) if math.isfinite(number) else ("failed", failed)
            self._folded.append(transaction, Entry(kind, new, ended))
        outcome = self._folded.state.history.outcome(new)
        assert outcome is not None
        return outcome

    def retry(self, trials: Sequence[int]) -> None:
        """Queue the configurations of failed trials: what was decided since stays decided."""
        with self._writing() as transaction:
            for number in trials:
                outcome = self._folded.state.history.outcome(
                    known_trial(self._folded.state.history, number).id
                )
                if outcome is None or not outcome.failed:
                    raise TrialError(
                        f"Trial {number} has not failed. Only failed ones are retried."
                    )
                again = self._folded.write(outcome.config)
                at = outcome.fidelity if outcome.trial.parent is not None else None
                self._folded.append(
                    transaction, Entry("queued", None, {"config": again, "fidelity": at})
                )

    def replay(self) -> Replay:
        """Each decision made again from what was known when it was made."""
        start = self._folded.start()
        return replayed(
            self.problem.optimizer, self.problem.seed, start, self._folded.state.history.events
        )

    def turn(self, report: Report | None, claim: str) -> Assignment | Idle | None:
        """Hand in what a worker has, and take the next trial, in one transaction.

        `claim` is a word of the worker's own for what it asks, so that asking again after an
        answer was lost gives the same trial; empty to ask for none.
        """
        with self._writing() as transaction:
            if report is not None:
                self._dealer.settle(transaction, report)
            answer = self._dealer.claim(transaction, claim) if claim else None
        if report is not None:
            self.pulse.let_go(report.trial)
        if isinstance(answer, Assignment):
            self.pulse.hold(answer.trial.id, answer.attempt)
        return answer

    def _told(self, report: Report) -> bool:
        with self._writing() as transaction:
            counted = self._dealer.settle(transaction, report, final=True)
        self.pulse.let_go(report.trial)
        return counted

    def _by_hand(self, trial: Trial | int) -> tuple[int, int]:
        """A trial's id and attempt, or an error where the same hand tells it twice."""
        number = trial.id if isinstance(trial, Trial) else trial
        attempt = self.pulse.attempt(number) if isinstance(number, int) else None
        if attempt is None:  # another process has asked it, or it has ended
            self.refresh()
        number = known_trial(self.state.history, trial).id
        if attempt is None:
            running_trial(self._folded.state.history, number)
            attempt = self.ledger.running[number].attempt
        return number, attempt

    def _known(self) -> StudyView:
        """What is known of the study; read anew if it was dropped after a write that failed."""
        if not self._folded.ledger.seq:
            self.refresh()
        return self._folded

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """A turn to write, with all that others have written taken in."""
        with self._lock:
            self._forget_unended()
            self._turn = mine = object()
            transaction: Transaction | None = None
            try:
                after = self._folded.ledger.seq
                with self.journal.transaction(after, self._folded.take) as transaction:
                    self._folded.take(transaction.rows)
                    yield transaction
                self._turn = None
            except BaseException:
                if self._turn is mine:  # and not yet another's, after a signal
                    if transaction is None or not transaction.appended:
                        self._turn = None
                    self._forget_unended()  # what was not written may not be remembered
                raise

    def _forget_unended(self) -> None:
        """Drop what is known, if a turn has not come to its end: a signal may come anywhere."""
        if self._turn is not None:
            self._folded.forget()
            self._turn = None
