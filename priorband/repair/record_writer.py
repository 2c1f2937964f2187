"""A writer of new records for a damaged study, which applies each record as it writes it."""

from typing import final

from priorband.durable.ledger import Ledger
from priorband.durable.records import INVALID, Record, decode, resealed, sealed_row
from priorband.durable.serialize import config_reader, config_writer
from priorband.errors import PriorbandError
from priorband.events import Queued
from priorband.problem import Problem
from priorband.storage.journal import Row
from priorband.trial import Trial


@final
class RecordWriter:
    """New records, and the state that they lead to."""

    def __init__(self, problem: Problem, worker: str) -> None:
        self.problem, self.worker = problem, worker
        self.read_config = config_reader(problem.space)
        self.write_config = config_writer(problem.space)
        self.rows: list[Row] = []
        self.kept: set[int] = set()
        """The numbers of the old records that are among the new ones."""
        self._begin()

    def _begin(self) -> None:
        self.state = self.problem.start()
        self.ledger = Ledger(self.state.ladder.fidelities)

    def copy(self, row: Row, record: Record) -> None:
        """Write an old record byte for byte."""
        self._write(resealed(row, len(self.rows) + 1, self.ledger.seal), record)
        self.kept.add(row.seq)

    def keep(self, row: Row, record: Record) -> None:
        """Write an old record with changes, with the worker and the time that it has."""
        self._write(self._row(record, row.worker, row.at), record)
        self.kept.add(row.seq)

    def add(self, beside: Row, record: Record) -> None:
        """Write a record of our own, with the time of an old one."""
        self._write(self._row(record, self.worker, beside.at), record)

    def next_trial(self, queued: Queued | None = None) -> Trial | None:
        """The trial that would be handed out next, with `queued` in the queue; None at the end."""
        state = self.state.after(queued) if queued else self.state
        try:
            return self.problem.optimizer.propose(state, self.problem.seed)
        except PriorbandError:
            return None

    def _row(self, record: Record, worker: str, at: float) -> Row:
        return sealed_row(record, len(self.rows) + 1, worker, at, self.ledger.seal)

    def _write(self, row: Row, record: Record) -> None:
        try:
            self._apply(row, record)
        except INVALID:
            self._begin()  # the record may have been partly applied
            for earlier in self.rows:
                self._apply(earlier, decode(earlier))
            raise
        self.rows.append(row)

    def _apply(self, row: Row, record: Record) -> None:
        event = self.ledger.apply(row, record, self.state.history, self.read_config)
        if event is not None:
            self.state = self.state.after(event)
