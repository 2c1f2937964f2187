"""Bugs to plant in worker processes, to test that the faults find them.

    python -m faults storm --plant ack-before-commit

Each bug is a small patch of the library in this process. It is named after its function.
"""

import os
import re
import shutil
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from priorband import arguments
from priorband.durable import dispatch, expiry, turns
from priorband.durable import open as opening
from priorband.durable.budget import Spending
from priorband.durable.dispatch import Dispatcher
from priorband.durable.messages import Report
from priorband.durable.study import DurableStudy
from priorband.errors import DamagedError, TrialError
from priorband.optimizers import Optimizer
from priorband.state import State
from priorband.storage import (
    checkpoints,
    held_folder,
    identity,
    postgres,
    safe_files,
    sql,
    sqlite,
    sqlite_file,
)
from priorband.storage.checkpoints import Checkpoints
from priorband.storage.heartbeat import Heartbeat
from priorband.storage.postgres import PostgresJournal
from priorband.storage.spool import Spool
from priorband.storage.wal_sync import WalSync
from priorband.storage.write_lock import WriteLock
from priorband.trial import Trial
from priorband.values import replaced
from priorband.workers import (
    guarded_process,
    objective_results,
    trial_runner,
    warm_process,
    warm_request,
    warm_server,
    worker,
)

PLANTED_BUGS: dict[str, tuple[str, Callable[[], None]]] = {}
"""By name: the fault that must find the bug, and the function that plants it."""


def plant_bug(name: str) -> None:
    """Plant a bug in this process; an empty name plants none."""
    if name:
        PLANTED_BUGS[name][1]()


