"""A process's view of a durable study: its records, applied to a history and a ledger.

It is a cache. It can be dropped at any moment and built again from the journal.
"""

import gc
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, final

from priorband.durable.activity import pause_remark
from priorband.durable.ledger import Ledger
from priorband.durable.records import INVALID, Record, decode, record_version, sealed_row
from priorband.durable.serialize import config_reader, config_writer
from priorband.errors import DamagedError
from priorband.history import History
from priorband.problem import Problem
from priorband.storage.heartbeat import PAUSE
from priorband.storage.high_water import salvage_hint
from priorband.storage.journal import BASE_FORMAT, Row, Transaction, sealed
from priorband.trial import Trial

MANY = 2_000


@final
class StudyView:
    """A state and a ledger, up to the last record that this process has seen."""

    def __init__(self, problem: Problem, where: str, worker: str) -> None:
        self.problem = problem
        self.where = where
        self.worker = worker
        self.read_config = config_reader(problem.space)
        self.write_config = config_writer(problem.space)
        self.own_activity: Callable[[float], float] = lambda now: -math.inf
        """Until when this process was at work on trials that it holds, at a time."""
        self.forget()

    def forget(self) -> None:
        """Drop everything, so that the next look begins with the first record."""
        self.state = self.problem.start()
        self.ledger = self.new_ledger()

    def new_ledger(self) -> Ledger:
        """A ledger without records."""
        return Ledger(self.state.ladder.fidelities)

    def begin_with(self, history: History, ledger: Ledger) -> None:
        """Go on from what a snapshot says."""
        self.state, self.ledger = self.state.with_history(history), ledger

    def apply(self, rows: Sequence[Row]) -> None:
        """Take in rows that follow the last one; raise `DamagedError` at one that is invalid."""
        if not rows:
            return
        try:
            with _no_garbage_collection(len(rows)):
                self._apply(rows)
        except BaseException:  # such as a signal in between: ledger and history may not agree
            self.forget()
            raise

    def _apply(self, rows: Sequence[Row]) -> None:
        ledger, history = self.ledger, self.state.history
        for row in rows:
            if row.seq != ledger.seq + 1:
                self._damaged(f"record {ledger.seq + 1} is missing")
            if row.seal != sealed(ledger.seal, row):
                self._damaged(f"record {row.seq} is not what was written")
            try:
                event = ledger.apply(row, decode(row), history, self.read_config)
                if event is not None:
                    history = history.after(event)
            except INVALID as error:
                self._damaged(f"record {row.seq} ({row.kind:.20}) is invalid: {error}")
        self.state = self.state.with_history(history)

    def append(
        self,
        transaction: Transaction,
        record: Record,
        trial: Trial | None = None,
        worker: str | None = None,
    ) -> None:
        """Write a record, and take it in at once, since the next decision depends on it.

        `trial` is the trial that an asked record hands out, if it need not be made of the record.
        `worker` is the worker that writes it, if it is not this process's own.
        """
        if not transaction.appended:
            self.note_pause(transaction)
        self._append(transaction, record, trial, worker)

    def note_pause(self, transaction: Transaction) -> None:
        """Write a remark if no worker was active for a while, so that this time is not counted."""
        active, now = self.ledger.active, transaction.now
        if not active.busy or now - active.last <= PAUSE:
            return  # without reading the leases
        until = max(self.ledger.active_until(transaction.leases, now), self.own_activity(now))
        remark = pause_remark(until, now)
        if remark is not None:
            self._append(transaction, remark)

    def _append(
        self,
        transaction: Transaction,
        record: Record,
        trial: Trial | None = None,
        worker: str | None = None,
    ) -> None:
        before, writer = self.ledger, worker or self.worker
        row = sealed_row(record, before.seq + 1, writer, transaction.now, before.seal)
        transaction.append(row)
        version = record_version(record)
        if version != BASE_FORMAT and not self.ledger.prior_changes:  # or else it is the newest
            transaction.set_version(version)
        read = self.read_config if trial is None else lambda _: trial.config
        event = self.ledger.apply(row, record, self.state.history, read)
        if event is not None:
            self.state = self.state.after(event)

    def _damaged(self, what: str) -> NoReturn:
        self.forget()
        raise DamagedError(f"{self.where} is damaged: {what}. {salvage_hint(self.where)}")


@contextmanager
def _no_garbage_collection(rows: int) -> Iterator[None]:
    """Pause the garbage collector while many rows are applied: they create no garbage.

    That saves a quarter of the time to open a long study.
    """
    if rows < MANY or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
