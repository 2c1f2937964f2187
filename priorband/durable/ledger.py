"""The ledger: attempts and spending, computed from a study's records.

The history knows which trials were asked and how they ended. The ledger knows which attempt each
running trial is at and which worker holds it, why earlier attempts ended, and how much of the
budget is used.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, final

from priorband.durable.activity import ActiveTime, active_until, end_of_activity
from priorband.durable.budget import Budget, Spending
from priorband.durable.problem_data import changed_prior
from priorband.durable.records import (
    STARTUP,
    AdoptedRecord,
    AskedRecord,
    BudgetRecord,
    CreatedRecord,
    FailedRecord,
    PriorRecord,
    QueuedRecord,
    Record,
    RemarkRecord,
    ReturnedRecord,
    ToldRecord,
    TrialEnd,
    member,
)
from priorband.durable.records import (
    number as number_in,
)
from priorband.errors import FormatError
from priorband.events import Asked, Event, Failed, PriorChanged, Queued, Told
from priorband.failures import FAILURE_KINDS, FailureKind, failure_reason
from priorband.history import History
from priorband.space.config import Config
from priorband.storage.journal import Lease, Row
from priorband.trial import IMPORTED, Trial
from priorband.values import frozen

ConfigReader = Callable[[Any], Config]
"""Makes a configuration of its stored form."""


@final
@frozen
class AttemptEnd:
    """How an attempt ended that brought no result."""

    attempt: int
    failure: FailureKind
    reason: str
    worker: str


@final
class OpenTrial:
    """A trial that has not ended: which attempt it is at, and how earlier attempts ended."""

    __slots__ = ("attempt", "endings", "held", "request", "since", "start", "trial", "worker")

    def __init__(self, trial: Trial, row: Row, record: AskedRecord) -> None:
        self.trial = trial
        self.endings: tuple[AttemptEnd, ...] = ()
        self.attempt = 0
        self.begin(row, record)

    def begin(self, row: Row, record: AskedRecord | AdoptedRecord) -> None:
        """Note that an attempt begins."""
        self.attempt += 1
        self.held = True
        """Whether a worker has it; if not, it waits for the next attempt."""
        self.worker, self.since = row.worker, row.at
        self.request, self.start = record.request, record.start

    def to_data(self) -> list[Any]:
        """The trial's attempts as data that JSON holds."""
        endings = [[end.attempt, end.failure, end.reason, end.worker] for end in self.endings]
        about = [self.attempt, self.held, self.worker, self.since, self.request, self.start]
        return [self.trial.id, endings, *about]

    @staticmethod
    def from_data(data: Any, history: History) -> "OpenTrial":
        """The open trial that `to_data` described, or a `FormatError`."""
        number, endings, attempt, held, worker, since, request, start = data
        kinds = tuple(map(type, (number, attempt, held, worker, since, request)))
        known = kinds == (int, int, bool, str, float, str) and 0 <= number < len(history)
        if not known or attempt < 1 or not abs(since) < math.inf:
            raise FormatError("an open trial is not valid")
        opened = OpenTrial.__new__(OpenTrial)
        opened.trial, opened.attempt, opened.held = history.trial(number), attempt, held
        opened.worker, opened.since, opened.request = worker, since, request
        opened.start = number_in({"start": start}, "start")
        opened.endings = tuple(_attempt_end(*end) for end in endings)
        return opened

    def failures(self, kind: FailureKind) -> int:
        """How many attempts ended in this way."""
        return sum(ending.failure == kind for ending in self.endings)


def _attempt_end(attempt: Any, failure: Any, reason: Any, worker: Any) -> AttemptEnd:
    kinds = tuple(map(type, (attempt, reason, worker)))
    if kinds != (int, str, str) or failure not in FAILURE_KINDS:
        raise FormatError("the end of an attempt is not valid")
    return AttemptEnd(attempt, failure, reason, worker)


