"""The durable study: the journal is the only record, and any process may ask and tell at any time.

All that this object holds is a cache of the records. A trial is handed out together with a lease;
the next worker that asks takes over the trials of dead workers. The first result of a trial counts,
no matter which worker reports it; a later one is kept as a remark. A loss that comes after the
trial has failed is also added as an imported result.
"""

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, final, overload

from priorband.arguments import (
    asked_trial,
    checked_cost,
    checked_count,
    checked_failure_kind,
    checked_loss,
    checked_prior,
    checked_seconds,
    json_metrics,
    result_fidelity,
    retryable_trial,
    running_trial,
    trial_fidelity,
)
from priorband.durable.budget import Budget, BudgetLike, Spending, as_budget
from priorband.durable.clients import Client, OpenedWith
from priorband.durable.dispatch import Dispatcher
from priorband.durable.ledger import Ledger
from priorband.durable.lost_attempts import lost_attempts
from priorband.durable.messages import Assignment, Idle, Report, allowed_attempts
from priorband.durable.notes import Note, NoteReader, note_record, removal_record
from priorband.durable.problem_data import changed_prior_data
from priorband.durable.records import (
    AskedRecord,
    BudgetRecord,
    FailedRecord,
    PriorRecord,
    QueuedRecord,
    Record,
    ToldRecord,
    decode,
)
from priorband.durable.snapshot import Snapshots
from priorband.durable.study_records import best_checkpoint, reported_points, stored_trials
from priorband.durable.turns import (
    Answer,
    PostedTurn,
    RefusedError,
    answer_from_text,
    take_turns,
)
from priorband.durable.view import StudyView
from priorband.errors import ArgumentError, ExhaustedError, StorageError
from priorband.events import Asked, Event, PriorChanged, Queued, Told
from priorband.explanations.explanation import explanation
from priorband.explanations.why import Why
from priorband.failures import FailureKind, split_reason
from priorband.problem import Problem
from priorband.replay import Replay
from priorband.results.learning_curves import Curves, joined_curves
from priorband.results.trial_records import TrialRecords
from priorband.space.config import Config
from priorband.space.prior import Prior, same_prior
from priorband.state import State
from priorband.storage.checkpoints import Checkpoints
from priorband.storage.heartbeat import Heartbeat
from priorband.storage.identity import worker_name
from priorband.storage.journal import Journal, Row, StaleError, Transaction
from priorband.storage.json_text import to_json
from priorband.storage.retry import is_permanent
from priorband.study import BaseStudy, study_facts
from priorband.trial import Observation, Trial

LEASE = 60.0
PATIENCE = 60.0
"""For how many seconds calls by hand wait for storage: long enough for a server to restart."""
LONGEST_NOTE = 1.0  # seconds that the renewal of leases waits to write down a pause
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0  # seconds between retries

