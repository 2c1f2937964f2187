"""Bugs to plant into worker processes, each of which some fault must find.

    python -m faults storm --plant ack-before-commit

Each is a patch of the library in this process, as small as a mistake would be.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from priorband import arguments
from priorband.durable import dispatch, expiry
from priorband.durable.budget import Spending
from priorband.durable.dispatch import Dispatcher
from priorband.durable.messages import Report
from priorband.durable.study import DurableStudy
from priorband.errors import DamagedError, TrialError
from priorband.optimizers import Optimizer
from priorband.state import State
from priorband.storage import identity, postgres, sql, sqlite, sqlite_file
from priorband.storage.checkpoints import Checkpoints
from priorband.storage.heartbeat import Heartbeat
from priorband.storage.spool import Spool
from priorband.storage.wal_sync import WalSync
from priorband.storage.write_lock import WriteLock
from priorband.trial import Trial
from priorband.values import replaced
from priorband.workers import objective_results, trial_process, trial_runner, worker

PLANTS: dict[str, tuple[str, Callable[[], None]]] = {}
"""By name: the fault that must find it, and the patch."""


def sow(name: str) -> None:
    """Put a bug into this process; the empty name is none."""
    if name:
        PLANTS[name][1]()


def _plant(fault: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def named(patch: Callable[[], None]) -> Callable[[], None]:
        PLANTS[patch.__name__.strip("_").replace("_", "-")] = (fault, patch)
        return patch

    return named


def _set(where: Any, name: str, value: Any) -> None:
    setattr(where, name, value)


@_plant("storm")
def _ack_before_commit() -> None:
    real, waiting = DurableStudy.turn, dict[int, Report | None]()

    def turn(self: DurableStudy, report: Report | None, claim: str) -> Any:
        before, waiting[0] = waiting.get(0), report
        return real(self, before, claim)

    _set(DurableStudy, "turn", turn)


@_plant("race")
def _stale_claims() -> None:
    real, before = Optimizer.propose, dict[int, State]()

    def propose(self: Optimizer, state: State, seed: int) -> Trial:
        number, known = len(state.history), before.get(0, state)
        before[0] = state
        return replaced(real(self, known, seed), id=number, root=number)

    _set(Optimizer, "propose", propose)


@_plant("storm")
def _no_transaction() -> None:
    class Loose(sqlite3.Connection):
        def execute(self, text: str, *values: Any) -> sqlite3.Cursor:
            wraps = text in ("BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
            return super().execute("SELECT 1" if wraps else text, *values)

    @contextmanager
    def acquire(self: object, meanwhile: object = None) -> Iterator[None]:
        yield

    real = sqlite3.connect
    _set(sqlite3, "connect", lambda *a, **k: real(*a, factory=Loose, **k))
    _set(WriteLock, "acquire", acquire)


@_plant("storm")
def _dead_as_alive() -> None:
    _set(expiry, "fate", lambda owner: "alive")


@_plant("storm")
def _alive_as_dead() -> None:
    real = identity.fate
    _set(expiry, "fate", lambda owner: "dead" if os.urandom(1)[0] < 4 else real(owner))


@_plant("storm")
def _one_lost_too_many() -> None:
    real = expiry.reap
    _set(dispatch, "reap", lambda ledger, turn, most: real(ledger, turn, most + 1))


@_plant("storm")
def _one_trial_too_many() -> None:
    real = Spending.reached
    _set(
        Spending,
        "reached",
        lambda self, limits: real(replaced(self, trials=self.trials - 1), limits),
    )


@_plant("storm")
def _orphans_live() -> None:
    _set(trial_process, "die_with_parent", lambda number, parent: None)


@_plant("calls")
def _head_first() -> None:
    real = sql.write_statements

    def write_statements(transaction: Any) -> Any:
        if transaction.appended:
            last = transaction.appended[-1]
            for journal in _journals:
                journal._write_head(last)
        return real(transaction)

    made, _journals = sqlite.SqliteJournal.__init__, list[Any]()

    def init(self: Any, *given: Any) -> None:
        made(self, *given)
        _journals.append(self)

    _set(sqlite.SqliteJournal, "__init__", init)
    _set(sql, "write_statements", write_statements)


@_plant("calls")
def _torn_checkpoints() -> None:
    def put(
        self: Checkpoints, trial: int, attempt: int, step: float, made: Path, copy: bool = True
    ) -> None:
        place = self.folder(trial)
        shutil.copytree(made, place / f"{attempt}.step-{step!r}")
        for path in place.glob(f"{attempt}.step-*"):
            if path.name != f"{attempt}.step-{step!r}":
                shutil.rmtree(path)

    _set(Checkpoints, "put", put)


@_plant("cut")
def _no_sync() -> None:
    _set(WalSync, "sync", lambda self: None)


@_plant("full")
def _full_is_fatal() -> None:
    del sqlite_file._TEMPORARY_ERRORS[sqlite3.SQLITE_FULL]


@_plant("full")
def _no_spool() -> None:
    _set(Spool, "put", lambda self, name, report: None)


@_plant("database")
def _outage_is_fatal() -> None:
    _set(postgres, "StorageError", DamagedError)


@_plant("frozen")
def _late_raises() -> None:
    def late(self: Dispatcher, transaction: object, report: Report) -> bool:
        raise TrialError(f"Trial {report.trial} was told already.")

    _set(Dispatcher, "_late", late)


@_plant("frozen")
def _second_counts() -> None:
    real = Dispatcher.settle

    def settle(self: Dispatcher, transaction: Any, report: Report) -> bool:
        running = self.folded.ledger.running
        if report.trial not in running:
            return True
        return real(self, transaction, report)

    _set(Dispatcher, "settle", settle)


@_plant("frozen")
def _loser_tidies() -> None:
    def tidy(self: Any, report: Report) -> None:
        self.evaluation.checkpoints.settle(report.trial, report.attempt)

    _set(worker.Worker, "_tidy", tidy)


@_plant("elsewhere")
def _no_renewal() -> None:
    _set(Heartbeat, "_beat", lambda self: None)


@_plant("elsewhere")
def _one_look() -> None:
    _set(expiry, "DOUBT", 0.0)


@_plant("elsewhere")
def _blind_to_reboots() -> None:
    _set(identity, "_boot", lambda owner: "")


@_plant("objectives")
def _children_live() -> None:
    def signal(self: Any, number: int) -> None:
        if self.process.is_alive():
            os.kill(self.process.pid, number)

    _set(trial_process.TrialProcess, "_signal", signal)


@_plant("objectives")
def _true_is_one() -> None:
    _set(
        objective_results,
        "given_loss",
        lambda loss: float(loss) if loss is True else arguments.given_loss(loss),
    )


@_plant("signals")
def _stopped_is_failed() -> None:
    real = trial_runner.TrialRunner.finish

    def finish(self: Any, claim: Any, begun: Any) -> Report:
        report = real(self, claim, begun)
        if report.kind != "preempted":
            return report
        return Report(report.trial, report.attempt, None, "raised", report.reason)

    _set(trial_runner.TrialRunner, "finish", finish)


@_plant("signals")
def _no_checkpoint_taken_over() -> None:
    _set(Checkpoints, "take_over", lambda self, trial, attempt: None)