class WrittenChange(NamedTuple):
    """Who changed the prior, and when. The history says to what, and between which trials."""

    seq: int
    """The number of the record."""
    at: float
    """When it was written, by the storage's clock."""
    worker: str


class RepeatedFailure(NamedTuple):
    """The last failure, and how many trials in a row have failed like this."""

    what: str
    times: int
    since: int
    """The number of the first record of the row."""


@final
class Ledger:
    """Attempts and spending up to a record. Slots must have a fidelity in `rungs`."""

    def __init__(self, rungs: tuple[float, ...] = ()) -> None:
        self.rungs = rungs
        self.seq = 0
        """The number of the last record."""
        self.seal = 0
        """The checksum of the last record."""
        self.problem: Mapping[str, Any] = {}
        self.study = ""
        """The study's id."""
        self.maximize = False
        self.budget = Budget()
        self.created = 0.0
        self.full = 1.0
        """The highest fidelity: one full training."""

        self.running: dict[int, OpenTrial] = {}
        self.waiting: dict[int, OpenTrial] = {}
        """The running trials that no worker holds."""
        self.winners: dict[int, int] = {}
        """The attempt that ended a trial, where it was not the first."""
        self.failures: Counter[FailureKind] = Counter()
        self.repeated = RepeatedFailure("", 0, 0)
        self.prior_changes: list[WrittenChange] = []

        self.units = 0.0
        """Fidelity units handed out."""
        self.trials = 0
        self.cost = 0.0
        self.startup = 0.0
        """Seconds that trials have spent outside the objective, as far as workers recorded it."""
        self.trained = 0.0
        """Seconds that the same trials have spent in the objective."""
        self.active = ActiveTime()

    def spending(self, now: float, leases: Sequence[Lease] | None = None) -> Spending:
        """What is used or handed out at a time of the storage's clock.

        Time counts for as long as the leases show that workers are active. Without `leases`, they
        are taken to be active until `now`.
        """
        until = now if leases is None else self.active_until(leases, now)
        hours = self.active.until(until) / 3600
        return Spending(self.units / self.full, self.trials, self.cost, hours)

    def active_until(
        self, leases: Sequence[Lease], now: float, but: OpenTrial | None = None
    ) -> float:
        """Until when some worker is known to have been active, by the storage's clock.

        At least until the last record; `but` is a trial whose worker is not asked for.
        """
        running = [opened for opened in self.running.values() if opened is not but]
        return max(active_until(running, leases, now), self.active.last)

    def apply(self, row: Row, record: Record, history: History, read: ConfigReader) -> Event | None:
        """Take in the next record. Return the event that it is for the history, or None."""
        if (row.seq == 1) != (row.kind == "created"):
            raise FormatError("the study does not begin with its creation")
        event: Event | None = _HANDLERS[type(record)](self, row, record, history, read)
        self.active.count(row, _active_until(record), len(self.running) > len(self.waiting))
        self.seq, self.seal = row.seq, row.seal
        return event

    def to_data(self) -> dict[str, Any]:
        """The ledger as data that JSON holds, without what the first record says."""
        return {
            **{name: getattr(self, name) for name in _STORED},
            **self.active.to_data(),
            "budget": dict(self.budget.limits),
            "running": [opened.to_data() for opened in self.running.values()],
            "waiting": list(self.waiting),
            "winners": list(self.winners.items()),
            "failures": dict(self.failures),
            "repeated": list(self.repeated),
        } | ({"priors": [*map(list, self.prior_changes)]} if self.prior_changes else {})

    def restore(self, data: Mapping[str, Any], history: History) -> None:
        """Take over what `to_data` returned, after the first record was applied.

        Raise `FormatError`, or another exception of those for invalid records, for other data.
        """
        for name, kind in _STORED.items():
            setattr(self, name, member(data, name, kind))
        self.active = ActiveTime.from_data(data)
        self.budget = BudgetRecord.decode(None, member(data, "budget", dict)).budget
        opened = [OpenTrial.from_data(each, history) for each in member(data, "running", list)]
        self.running = {each.trial.id: each for each in opened}
        self.waiting = {number: self.running[number] for number in member(data, "waiting", list)}
        self.winners = {number: attempt for number, attempt in member(data, "winners", list)}
        self.failures = Counter(member(data, "failures", dict))
        self.repeated = RepeatedFailure(*member(data, "repeated", list))
        changes = member(data, "priors", list) if "priors" in data else []
        self.prior_changes = [WrittenChange(*each) for each in changes]
        self._check_restored(history)

    def _check_restored(self, history: History) -> None:
        own = [trial.id for trial in history.running if trial.origin != IMPORTED]
        free = [number for number, opened in self.running.items() if not opened.held]
        counts = [*self.failures.values(), *self.winners, *self.winners.values()]
        what, times, since = self.repeated
        changes = [[*map(type, change)] for change in self.prior_changes]
        fits = (
            changes == [[int, float, str]] * len(history.prior_changes)
            and all(abs(change.at) < math.inf for change in self.prior_changes)
            and list(self.running) == own
            and self.active.busy == (len(self.running) > len(self.waiting))
            and sorted(self.waiting) == free
            and self.failures.keys() <= {*FAILURE_KINDS}
            and all(type(count) is int for count in (*counts, times, since))
            and type(what) is str
            and all(abs(getattr(self, name)) < math.inf for name in _STORED)
        )
        if not fits:
            raise FormatError("the ledger does not fit the history")

    def _created(
        self, row: Row, record: CreatedRecord, history: History, read: ConfigReader
    ) -> None:
        del history, read
        self.problem, self.study, self.maximize = record.problem, record.study, record.maximize
        self.created, self.full = row.at, record.full

    def _budget(self, row: Row, record: BudgetRecord, history: History, read: ConfigReader) -> None:
        del row, history, read
        self.budget = record.budget

    def _queued(
        self, row: Row, record: QueuedRecord, history: History, read: ConfigReader
    ) -> Event:
        del row, history
        if record.fidelity is not None:
            self._check_fidelity(record.fidelity)
        return Queued(read(record.config), record.fidelity, record.retry)

    def _prior(self, row: Row, record: PriorRecord, history: History, read: ConfigReader) -> Event:
        del history, read
        prior = changed_prior(record.prior, self.problem)
        self.prior_changes.append(WrittenChange(row.seq, row.at, row.worker))
        return PriorChanged(prior)

    def _asked(self, row: Row, record: AskedRecord, history: History, read: ConfigReader) -> Event:
        trial = _trial(record, history, read)
        self._check_fidelity(trial.fidelity)
        rungs, slot = self.rungs, trial.slot
        if rungs and slot and (slot.rung >= len(rungs) or rungs[slot.rung] != trial.fidelity):
            raise FormatError(f"its fidelity {trial.fidelity!r:.40} is not that of {slot}")
        if not record.imported:
            self.units += trial.fidelity - record.start
            self.trials += 1
            self.running[trial.id] = OpenTrial(trial, row, record)
        return Asked(trial)

    def _check_fidelity(self, fidelity: float) -> None:
        if fidelity > self.full:
            raise FormatError(f"its fidelity is {fidelity!r:.40}, the highest is {self.full!r}")

    def _adopted(
        self, row: Row, record: AdoptedRecord, history: History, read: ConfigReader
    ) -> None:
        del history, read
        opened = self.waiting.pop(record.trial, None)
        if opened is None or record.attempt != opened.attempt + 1:
            raise FormatError(f"trial {record.trial} was not free for that attempt")
        opened.begin(row, record)

    def _returned(
        self, row: Row, record: ReturnedRecord, history: History, read: ConfigReader
    ) -> None:
        del row, history, read
        opened = self.running.get(record.trial)
        if opened is None or not opened.held or record.attempt != opened.attempt:
            raise FormatError(f"trial {record.trial} has no such attempt under way")
        end = AttemptEnd(opened.attempt, record.failure, record.reason, opened.worker)
        opened.endings = (*opened.endings, end)
        opened.held = False
        self.waiting[opened.trial.id] = opened

    def _told(self, row: Row, record: ToldRecord, history: History, read: ConfigReader) -> Event:
        del read
        self._end(record, history)
        self.cost += record.cost or 0.0
        self.repeated = RepeatedFailure("", 0, row.seq)
        return Told(record.trial, record.loss)

    def _failed(
        self, row: Row, record: FailedRecord, history: History, read: ConfigReader
    ) -> Event:
        del read
        self._end(record, history)
        self.failures[record.failure] += 1
        what = f"{record.failure} {record.details.get('where', '')}"
        again = what == self.repeated.what
        times, since = (self.repeated.times, self.repeated.since) if again else (0, row.seq)
        self.repeated = RepeatedFailure(what, times + 1, since)
        return Failed(record.trial, failure_reason(record.failure, record.reason))

    def _remark(self, row: Row, record: RemarkRecord, history: History, read: ConfigReader) -> None:
        del row, record, history, read

    def _end(self, record: TrialEnd, history: History) -> None:
        trial = record.trial
        if trial >= len(history) or history.outcome(trial) is not None:
            raise FormatError(f"trial {trial} is not running")
        opened = self.running.pop(trial, None)
        self.waiting.pop(trial, None)
        if not (1 <= record.attempt <= opened.attempt if opened else record.attempt == 0):
            raise FormatError(f"trial {trial} has no attempt {record.attempt}")
        if record.attempt > 1:
            self.winners[trial] = record.attempt
        startup, trained = record.details.get(STARTUP), record.details.get("seconds")
        if (
            type(startup) is type(trained) is float
            and 0 <= startup < _LONG
            and 0 <= trained < _LONG
        ):
            self.startup += startup
            self.trained += trained


