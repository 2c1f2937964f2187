"""The journal in SQLite: a folder with `study.db`, for workers on one machine.

A transaction is synced to disk before its caller is told that it was written. Writers share a file
lock, which the operating system releases when its holder is killed. Readers see the last committed
state without waiting. SQLite's write-ahead log is not safe on a network file system, so there the
study uses the older rollback journal.
"""

import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, final
from urllib.parse import quote

from priorband.errors import DamagedError, StorageError
from priorband.storage import sql
from priorband.storage.filesystems import lock_safety
from priorband.storage.high_water import HEAD_NAME, HighWater, salvage_hint
from priorband.storage.journal import Beat, Lease, Meanwhile, Row, Transaction
from priorband.storage.safe_files import refuse_link, sync_folder
from priorband.storage.snapshot_file import Snapshot, SnapshotFile, unpacked
from priorband.storage.sqlite_file import (
    DATABASE_NAME,
    configure,
    create_tables,
    has_tables,
    require_version,
    set_journal_mode,
    translated_errors,
)
from priorband.storage.wal_sync import WalSync
from priorband.storage.write_lock import WriteLock

BUSY_TIMEOUT = 10.0  # seconds that SQLite itself waits for a lock
COMMITS_PER_COPY = 250  # how many commits a process makes before it copies the log back

_Use = Literal["read", "write", "write, sync later", "beat"]
"""What a connection is for: each use has a connection of its own."""
_SYNCHRONOUS: dict[_Use, str] = {
    "read": "FULL",
    "write": "FULL",
    "write, sync later": "NORMAL",  # `WalSync` syncs the log
    "beat": "NORMAL",  # a lost renewal does no harm
}
_DIALECT = {"s": "main.", "int": "INTEGER", "real": "REAL"}
_SQL = {text: text.format(**_DIALECT).replace("%s", "?") for text in sql.STATEMENTS}


