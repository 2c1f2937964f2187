"""The copyist: a study's records written anew, each taken in as it is written."""

from typing import Any, final

from priorband.durable.ledger import Ledger
from priorband.durable.problem import Problem, config_reader, config_writer
from priorband.errors import FormatError, PriorbandError
from priorband.events import Queued
from priorband.storage.journal import Row, sealed
from priorband.storage.json_text import body, text
from priorband.trial import IMPORTED, Trial

BROKEN = (FormatError, KeyError, IndexError, TypeError, ValueError, RuntimeError, ArithmeticError)
"""What a record raises that cannot be."""


@final
class RecordWriter:
    """New records, and the state that they lead to."""

    def __init__(self, problem: Problem, worker: str) -> None:
        self.problem, self.worker = problem, worker
        self.read, self.write = config_reader(problem.space), config_writer(problem.space)
        self.rows: list[Row] = []
        self.kept: set[int] = set()
        """The numbers of the old records that stand among the new ones."""
        self._begin()

    def _begin(self) -> None:
        problem = self.problem
        self.state = problem.optimizer.start(problem.space, problem.prior, problem.fidelity)
        self.ledger = Ledger(self.state.ladder.fidelities)

    def keep(self, old: Row, kind: str, trial: int | None, data: dict[str, Any]) -> None:
        """Write an old record, with the worker and the time that it has."""
        self._put(old, kind, trial, data)
        self.kept.add(old.seq)

    def add(self, beside: Row, kind: str, trial: int | None, data: dict[str, Any]) -> None:
        """Write a record of our own, with the time of an old one."""
        self._put(beside._replace(worker=self.worker), kind, trial, data)

    def decided(self, wish: Queued | None = None) -> Trial | None:
        """The trial that would be handed out next, were something queued; None if none is left."""
        state = self.state.after(wish) if wish else self.state
        try:
            return self.problem.optimizer.propose(state, self.problem.seed)
        except PriorbandError:
            return None

    def about(self, trial: Trial, data: dict[str, Any]) -> dict[str, Any]:
        """What is written of a trial that is handed out; its start and claim are as they were."""
        made: dict[str, Any] = {"fidelity": trial.fidelity, "origin": trial.origin}
        if trial.slot is not None:
            made["slot"] = list(trial.slot)
        if trial.parent is None:
            made["config"] = self.write(trial.config)
        else:
            made["parent"] = trial.parent
        if trial.origin != IMPORTED:
            made |= {"start": data.get("start", 0), "claim": data.get("claim", "")}
        return made

    def _put(self, old: Row, kind: str, trial: int | None, data: dict[str, Any]) -> None:
        new = Row(len(self.rows) + 1, kind, trial, old.worker, old.at, text(data), 0)
        new = new._replace(seal=sealed(self.ledger.seal, new))
        try:
            self._apply(new, data)
        except BROKEN:
            self._begin()  # it may have been taken in by half
            for known in self.rows:
                self._apply(known, body(known.body))
            raise
        self.rows.append(new)

    def _apply(self, row: Row, data: dict[str, Any]) -> None:
        event = self.ledger.apply(row, data, self.state.history, self.read)
        if event is not None:
            self.state = self.state.after(event)
