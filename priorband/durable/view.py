"""What one process knows of a durable study: its records, folded into a history and a ledger.

It is a cache. It can be dropped at any moment and made again from the journal.
"""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, final

from priorband.durable.ledger import Ledger
from priorband.durable.problem import Problem, config_reader, config_writer
from priorband.errors import DamagedError, FormatError
from priorband.state import State
from priorband.storage.high_water import salvage_hint
from priorband.storage.journal import Row, Transaction, sealed
from priorband.storage.json_text import Entry, body, text
from priorband.trial import Trial
from priorband.values import replaced

_BROKEN = (FormatError, KeyError, IndexError, TypeError, ValueError, RuntimeError, ArithmeticError)

MANY = 2_000


@final
class StudyView:
    """A state and a ledger, up to the last record seen."""

    def __init__(self, problem: Problem, where: str, worker: str) -> None:
        self.problem = problem
        self.where = where
        self.worker = worker
        self.read, self.write = config_reader(problem.space), config_writer(problem.space)
        self.forget()

    def forget(self) -> None:
        """Drop everything; the next look begins with the first record."""
        self.state = self.start()
        self.ledger = Ledger(self.state.ladder.fidelities)

    def start(self) -> State:
        """The state before anything has happened."""
        problem = self.problem
        return problem.optimizer.start(problem.space, problem.prior, problem.fidelity)

    def take(self, rows: Sequence[Row]) -> None:
        """Take in records that follow the last; any that cannot be is named as damage."""
        try:
            with _undisturbed(len(rows)):
                self._take(rows)
        except BaseException:  # such as a signal in between: ledger and history may not agree
            self.forget()
            raise

    def _take(self, rows: Sequence[Row]) -> None:
        ledger, history = self.ledger, self.state.history
        for row in rows:
            if row.seq != ledger.seq + 1:
                self.damaged(f"record {ledger.seq + 1} is missing")
            if row.seal != sealed(ledger.seal, row):
                self.damaged(f"record {row.seq} is not what was written")
            try:
                event = ledger.apply(row, body(row.body), history, self.read)
                if event is not None:
                    history = history.after(event)
            except _BROKEN as error:
                self.damaged(f"record {row.seq} ({row.kind:.20}) cannot be: {error}")
        if rows:
            self.state = replaced(self.state, history=history)

    def append(self, transaction: Transaction, entry: Entry, trial: Trial | None = None) -> None:
        """Write a record, and take it in at once: what is decided next must know of it."""
        stored, at = text(entry.body), transaction.now
        row = Row(self.ledger.seq + 1, entry.kind, entry.trial, self.worker, at, stored, 0)
        row = row._replace(seal=sealed(self.ledger.seal, row))
        transaction.append(row)
        read = self.read if trial is None else lambda _: trial.config
        event = self.ledger.apply(row, entry.body, self.state.history, read)
        if event is not None:
            self.state = self.state.after(event)

    def damaged(self, what: str) -> NoReturn:
        """Say that the study is not what was written, and how to save the rest."""
        self.forget()
        raise DamagedError(f"{self.where} is damaged: {what}. {salvage_hint(self.where)}")


@contextmanager
def _undisturbed(rows: int) -> Iterator[None]:
    """Without looking for garbage while a long study is folded, which makes none: a quarter less.

    Only where there is much to do, and never for longer.
    """
    if rows < MANY or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