_LONG = 1e10  # seconds that no trial takes

_STORED = {
    **dict.fromkeys(("seq", "seal", "trials"), int),
    **dict.fromkeys(("units", "cost", "startup", "trained"), float),
}
"""The numbers of a ledger that a snapshot holds as they are."""

_HANDLERS: dict[type, Callable[..., Event | None]] = {
    CreatedRecord: Ledger._created,
    BudgetRecord: Ledger._budget,
    QueuedRecord: Ledger._queued,
    PriorRecord: Ledger._prior,
    AskedRecord: Ledger._asked,
    AdoptedRecord: Ledger._adopted,
    ReturnedRecord: Ledger._returned,
    ToldRecord: Ledger._told,
    FailedRecord: Ledger._failed,
    RemarkRecord: Ledger._remark,
}


def _active_until(record: Record) -> float | None:
    """Until when workers were active before a record, if it says so."""
    if isinstance(record, ReturnedRecord):
        return record.seen
    return end_of_activity(record) if isinstance(record, RemarkRecord) else None


def _trial(record: AskedRecord, history: History, read: ConfigReader) -> Trial:
    """The trial that a record hands out, or a `FormatError` where it cannot follow the others."""
    new, fidelity, slot, origin = record.trial, record.fidelity, record.slot, record.origin
    if new != len(history):
        raise FormatError(f"trial {new} was asked when {len(history)} was next")
    if record.parent is None:
        return Trial(new, read(record.config), fidelity, slot, None, origin, new)
    parent = record.parent
    outcome = history.outcome(parent) if 0 <= parent < new else None
    if outcome is None or outcome.failed:
        raise FormatError(f"trial {new} continues {parent}, which has not succeeded")
    before = outcome.trial
    if not before.fidelity < fidelity or before.origin != origin:
        raise FormatError(f"trial {new} does not go on where {parent} ended")
    return Trial(new, before.config, fidelity, slot, parent, origin, before.root)
