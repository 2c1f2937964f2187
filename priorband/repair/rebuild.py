"""Rebuilding a study's records from those that are intact.

Up to the first record that is lost everything stays as it is. After it, a trial keeps its place in
the schedule if it would be decided on again, so that the new study can be replayed. A result that
has lost its place is imported; a running trial is queued, and waits to be taken over under its id.
A trial whose own record is lost is decided on again, so that later ids stay the same.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, final

from priorband.durable.records import (
    INVALID,
    AdoptedRecord,
    AskedRecord,
    FailedRecord,
    QueuedRecord,
    Record,
    RemarkRecord,
    ReturnedRecord,
    ToldRecord,
    decode,
)
from priorband.errors import FormatError
from priorband.events import Queued
from priorband.problem import Problem
from priorband.repair.record_writer import RecordWriter
from priorband.repair.scan import Finding
from priorband.space.config import Config
from priorband.storage.journal import Row
from priorband.trial import IMPORTED, QUEUED, Trial
from priorband.values import frozen, replaced

_MOST = 10_000  # trials to decide on again: each must be evaluated once more
_LOST = "the records of this attempt are lost"

OfAttempt = AdoptedRecord | ReturnedRecord | ToldRecord | FailedRecord


@final
@frozen
class Rebuilt:
    """The new records, and what became of the old ones."""

    rows: tuple[Row, ...]
    kept: frozenset[int]
    """The numbers of the old records that are among the new ones."""
    dropped: tuple[Finding, ...]
    changed: tuple[Finding, ...]
    same: frozenset[int]
    """Trials that still have their id, their configuration and their fidelity."""


def rebuilt(created: Row, rows: Sequence[Row], problem: Problem, worker: str) -> Rebuilt:
    """The records that can be made of the intact rows that follow `created`."""
    builder = _Rebuilder(RecordWriter(problem, worker), rows, frozenset())
    held = builder.run(created)
    if held:
        builder = _Rebuilder(RecordWriter(problem, worker), rows, held)
        builder.run(created)
    new = builder.new
    same = frozenset(then for then, now in builder.ids.items() if then == now)
    dropped, changed = tuple(builder.dropped), tuple(builder.changed)
    return Rebuilt(tuple(new.rows), frozenset(new.kept), dropped, changed, same)


class _QueuedConfig(NamedTuple):
    """A queued configuration, and its row, if that survived."""

    event: Queued
    row: Row | None


class _OldTrial(NamedTuple):
    """What an old record says about the trial that it hands out."""

    id: int
    config: Config
    fidelity: float
    parent: int | None
    origin: str
    planned: bool


@final
class _Rebuilder:
    """Takes in old rows in order.

    After a loss it cannot be told which queued configurations were tried. So those that are pending
    then are `held`, and written down when a trial calls for them, or at the end.
    """

    def __init__(self, new: RecordWriter, rows: Sequence[Row], held: frozenset[int]) -> None:
        self.new, self.old, self.held = new, rows, held
        self.dropped: list[Finding] = []
        self.changed: list[Finding] = []
        self.ids: dict[int, int] = {}  # a trial's id then, and now
        self.imported: set[int] = set()
        self.ended = {row.trial for row in rows if _ends_trial(row)}
        self.queued: list[_QueuedConfig] = []
        self.pending: deque[int] = (
            deque()
        )  # rows of queued configurations that the new history holds
        self.retries: deque[int] = deque()  # those among them that retry a failed trial
        self.lost = False
        self.missing = 0  # lost records that nothing has made up for

    def run(self, created: Row) -> frozenset[int]:
        """Write all records; or stop at the first loss, and return the queued rows to hold back."""
        self.new.copy(created, decode(created))
        last = 1
        for row in self.old:
            self.missing += row.seq - last - 1
            self.lost = self.lost or row.seq != last + 1
            last = row.seq
            try:
                self._take(row)
            except INVALID as error:
                self._drop(row, f"is invalid: {error}")
                self.lost, self.missing = True, self.missing + 1
            if self.lost and self.pending and self._asks_from(row.seq):
                return frozenset(self.pending)
        self._end(created)
        return frozenset()

    def _asks_from(self, seq: int) -> bool:
        return any(row.kind == "asked" and row.seq >= seq for row in self.old)

    def _take(self, row: Row) -> None:
        record = decode(row)
        if isinstance(record, QueuedRecord) and (self.lost or row.seq in self.held):
            config = self.new.read_config(record.config)
            self.queued.append(_QueuedConfig(Queued(config, record.fidelity), row))
        elif isinstance(record, AskedRecord) and self.lost:
            self._ask_again(row, record)
        elif row.trial is not None and self.lost:
            self._follow(row, row.trial, record)
        else:
            self.new.copy(row, record)
            self._note(row, record)

    def _note(self, row: Row, record: Record) -> None:
        """Remember what the records before the first loss say."""
        if isinstance(record, QueuedRecord):
            self.pending.append(row.seq)
            if record.retry is not None:
                self.retries.append(row.seq)
        if isinstance(record, AskedRecord):
            if self.retries and not record.imported:
                self.pending.remove(self.retries.popleft())
                self.ids[record.trial] = record.trial
                return
            self.ids[record.trial] = record.trial
            if record.imported:
                self.imported.add(record.trial)
            if record.origin == QUEUED and record.parent is None:
                self.pending.popleft()

    def _follow(self, row: Row, then: int, record: Record) -> None:
        """Take in a record about a trial."""
        now = self.ids.get(then)
        if now is None:
            loss = record.loss if isinstance(record, ToldRecord | RemarkRecord) else None
            had = "" if loss is None else f"; it had a loss of {loss!r:.40}"
            self._drop(row, f"is about trial {then}, whose own record is lost{had}")
        elif isinstance(record, RemarkRecord):
            self._keep(row, record, now)
        elif not isinstance(record, OfAttempt):
            raise FormatError(f"it names trial {then}")
        elif then not in self.imported:
            self._catch_up(row, now, record)
            self._keep(row, record, now)
        elif isinstance(record, ToldRecord | FailedRecord):
            self.new.keep(row, replaced(record, trial=now, attempt=0))
        else:
            self._drop(row, f"is about an attempt at trial {then}, of which the result is imported")

    def _keep(self, row: Row, record: OfAttempt | RemarkRecord, trial: int) -> None:
        if record.trial == trial:
            self.new.copy(row, record)
        else:
            self.new.keep(row, replaced(record, trial=trial))

    def _catch_up(self, row: Row, trial: int, record: OfAttempt) -> None:
        """Make up for lost records that say how a trial went from one attempt to another."""
        opened, target = self.new.ledger.running.get(trial), record.attempt
        while opened and self.missing > 0 and opened.attempt < target:
            if opened.held:
                self.new.add(row, ReturnedRecord(trial, opened.attempt, "lost", _LOST))
            elif isinstance(record, AdoptedRecord) and opened.attempt == target - 1:
                return
            else:
                self.new.add(row, AdoptedRecord(trial, opened.attempt + 1, opened.start))
            self.missing -= 1

    def _ask_again(self, row: Row, record: AskedRecord) -> None:
        """Take in a record that hands out a trial."""
        old = self._old_trial(record)
        if old.id in self.ids:
            raise FormatError(f"trial {old.id} was asked before")
        self._fill_gap(old.id, row)
        now = len(self.new.state.history)
        self._place(row, record, old, now)
        self.ids[old.id] = now

    def _old_trial(self, record: AskedRecord) -> _OldTrial:
        parent = record.parent
        if parent is None:
            config = self.new.read_config(record.config)
        elif parent in self.ids:
            config = self.new.state.history.trial(self.ids[parent]).config
        else:
            raise FormatError(
                f"trial {record.trial} continues {parent!r:.40}, whose record is lost"
            )
        planned = record.slot is not None
        return _OldTrial(record.trial, config, record.fidelity, parent, record.origin, planned)

    def _fill_gap(self, until: int, row: Row) -> None:
        """Decide again on trials whose records are lost, unless there are too many."""
        gap = until - max(self.ids, default=-1) - 1
        if not 0 < gap <= min(self.missing, _MOST):
            return
        for lost in range(until - gap, until):
            trial = self.new.next_trial()
            if trial is None:
                return
            self.new.add(row, AskedRecord.of(trial, self.new.write_config))
            self._change(f"trial {lost}", f"is lost: trial {trial.id} is decided on again")
            self.missing -= 1

    def _place(self, row: Row, record: AskedRecord, old: _OldTrial, now: int) -> None:
        """Hand out a trial in its old place, as an imported result, or from the queue."""
        where, write = f"record {row.seq}", self.new.write_config
        if record.imported:
            self.new.keep(row, replaced(record, trial=now))
            self.imported.add(old.id)
            return
        item = self._queued_config(old) if old.origin == QUEUED and old.parent is None else None
        again = self.new.next_trial(item.event if item else None)
        if again is not None and self._alike(again, old):
            self._write_queued(row, item)
            self.new.keep(row, AskedRecord.of(again, write, record.start, record.request))
        elif old.id in self.ended:
            self._discard_queued(item)
            trial = Trial(now, old.config, old.fidelity, None, None, IMPORTED, now)
            self.new.keep(row, AskedRecord.of(trial, write))
            self.imported.add(old.id)
            self._change(where, f"has lost its place in the plan: trial {old.id} is imported")
        else:
            self._write_queued(
                row, _QueuedConfig(Queued(old.config, old.fidelity), item.row if item else None)
            )
            trial = Trial(now, old.config, old.fidelity, None, None, QUEUED, now)
            self.new.keep(row, AskedRecord.of(trial, write, 0, record.request))
            self._change(where, f"has lost its place in the plan: trial {old.id} is queued to run")

    def _queued_config(self, old: _OldTrial) -> _QueuedConfig:
        """The queued configuration that a trial came from; made of the trial if its row is lost."""
        for item in self.queued:
            planned = item.event.fidelity is None
            if item.event.config == old.config and planned == old.planned:
                return item
        return _QueuedConfig(Queued(old.config, None if old.planned else old.fidelity), None)

    def _alike(self, again: Trial, old: _OldTrial) -> bool:
        parent = None if old.parent is None else self.ids[old.parent]
        then = (old.config, old.fidelity, old.origin, parent)
        return (again.config, again.fidelity, again.origin, again.parent) == then

    def _write_queued(self, row: Row, item: _QueuedConfig | None) -> None:
        """Write down a queued configuration, right before the trial that comes from it."""
        if item is None:
            return
        record = QueuedRecord(self.new.write_config(item.event.config), item.event.fidelity)
        if item.row is None:
            self.new.add(row, record)
        else:
            self.new.keep(item.row, record)
            self.queued = [other for other in self.queued if other.row is not item.row]

    def _discard_queued(self, item: _QueuedConfig | None) -> None:
        if item is not None and item.row is not None:
            self.queued.remove(item)
            self._drop(item.row, "was tried, and its result is imported")

    def _end(self, created: Row) -> None:
        for item in tuple(self.queued):
            self._write_queued(created, item)
        for trial in self.new.state.history.running:
            if (
                trial.id not in self.new.ledger.running
            ):  # imported, and no worker will report a result
                failed = FailedRecord(trial.id, 0, "lost", "its result is lost")
                self.new.add(self.new.rows[-1], failed)
                self._change(f"trial {trial.id}", "has lost its result")

    def _drop(self, row: Row, why: str) -> None:
        self.dropped.append(Finding(f"record {row.seq}", why))

    def _change(self, where: str, how: str) -> None:
        self.changed.append(Finding(where, how))


def _ends_trial(row: Row) -> bool:
    """Whether a row ends its trial in a way that can be told again."""
    try:
        return isinstance(decode(row), ToldRecord | FailedRecord)
    except FormatError:
        return False