T = TypeVar("T")


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
        patience: for how many seconds `ask`, `tell` and the like wait for storage that is busy,
            full or not reachable.

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

    def __init__(  # noqa: PLR0913  # the problem, and how this process takes part in the study
        self,
        journal: Journal,
        problem: Problem,
        folder: Path | None = None,
        lease: float = LEASE,
        retries: Mapping[str, int] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.journal = journal
        self.problem = problem
        self.worker = worker_name()
        self.heartbeat = Heartbeat(journal, self.worker, lease)
        self._view = StudyView(problem, journal.where, self.worker)
        self._view.own_activity = self.heartbeat.active_until
        self.heartbeat.note_pause = self._note_pause
        self.patience = patience
        self._snapshots = Snapshots(self._view, journal)
        self._lock = threading.RLock()
        self._unanswered: dict[object, tuple[Row, Any]] = {}
        """By call: the last record of a transaction that may not have been written, and its answer.

        If storage fails in the middle of a commit, only the next look at it can tell.
        """
        self._unfinished: object = None
        """A transaction that has not ended; what it wrote may not be remembered."""
        self.refresh()
        self.checkpoints = (
            Checkpoints(folder, self.ledger.study, self._trial_digest, journal.where)
            if folder
            else None
        )
        _, times, since = self.ledger.repeated
        self._dispatcher = Dispatcher(
            self._view,
            journal,
            self.checkpoints,
            Client(self.worker, lease, allowed_attempts(retries), OpenedWith(times, since)),
        )

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
        if self.checkpoints is not None:
            self.checkpoints.close()

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
        """Whether higher values are better: each loss is then the negative of a value."""
        return self.ledger.maximize

    def spending(self) -> Spending:
        """Return what is used or handed out by now."""
        return self.ledger.spending(self.journal.now(), self.journal.leases())

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

        def write(transaction: Transaction) -> None:
            if wanted != self.ledger.budget:
                self._view.append(transaction, BudgetRecord(wanted))

        self._write(("limit", wanted), write)

    @overload
    def ask(self, *, hold: float | None = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, hold: float | None = None) -> list[Trial]: ...
    def ask(self, n: int | None = None, *, hold: float | None = None) -> Trial | list[Trial]:
        """Return the next trial to evaluate, or a list of the next `n`, in one transaction.

        This process holds a trial until it tells, or ends.

        Args:
            n: how many trials to return as a list; None for one trial by itself.
            hold: for how many seconds nobody else gets the trial, even if this process ends.

        Returns:
            The trial. With `n`, a list, which is shorter if fewer are left to try.

        Raises:
            ExhaustedError: if nothing is left to try, or the budget is handed out.
            ArgumentError: if `n` is not a whole number of at least 1, or `hold` is not a number
                above 0.
        """
        seconds = None if hold is None else checked_seconds("hold", hold)
        if n is None:
            return self._ask(1, seconds)[0]
        return self._ask(checked_count("n", n), seconds)

    def _ask(self, n: int, hold: float | None) -> list[Trial]:
        def assign(transaction: Transaction) -> list[Assignment | Idle]:
            answers = [self._dispatcher.assign(transaction, "", hold)]
            while isinstance(answers[-1], Assignment) and len(answers) < n:
                answers.append(self._dispatcher.assign(transaction, "", hold))
            return answers

        answers = self._write(
            ("ask", n, hold),
            assign,
            self._all_still_held,
            leases=self._dispatcher.look_is_due(""),
        )
        first = answers[0]
        if isinstance(first, Idle):
            raise ExhaustedError(f"{first.reason} {first.running} trials are still running.")
        assigned = [answer for answer in answers if isinstance(answer, Assignment)]
        if hold is None:
            for answer in assigned:
                self._hold(answer)
        return [answer.trial for answer in assigned]

    def tell(
        self, trial: Trial | int, loss: Any, *, cost: float | None = None, **metrics: Any
    ) -> bool:
        value = checked_loss(loss)
        details: dict[str, Any] = {} if cost is None else {"cost": checked_cost(cost)}
        if metrics:
            details["metrics"] = json_metrics(metrics)
        ids = self._trial_and_attempt(trial)
        if math.isfinite(value):
            loss = -value if self.maximize else value
            return self._settle(Report(*ids, loss, details=details))
        return self._settle(Report(*ids, None, "diverged", f"the loss was {value}", details))

    def fail(self, trial: Trial | int, reason: object = "", kind: FailureKind = "raised") -> bool:
        kind = checked_failure_kind(kind)
        return self._settle(Report(*self._trial_and_attempt(trial), None, kind, str(reason)))

    def queue(self, config: Mapping[str, Any], fidelity: float | None = None) -> None:
        at = trial_fidelity(fidelity, self.problem.fidelity, self._view.state.ladder)
        record = QueuedRecord(self._view.write_config(self.problem.space.check(config)), at)
        call = "queue", to_json(record.encode())
        self._write(call, lambda transaction: self._view.append(transaction, record))

    def set_prior(self, prior: Prior | Mapping[str, Any] | None) -> None:
        """Replace the prior: all decisions from now on use the new one, those of all workers.

        Workers that run need not be stopped, and trials that run are not affected. Nothing is
        trained again: to try the mode of the new prior, queue it. A prior that is equal to the
        present one changes nothing. `state.history.prior_changes` lists the changes, and
        `ledger.prior_changes` says who made them, and when.

        Args:
            prior: beliefs by parameter name, or a `Prior` that is made of beliefs; None for the
                parameters' own priors. A parameter that is left out has no prior.

        Raises:
            SpaceError: if the prior does not fit the space.
            MethodError: if the prior is of a class of your own, which other workers could not make.

        >>> import tempfile, priorband as pb
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     space = pb.Space(x=pb.Float(0, 1, prior=0.2))
        ...     with pb.open_study(folder, space, method="random+prior") as study:
        ...         study.set_prior({"x": 0.7})
        ...     with pb.open_study(folder) as again:
        ...         again.prior.mode
        {'x': 0.7}
        """
        wanted = checked_prior(prior, self.problem.space, self.problem.fidelity)
        record = PriorRecord(changed_prior_data(wanted, self.ledger.problem))

        def write(transaction: Transaction) -> None:
            if not same_prior(wanted, self._view.state.prior):
                self._view.append(transaction, record)

        self._write(("prior", to_json(record.encode())), write)

    def add(
        self, config: Mapping[str, Any], loss: Any, fidelity: float | None = None
    ) -> Observation:
        checked, number = self.problem.space.check(config), checked_loss(loss)
        if self.maximize and math.isfinite(number):
            number = -number
        full = self.problem.fidelity.high if fidelity is None else fidelity
        at = result_fidelity(full, self.problem.fidelity, self._view.state.ladder)
        new = self._write(
            ("add", to_json({"config": self._view.write_config(checked)}), repr(number), at),
            lambda transaction: self._dispatcher.add_result(transaction, checked, at, number),
        )
        outcome = self.state.history.outcome(new)
        assert outcome is not None
        return outcome

    def follow(self, events: Iterable[Event]) -> None:
        all_events = tuple(events)

        def write(transaction: Transaction) -> None:
            for event in all_events:
                trial = event.trial if isinstance(event, Asked) else None
                self._view.append(transaction, self._record(event), trial)

        self._write(("follow", len(all_events), repr(all_events[-1:])), write)

    def _record(self, event: Event) -> Record:
        """The record of an event that happened elsewhere."""
        view = self._view
        match event:
            case Asked(trial):
                parent = trial.parent
                start = 0 if parent is None else view.state.history.trial(parent).fidelity
                return AskedRecord.of(trial, view.write_config, start)
            case Queued(config, fidelity, retry):
                return QueuedRecord(view.write_config(config), fidelity, retry)
            case PriorChanged(prior):
                return PriorRecord(changed_prior_data(prior, view.ledger.problem))
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

    def why(self, trial: Trial | int) -> Why:
        """Explain a trial: how it was chosen, how it ranks, and why it went on or was stopped.

        Only the decisions about this trial are made again, from what was known at that time.

        Args:
            trial: the trial, or its id.

        Returns:
            All facts as values, with the attempts that were lost. Print it to read it.

        Raises:
            TrialError: if the trial is unknown.
        """
        self._patiently(self.refresh)
        number = asked_trial(self.state.history, trial).id
        lost = lost_attempts(self._patiently(lambda: self.journal.trial_rows(number)))
        waiting = number in self.ledger.waiting
        return explanation(study_facts(self), number, lost, waiting)

    def metrics(self, trial: Trial | int) -> Mapping[str, Any]:
        self._patiently(self.refresh)
        number = asked_trial(self.state.history, trial).id
        for row in self._patiently(lambda: self.journal.trial_rows(number)):
            record = decode(row)
            if isinstance(record, ToldRecord | FailedRecord):
                cost = {} if record.cost is None else {"cost": record.cost}
                return {**record.details.get("metrics", {}), **cost}
        return {}

    def trials(self) -> TrialRecords:
        """Return all trials with their results, as a list with a method `to_frame`.

        Returns:
            A record of each trial, in the order in which they were asked.

        >>> import tempfile, priorband as pb
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with pb.open_study(folder, pb.Space(x=pb.Float(0, 1)), method="random") as study:
        ...         _ = study.tell(study.ask(), 0.25, cost=3)
        ...         [record] = study.trials()
        >>> record.status, record.value, record.cost, record.attempts
        ('succeeded', 0.25, 3.0, 1)
        """

        def read() -> TrialRecords:
            state, ledger = self.refresh(), self.ledger
            scheduler = study_facts(self).scheduler
            return TrialRecords(
                stored_trials(self.journal, ledger, state, scheduler, self.checkpoints)
            )

        return self._patiently(read)

    def curves(self) -> Curves:
        """Return the learning curves by trial, each with those of the trials that it continues.

        They have the points that objectives report, and the results of trials that reported none.

        Returns:
            The curves by the id of the trial, with a method `to_frame`.
        """
        state, files, ledger = self._patiently(self.refresh), self.checkpoints, self.ledger
        if files is None:
            return joined_curves(state.history, self.maximize)
        return joined_curves(
            state.history, self.maximize, lambda trial: reported_points(ledger, files, trial)
        )

    def checkpoint(self, trial: Trial | int) -> Path | None:
        """Return the folder of the checkpoint that a successful trial has left.

        Args:
            trial: the trial, or its id.

        Returns:
            The folder; None if the trial saved nothing, or its checkpoint was removed.

        Raises:
            TrialError: if the trial is unknown.
        """
        number = asked_trial(self.state.history, trial).id
        return best_checkpoint(self.ledger, self.checkpoints, number)

    def retry(self, trials: Sequence[int]) -> None:
        def write(transaction: Transaction) -> None:
            for number in trials:
                failed = retryable_trial(self._view.state.history, number)
                config = self._view.write_config(failed.config)
                record = QueuedRecord(config, failed.fidelity, failed.id)
                self._view.append(transaction, record)

        self._write(("retry", str([*trials])), write)

    def note(self, text: str, trial: Trial | int | None = None) -> None:
        """Keep a note in the study.

        Args:
            text: the note, of at most 20,000 characters.
            trial: the trial it is about, or its id; None if it is about the study.

        Raises:
            ArgumentError: if the text is empty or too long.
            TrialError: if the trial is unknown.

        >>> import tempfile, priorband as pb
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with pb.open_study(folder, pb.Space(x=pb.Float(0, 1)), method="random") as study:
        ...         study.note("From here on with the new data.")
        ...         [note.text for note in study.notes()]
        ['From here on with the new data.']
        """
        number = None
        if trial is not None:
            self._patiently(self.refresh)
            number = asked_trial(self.state.history, trial).id
        record = note_record(text, number)
        self._write(("note", text, number), lambda change: self._view.append(change, record))

    def notes(self) -> list[Note]:
        """Return the notes that are kept in the study, the oldest first.

        Returns:
            The notes, each with its number, text, trial and time.
        """
        return self._patiently(lambda: NoteReader(self.journal).read())

    def remove_note(self, number: int) -> None:
        """Remove a note: it is no longer shown.

        Args:
            number: the number of the note.

        Raises:
            ArgumentError: if there is no such note.
        """
        known = [note.number for note in self.notes()]
        if number not in known:
            raise ArgumentError(f"`number` must be the number of a note, got {number!r:.40}.")
        record = removal_record(number)
        self._write(("remove note", number), lambda change: self._view.append(change, record))

    def turn(self, report: Report | None, request: str) -> Assignment | Idle | None:
        """Hand in a worker's report and get its next trial, in one transaction.

        Args:
            report: the outcome of the worker's last attempt, if it has one.
            request: the worker's own name for what it asks, so that asking again after a lost
                answer gives the same trial; empty to ask for none.

        Returns:
            The assignment, or why there is none; None if none was asked for.
        """
        try:
            answer = self._turn(report, request, may_post=True)
        except RefusedError:
            answer = self._turn(report, request, may_post=False)
        if report is not None:
            self.heartbeat.release(report.trial)
        if isinstance(answer, Assignment):
            self._hold(answer)
        return answer

    def _turn(self, report: Report | None, request: str, may_post: bool) -> Answer:
        """Take a turn, or let the worker that holds the write lock take it.

        Whoever holds the lock also takes the turns of those that wait.
        """
        dispatcher = self._dispatcher
        post = PostedTurn(dispatcher.client, report, request).to_text if may_post else None
        with self._writing(bool(request) and dispatcher.look_is_due(request), post) as transaction:
            if transaction.answer is not None:
                return answer_from_text(transaction.answer, self._view.read_config)
            answer, all_taken = take_turns(dispatcher, transaction, report, request)
        if not all_taken:
            with self._lock:
                self._view.forget()
        return answer

    def is_idle(self) -> bool:
        """Whether `turn` would only answer that others run the last trials.

        It takes in what others have written, and needs no lock, so workers that wait for a trial
        may call it often. If others wait for an answer, the next `turn` gives it.
        """
        with self._lock:
            self.refresh()
            return not self.journal.has_posts() and self._dispatcher.is_idle()

    def report_trouble(self, say: Callable[[str], None]) -> None:
        """Pass on messages about leases that cannot be renewed, and a lock that is not free.

        Args:
            say: called with each message, also from another thread.
        """
        self.heartbeat.say = say
        self.journal.say = say

    def _hold(self, answer: Assignment) -> None:
        """Renew the lease on a trial from now on."""
        self.heartbeat.hold(answer.trial.id, answer.attempt, answer.since)

    def _note_pause(self) -> None:
        """Write down that no worker was active for a while, unless this process is writing."""
        if self._lock.acquire(timeout=LONGEST_NOTE):
            try:
                with self._writing(leases=True) as transaction:
                    self._view.note_pause(transaction)
            finally:
                self._lock.release()

    def config_digest(self, config: Config) -> str:
        """Return a short text that tells a configuration from others.

        Args:
            config: a configuration of the space.
        """
        stored = to_json(self._view.write_config(config))
        return blake2b(stored.encode(), digest_size=8).hexdigest()

    def _trial_digest(self, trial: int) -> str:
        history = self.state.history
        if trial >= len(history):  # another worker has taken the turn that handed it out
            history = self.refresh().history
        return self.config_digest(history.trial(trial).config)

    def _settle(self, report: Report) -> bool:
        counts = self._write(
            ("settle", report.trial, report.attempt, report.loss, report.failure),
            lambda transaction: self._dispatcher.settle(transaction, report, final=True),
        )
        self.heartbeat.release(report.trial)
        return counts

    def _trial_and_attempt(self, trial: Trial | int) -> tuple[int, int]:
        """A trial's id and attempt; raise `TrialError` if it is unknown or has ended."""
        number = trial.id if isinstance(trial, Trial) else trial
        attempt = self.heartbeat.attempt(number) if isinstance(number, int) else None
        if attempt is None:  # another process has asked it, or it has ended
            self._patiently(self.refresh)
        number = asked_trial(self.state.history, trial).id
        if attempt is None:
            running_trial(self._view.state.history, number)
            attempt = self.ledger.running[number].attempt
        return number, attempt

    def _all_still_held(self, answers: Sequence[Assignment | Idle]) -> bool:
        """Whether all trials of answers that got lost are still this worker's."""
        assigned = [answer for answer in answers if isinstance(answer, Assignment)]
        return bool(assigned) and all(map(self._still_held, assigned))

    def _still_held(self, answer: Assignment | Idle) -> bool:
        """Whether a trial that was handed out in an answer that got lost is still this worker's."""
        if isinstance(answer, Idle):
            return False
        opened = self.ledger.running.get(answer.trial.id)
        return opened is not None and opened.held and opened.attempt == answer.attempt

    def _write(
        self,
        call: object,
        action: Callable[[Transaction], T],
        valid: Callable[[T], bool] = lambda answer: True,
        leases: bool = False,
    ) -> T:
        """Run an action in a transaction, for up to `patience` seconds if storage does not respond.

        A transaction may be written although its answer is lost. If the same `call` is then made
        again, it finds the record, and returns the lost answer if that is still `valid`.
        """

        def write() -> T:
            with self._lock:
                with self._writing(leases) as transaction:
                    lost = self._unanswered.get(call)
                    if lost is not None and self._is_written(lost[0]) and valid(lost[1]):
                        answer: T = lost[1]
                        transaction.confirmed = True
                    else:
                        answer = action(transaction)
                        for row in transaction.appended[-1:]:
                            self._unanswered[call] = row, answer
                self._unanswered.pop(call, None)
                return answer

        return self._patiently(write)

    def _is_written(self, row: Row) -> bool:
        rows = self.journal.read(row.seq - 1)[:1]
        return [(found.seal, found.worker) for found in rows] == [(row.seal, row.worker)]

    def _patiently(self, action: Callable[[], T]) -> T:
        """Run an action, and repeat it with growing pauses while storage does not respond."""
        began, pause = time.monotonic(), FIRST_PAUSE
        while True:
            try:
                return action()
            except StorageError as error:
                left = self.patience - (time.monotonic() - began)
                if left <= 0 or is_permanent(error):
                    raise
            time.sleep(min(pause * (0.5 + os.urandom(1)[0] / 255), left))
            pause = min(pause * 2, LONGEST_PAUSE)

    def _current_view(self) -> StudyView:
        """The view; built again if it was dropped after a write that failed."""
        if not self._view.ledger.seq:
            self.refresh()
        return self._view

    @contextmanager
    def _writing(
        self, leases: bool = False, post: Callable[[], str] | None = None
    ) -> Iterator[Transaction]:
        """A transaction, after taking in all that others have written.

        `leases` says whether it needs the leases, and `post` what another worker may do instead.
        """
        with self._lock:
            self._forget_unfinished()
            if not self._view.ledger.seq:
                self._snapshots.catch_up()  # before the lock is held
            self._unfinished = mine = object()
            transaction: Transaction | None = None
            try:
                after = self._view.ledger.seq
                with self.journal.transaction(after, self._view.apply, leases, post) as transaction:
                    self._view.apply(transaction.rows)
                    yield transaction
                self._unfinished = None
            except BaseException as error:
                if isinstance(error, StaleError):
                    self._view.forget()
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