def _found_by(fault: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register a function that plants a bug, with the fault that must find it."""

    def register(patch: Callable[[], None]) -> Callable[[], None]:
        PLANTED_BUGS[patch.__name__.strip("_").replace("_", "-")] = (fault, patch)
        return patch

    return register


def _patch(target: Any, name: str, value: Any) -> None:
    """Replace an attribute; one that does not exist would be a bug that nobody can find."""
    assert hasattr(target, name), f"{target!r} has no {name!r} to replace"
    setattr(target, name, value)


def _patch_guards(statement: str) -> None:
    """Let the guards of a training run a statement before anything else."""
    program = guarded_process.START_GUARDS
    assert "guard.split(" in program
    program = program.replace("guard.split(", f"{statement}; guard.split(")
    _patch(guarded_process, "START_GUARDS", program)


@_found_by("storm")
def _ack_before_commit() -> None:
    """Acknowledge a result before it is written."""
    real, waiting = DurableStudy.turn, dict[int, Report | None]()

    def turn(self: DurableStudy, report: Report | None, claim: str) -> Any:
        before, waiting[0] = waiting.get(0), report
        return real(self, before, claim)

    _patch(DurableStudy, "turn", turn)
    _patch(DurableStudy, "is_idle", lambda self: False)  # the next turn writes the last result


@_found_by("storm")
def _posted_reports_ignored() -> None:
    """Answer the turns of other workers without writing down what they report."""
    real = turns.PostedTurn.from_text

    def from_text(text: str) -> turns.PostedTurn:
        return replaced(real(text), report=None)

    _patch(turns.PostedTurn, "from_text", staticmethod(from_text))


@_found_by("race")
def _stale_claims() -> None:
    """Decide on trials from an outdated history."""
    real, before = Optimizer.propose, dict[int, State]()

    def propose(self: Optimizer, state: State, seed: int) -> Trial:
        number, outdated = len(state.history), before.get(0, state)
        before[0] = state
        return replaced(real(self, outdated, seed), id=number, root=number)

    _patch(Optimizer, "propose", propose)


@_found_by("storm")
def _no_transaction() -> None:
    """Write without a transaction and without the write lock."""

    class ConnectionWithoutTransactions(sqlite3.Connection):
        def execute(self, text: str, *values: Any) -> sqlite3.Cursor:
            ignored = text in ("BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
            return super().execute("SELECT 1" if ignored else text, *values)

    @contextmanager
    def acquire(self: object, meanwhile: object = None) -> Iterator[None]:
        yield

    real = sqlite3.connect
    _patch(sqlite3, "connect", lambda *a, **k: real(*a, factory=ConnectionWithoutTransactions, **k))
    _patch(WriteLock, "acquire", acquire)


@_found_by("storm")
def _dead_as_alive() -> None:
    """Take dead processes for living ones."""
    _patch(expiry, "liveness", lambda owner: "alive")


@_found_by("storm")
def _alive_as_dead() -> None:
    """Sometimes take a living process for a dead one."""
    real = identity.liveness
    _patch(expiry, "liveness", lambda owner: "dead" if os.urandom(1)[0] < 4 else real(owner))


@_found_by("storm")
def _one_lost_too_many() -> None:
    """Allow one lost attempt too many."""
    real = expiry.expire

    def one_more(ledger: Any, transaction: Any, most: int, but: Any) -> Any:
        return real(ledger, transaction, most + 1, but)

    _patch(dispatch, "expire", one_more)


@_found_by("storm")
def _one_trial_too_many() -> None:
    """Hand out one trial too many."""
    real = Spending.reached
    _patch(
        Spending,
        "reached",
        lambda self, limits: real(replaced(self, trials=self.trials - 1), limits),
    )


@_found_by("storm")
def _orphans_live() -> None:
    """Let trainings outlive their workers."""
    _patch_guards("guard.parent_is_dead = lambda parent: False")


@_found_by("calls")
def _head_first() -> None:
    """Write the head file before the record."""
    real = sql.write_statements

    def write_statements(transaction: Any) -> Any:
        if transaction.appended:
            last = transaction.appended[-1]
            for journal in journals:
                journal._write_head(last)
        return real(transaction)

    real_init, journals = sqlite.SqliteJournal.__init__, list[Any]()

    def init(self: Any, *arguments: Any, **options: Any) -> None:
        real_init(self, *arguments, **options)
        journals.append(self)

    _patch(sqlite.SqliteJournal, "__init__", init)
    _patch(sql, "write_statements", write_statements)


@_found_by("calls")
def _torn_checkpoints() -> None:
    """Copy a checkpoint to its final name directly, not atomically."""

    def seal(self: Checkpoints, trial: int, attempt: int, step: float) -> None:
        saved = self.checkpoint_dir(trial, attempt).parent
        copy = self.checkpoint_dir(trial, attempt, f".step-{step!r}").parent
        shutil.copytree(saved, copy)
        for path in copy.parent.glob(f"{attempt}.step-*"):
            if path != copy:
                shutil.rmtree(path)

    _patch(Checkpoints, "seal", seal)


@_found_by("cut")
def _no_sync() -> None:
    """Do not sync the write-ahead log."""
    _patch(WalSync, "sync", lambda self: None)


@_found_by("full")
def _full_is_fatal() -> None:
    """Treat a full disk as damage."""
    del sqlite_file._TEMPORARY_ERRORS[sqlite3.SQLITE_FULL]


@_found_by("full")
def _no_spool() -> None:
    """Do not keep results that could not be written."""
    _patch(Spool, "put", lambda self, name, report: None)


@_found_by("database")
def _outage_is_fatal() -> None:
    """Treat a server that cannot be reached as damage."""
    _patch(postgres, "StorageError", DamagedError)


@_found_by("database")
def _no_log_sync() -> None:
    """Do not wait until PostgreSQL's log is on the disk."""
    _patch(postgres, "_SYNC", "SELECT 1")


@_found_by("connections")
def _second_connection() -> None:
    """Renew leases through a connection of their own."""
    real, others = PostgresJournal.beat, dict[int, PostgresJournal]()

    def beat(self: PostgresJournal, *arguments: Any) -> set[int]:
        if id(self) not in others:
            others[id(self)] = PostgresJournal(f"{self._url}#{self.name}")
        return real(others[id(self)], *arguments)

    _patch(PostgresJournal, "beat", beat)


@_found_by("connections")
def _silent_heartbeat() -> None:
    """Do not say that leases cannot be renewed."""
    _patch(Heartbeat, "_overdue", lambda self, said: 0)


@_found_by("frozen")
def _late_raises() -> None:
    """Raise an exception for a late result."""

    def late(self: Dispatcher, transaction: object, report: Report) -> bool:
        raise TrialError(f"Trial {report.trial} was told already.")

    _patch(Dispatcher, "_settle_late", late)


@_found_by("frozen")
def _second_counts() -> None:
    """Report that a late result counts."""
    real = Dispatcher.settle

    def settle(self: Dispatcher, transaction: Any, report: Report, **options: bool) -> bool:
        if report.trial not in self.view.ledger.running:
            return True
        return real(self, transaction, report, **options)

    _patch(Dispatcher, "settle", settle)


@_found_by("frozen")
def _loser_tidies() -> None:
    """Let the attempt that came second remove the checkpoint of the first."""

    def tidy(self: Any, report: Report) -> None:
        self.runner.checkpoints.settle(report.trial, report.attempt)

    _patch(worker.Worker, "_remove_old_checkpoints", tidy)


@_found_by("elsewhere")
def _no_renewal() -> None:
    """Do not renew leases."""
    _patch(Heartbeat, "_beat", lambda self: None)


@_found_by("elsewhere")
def _one_look() -> None:
    """Declare a worker dead as soon as its lease has expired."""
    _patch(expiry, "DOUBT", 0.0)


@_found_by("elsewhere")
def _blind_to_reboots() -> None:
    """Do not recognise that the machine was rebooted."""
    _patch(identity, "_boot", lambda owner: "")


@_found_by("objectives")
def _children_live() -> None:
    """End only the training, not the processes that it started."""
    _patch_guards("guard.end_descendants = lambda group, asked_at, spared=(): None")


@_found_by("strays")
def _no_subreaper() -> None:
    """Let processes that lose their parent get away from the guards of a training."""
    _patch_guards("guard.become_subreaper = lambda: None")


@_found_by("strays")
def _server_lives() -> None:
    """Leave the server that forks trials running when its worker ends, in whatever way."""
    _patch_guards("guard.parent_is_dead = lambda parent: False")
    _patch(warm_process.WarmServer, "close", lambda self: None)
    for name in ("end_all", "join"):
        _patch(guarded_process.GuardedProcess, name, lambda self, timeout=None: None)
    real = warm_request.receive

    def receive(source: socket.socket) -> tuple[bytes, list[int]]:
        kind, files = real(source)
        if not kind:  # the worker has ended
            time.sleep(600)
        return kind, files

    _patch(warm_server, "receive", receive)


@_found_by("objectives")
def _true_is_one() -> None:
    """Take True for a loss of 1."""
    _patch(
        objective_results,
        "checked_loss",
        lambda loss: float(loss) if loss is True else arguments.checked_loss(loss),
    )


@_found_by("signals")
def _stopped_is_failed() -> None:
    """Record a trial that was stopped by a signal as failed."""
    real = trial_runner.TrialRunner.finish

    def finish(self: Any, claim: Any, begun: Any) -> Report:
        report = real(self, claim, begun)
        if report.failure != "preempted":
            return report
        return Report(report.trial, report.attempt, None, "raised", report.reason)

    _patch(trial_runner.TrialRunner, "finish", finish)


@_found_by("signals")
def _no_checkpoint_taken_over() -> None:
    """Do not resume from the checkpoint of an earlier attempt."""
    _patch(Checkpoints, "take_over", lambda self, trial, attempt, below=0.0: None)


@_found_by("identity")
def _any_folder() -> None:
    """Do not ask which study a folder of checkpoints belongs to."""
    _patch(opening, "require_no_trials", lambda root: None)
    _patch(opening, "require_own", lambda *arguments: None)
    _patch(checkpoints, "require_own", lambda *arguments: None)


@_found_by("identity")
def _folder_by_path() -> None:
    """Write to whatever is at the path of a folder, instead of holding it open."""
    _patch(held_folder, "_CAN_HOLD", False)


@_found_by("unlinked")
def _ack_what_is_lost() -> None:
    """Acknowledge results in files that nobody can find."""
    _patch(sqlite.SqliteJournal, "_refuse_lost_files", lambda self, connection=None: None)


@_found_by("special")
def _open_anything() -> None:
    """Open whatever is at a path, and wait until that is possible."""
    _patch(safe_files, "_SAFELY", 0)
    _patch(safe_files, "refuse_link", lambda path, dir_fd=None: None)
    _patch(safe_files, "_refuse_mode", lambda path, mode: None)


@_found_by("nospace")
def _full_is_raised() -> None:
    """Take a full disk in an objective for a failure of the trial."""
    _patch(objective_results, "_FULL", ())
    _patch(objective_results, "_SAYS_FULL", re.compile("(?!)"))


@_found_by("nospace")
def _tell_at_once() -> None:
    """Do not wait for storage when results are told by hand."""
    _patch(DurableStudy, "_patiently", lambda self, action: action())


@_found_by("readonly")
def _readers_need_the_index() -> None:
    """Read as a worker does, which needs an index of the log that it may write to."""
    _patch(sqlite.SqliteJournal, "_query", lambda self, query: query(self._connection("read")))