@final
class SqliteJournal:
    """A study in a folder on this machine."""

    def __init__(self, folder: Path, read_only: bool = False) -> None:
        self.folder = folder = folder.absolute()  # an objective may change the working directory
        self.where = str(folder)
        self.read_only = read_only
        self._mutex = threading.RLock()
        self._beat_mutex = threading.Lock()
        self._head = HighWater(folder)
        self._connections: dict[_Use, sqlite3.Connection] = {}
        self._write_lock = WriteLock(folder)
        self._wal_sync = WalSync(folder)
        self._commits = 0
        self._pid = os.getpid()
        self._head_compared = False
        """Whether the record that the head file names was read and compared with it."""
        self._snapshot = SnapshotFile(folder)

    def exists(self) -> bool:
        """Whether there is a study in the folder."""
        with translated_errors(self.folder):
            refuse_link(self.folder / DATABASE_NAME)
            path = self.folder / DATABASE_NAME
            if not path.exists() or path.stat().st_size <= 1:  # SQLite would delete its log
                if (self.folder / HEAD_NAME).exists() and HighWater(self.folder).read()[0]:
                    raise DamagedError(f"{path} is missing or empty. {salvage_hint(self.where)}")
                return False
            with self._mutex:
                return self.first() is not None

    def prepare(self) -> None:
        """Create the folder and the tables, unless they exist."""
        with translated_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        with self._mutex, translated_errors(self.folder), self._write_lock.acquire():
            self._head.create()
            with closing(self._connect("rwc")) as connection:
                set_journal_mode(connection, self.folder)
                connection.execute("BEGIN IMMEDIATE")
                create_tables(connection, self.where)
                connection.execute("COMMIT")
            sync_folder(self.folder)

    def read(self, after: int) -> list[Row]:
        """The records with numbers above `after`, in order. Needs no lock."""
        with self._mutex, translated_errors(self.folder):
            seq, seal = self._head.read()
            query = self._connection("read").execute(_SQL[sql.SELECT_RECORDS], (after,))
            with closing(query) as results:
                rows = sql.checked_rows(results, self.where)
            self._check_head(rows, after, seq, seal)
            if after and not self._head_compared and 0 < seq <= after:  # not among the rows
                found = self._connection("read").execute(_SQL[sql.SELECT_RECORD], (seq,)).fetchall()
                self._check_head(sql.checked_rows(found, self.where), 0, seq, seal)
            self._head_compared = True
            return rows

    def first(self) -> Row | None:
        """The record that created the study; None if there is no study."""
        with self._mutex, translated_errors(self.folder):
            connection, rows = self._connection("read"), list[Row]()
            head = self._head.read()  # before the tables: another process may create the study
            if has_tables(connection, self.where):
                results = connection.execute(_SQL[sql.SELECT_FIRST_RECORD]).fetchall()
                rows = sql.checked_rows(results, self.where)
            if not rows:
                self._check_head([], 0, *head)
            return rows[0] if rows else None

    def trial_rows(self, trial: int) -> list[Row]:
        """The records of one trial, in order."""
        with self._mutex, translated_errors(self.folder):
            query = self._connection("read").execute(_SQL[sql.SELECT_TRIAL_RECORDS], (trial,))
            return sql.checked_rows(query.fetchall(), self.where)

    def leases(self) -> list[Lease]:
        """The leases: which worker holds which trial. Needs no lock."""
        with self._mutex, translated_errors(self.folder):
            results = self._connection("read").execute(_SQL[sql.SELECT_LEASES])
            return sql.checked_leases(results, self.where)

    def snapshot(self) -> Snapshot | None:
        """The stored snapshot; None if there is none that can be read."""
        return unpacked(self._snapshot.read())

    def snapshot_seq(self) -> int:
        """The number of the last record of the stored snapshot; 0 if there is none."""
        return self._snapshot.seq()

    def write_snapshot(self, data: bytes, replace: bool) -> None:
        """Store a snapshot, unless there is one of more records and `replace` is false."""
        self._snapshot.write(data, replace)

    def now(self) -> float:
        """This machine's clock, in seconds since 1970."""
        return time.time()

    @contextmanager
    def transaction(self, after: int, meanwhile: Meanwhile = list) -> Iterator[Transaction]:
        """Wait for the write lock, and write the transaction's changes when the block ends."""

        def catch_up() -> None:
            nonlocal after
            rows = self.read(after)
            if rows:
                after = rows[-1].seq
                meanwhile(rows)

        with self._mutex, translated_errors(self.folder):
            self._after_fork()
            with self._write_lock.acquire(catch_up), self._transaction(after) as transaction:
                yield transaction
            if self._wal_sync.pending or transaction.confirmed:
                self._wal_sync.sync()
            if transaction.appended:
                self._write_head(transaction.appended[-1])

    @contextmanager
    def _transaction(self, after: int) -> Iterator[Transaction]:
        sync_later = self._local  # there is a log that can be synced after the lock is released
        use: _Use = "write, sync later" if sync_later else "write"
        connection = self._connection(use)
        if connection.in_transaction:  # a signal handler's exception left it so
            connection.close()
            connection = self._connection(use)
        try:
            connection.execute("BEGIN IMMEDIATE")  # inside `try`: a signal may come as it returns
            require_version(connection, self.where)
            run = connection.execute
            rows = sql.checked_rows(run(_SQL[sql.SELECT_RECORDS], (after,)), self.where)
            leases = sql.checked_leases(run(_SQL[sql.SELECT_LEASES]), self.where)
            transaction = Transaction(self.now(), rows, leases)
            yield transaction
            for statement, values in sql.write_statements(transaction):
                run(_SQL[statement], values)
            self._wal_sync.pending |= sync_later and bool(transaction.appended)
            transaction.confirmed &= sync_later
            run("ROLLBACK" if transaction.empty else "COMMIT")
        except BaseException:
            _roll_back(connection)
            raise
        if transaction.appended:
            self._copy_log_back(connection)

    def beat(self, worker: str, beats: Sequence[Beat], seconds: float) -> set[int]:
        """Renew a worker's leases for `seconds`; the trials that it still holds.

        Renewals are not synced: one that is lost in a power failure does no harm.
        """
        with self._beat_mutex, translated_errors(self.folder):
            connection = self._connection("beat")
            try:
                connection.execute("BEGIN IMMEDIATE")
                now = self.now()
                held = set()
                for beat in beats:
                    statement, values = sql.renewal_statement(worker, beat, now + seconds)
                    if connection.execute(_SQL[statement], values).rowcount:
                        held.add(beat.trial)
                connection.execute(_SQL[sql.SUSPECT_EXPIRED_LEASES], (now, now))
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise
            return held

    def close(self) -> None:
        """Close the database and the lock file. A later call opens them again."""
        with self._mutex, self._beat_mutex, translated_errors(self.folder):
            self._after_fork()
            for use in sorted(self._connections, key=lambda use: use != "read"):
                self._connections[use].close()  # the last writer copies the log back
            self._connections.clear()
            self._head.close()
            self._write_lock.close()
            self._wal_sync.close()

    def _copy_log_back(self, connection: sqlite3.Connection) -> None:
        """Copy the write-ahead log into the database now and then, while holding the write lock.

        SQLite's automatic copying is off: once the log is long, it would try after every commit for
        as long as other processes are reading.
        """
        self._commits += 1
        if self._commits % COMMITS_PER_COPY == 0:
            with suppress(sqlite3.OperationalError):  # such as a full disk: the record is safe
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _write_head(self, last: Row) -> None:
        try:
            self._head.write(last.seq, last.seal)
        except OSError as error:  # the record is safe; only the head file is behind
            warnings.warn(f"{self._head.path} could not be written: {error}", stacklevel=2)

    def _check_head(self, rows: list[Row], after: int, seq: int, seal: int) -> None:
        """Raise `DamagedError` if the record that the head file names is missing, or differs."""
        last = rows[-1].seq if rows else after
        same = all(row.seal == seal for row in rows if row.seq == seq)
        if last < seq or not same:
            problem = f"ends at record {last}" if last < seq else f"has another record {seq}"
            raise DamagedError(
                f"{self.where} is damaged: {self._head.path.name} says that record {seq} was "
                f"written, but the database {problem}. {salvage_hint(self.where)}"
            )

    def _connection(self, use: _Use) -> sqlite3.Connection:
        """The connection for a use, opened if necessary.

        The one for reading is read-only: when it is closed, it leaves a damaged log as it is, so
        that the log can be salvaged.
        """
        self._after_fork()
        connection = self._connections.get(use)
        if connection is None or _closed(connection):
            if not (self.folder / DATABASE_NAME).exists():
                raise StorageError(
                    f"{self.folder / DATABASE_NAME} does not exist. Was it removed or moved while "
                    "the study was open?"
                )
            read_only = self.read_only or (use == "read" and not self._may_need_rollback())
            connection = self._connect("ro" if read_only else "rw", _SYNCHRONOUS[use])
            try:
                has_tables(connection, self.where)
            except BaseException:
                connection.close()
                raise
            self._connections[use] = connection
            self._wal_sync.close()  # the log may be a new file
        return connection

    @cached_property
    def _local(self) -> bool:
        return lock_safety(self.folder) == "local"

    def _may_need_rollback(self) -> bool:
        """Whether a reader may have to undo an unfinished write, for which it must write.

        That is so with a rollback journal: on a network, or after an interrupted creation.
        """
        return not self._local or (self.folder / f"{DATABASE_NAME}-journal").exists()

    def _connect(self, mode: str, synchronous: str = "FULL") -> sqlite3.Connection:
        for suffix in ("", "-wal", "-shm", "-journal"):
            refuse_link(self.folder / (DATABASE_NAME + suffix))
        path = quote(os.fsencode(self.folder / DATABASE_NAME))
        connection = sqlite3.connect(
            f"file:{path}?mode={mode}",
            timeout=BUSY_TIMEOUT,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        try:
            configure(connection, synchronous)
        except BaseException:
            connection.close()
            raise
        return connection

    def _after_fork(self) -> None:
        """Stop using the files and connections of the parent process after a fork."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            _inherited.append((self._connections, self._head, self._write_lock, self._wal_sync))
            self._wal_sync = WalSync(self.folder)
            self._connections, self._head = {}, HighWater(self.folder)
            self._write_lock = WriteLock(self.folder)


_inherited: list[Any] = []
"""A parent process's connections, kept open: closing them here would break the parent's locks."""


def _closed(connection: sqlite3.Connection) -> bool:
    try:
        return connection.in_transaction is None
    except sqlite3.ProgrammingError:
        return True


def _roll_back(connection: sqlite3.Connection) -> None:
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    except sqlite3.Error:
        connection.close()
