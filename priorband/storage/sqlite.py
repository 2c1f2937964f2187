"""The journal in SQLite: a folder with `study.db`, for workers on one machine.

A transaction is synced to disk before its caller is told that it was written. Writers share a file
lock, which the operating system releases when its holder is killed. Readers see the last committed
state without waiting. SQLite's write-ahead log is not safe on a network file system, so there the
study uses the older rollback journal.
"""

import ctypes
import os
import sqlite3
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar, final

from priorband.errors import DamagedError, StorageError
from priorband.storage import sql
from priorband.storage.file_clock import FileClock
from priorband.storage.filesystems import lock_safety
from priorband.storage.high_water import HEAD_NAME, HighWater, salvage_hint
from priorband.storage.journal import (
    PAGE,
    Beat,
    Lease,
    Meanwhile,
    Row,
    Transaction,
    refuse_to_write,
    sealed,
)
from priorband.storage.open_files import OpenFiles
from priorband.storage.permissions import require_writable
from priorband.storage.read_only_database import ReadOnlyDatabase
from priorband.storage.safe_files import refuse_link, sync_folder
from priorband.storage.snapshot_file import Snapshot, SnapshotFile, unpacked
from priorband.storage.sqlite_file import (
    BUSY_TIMEOUT,
    DATABASE_NAME,
    TranslatedErrors,
    connect,
    create_tables,
    has_tables,
    require_database,
    require_version,
    set_journal_mode,
)
from priorband.storage.study_folder import create_folder
from priorband.storage.wal_sync import WalSync
from priorband.storage.write_lock import WriteLock

LONG_LOG = 4 << 20  # bytes of the write-ahead log at which it is copied into the database
LOG_GROWTH = 1.2  # how much longer the log is at the next attempt, if one did not succeed
READERS_TIMEOUT, LONGEST_READERS_TIMEOUT = 0.02, 0.5  # seconds that attempts wait for readers

_LAST_WRITTEN, _NEXT_COPY = 0, 1
"""Places in the lock file for notes: when the database was last written to, and at which length of
which log it is to be written to next."""

_Use = Literal["read", "write", "write, sync later", "beat"]
"""What a connection is for: each use has a connection of its own."""
_SYNCHRONOUS: dict[_Use, str] = {
    "read": "FULL",
    "write": "FULL",
    "write, sync later": "NORMAL",  # `WalSync` syncs the log
    "beat": "NORMAL",  # a lost renewal does no harm
}
T = TypeVar("T")
_DIALECT = sql.dialect("main.", "INTEGER", "REAL")
_SQL = {text: text.format(**_DIALECT).replace("%s", "?") for text in sql.STATEMENTS}


@final
class SqliteJournal:
    """A study in a folder on this machine."""

    def __init__(self, folder: Path, read_only: bool = False) -> None:
        self.folder = folder = folder.absolute()  # an objective may change the working directory
        self.where = str(folder)
        self.read_only = read_only
        self.say: Callable[[str], None] = lambda text: None
        """Not used: a write lock that is not free for long raises an error."""
        self.waiting: Callable[[], None] = lambda: None
        """Called while the write lock is not free; may raise, to stop waiting."""
        self._mutex = threading.RLock()
        self._beat_mutex = threading.Lock()
        self._connections: dict[_Use, sqlite3.Connection] = {}
        self._errors = TranslatedErrors(folder)
        self._files = OpenFiles(folder)
        self._head = HighWater(folder, self._files.open_folder)
        self._write_lock = WriteLock(folder, self._refuse_lost_files)
        self._wal_sync = WalSync(folder)
        self._known = (0, 0)
        """The number and the seal of the last record that this process has read or written."""
        self._written = b""
        """When the database was last written to, as far as that is known to be in order."""
        self._pid = os.getpid()
        self._head_compared = False
        """Whether the record that the head file names was read and compared with it."""
        self._snapshot = SnapshotFile(folder)
        self._clock = FileClock(folder, read_only)
        self._read_only = ReadOnlyDatabase(folder)
        """How it is read if it was opened to be read only."""

    def exists(self) -> bool:
        """Whether there is a study in the folder."""
        with self._errors:
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
        refuse_to_write(self)
        with self._errors:
            create_folder(self.folder)
        with self._mutex, self._errors, self._write_lock.acquire():
            self._head.create()
            with closing(connect(self.folder, "mode=rwc")) as connection:
                set_journal_mode(connection, self.folder)
                connection.execute("BEGIN IMMEDIATE")
                create_tables(connection, self.where)
                connection.execute("COMMIT")
            sync_folder(self.folder)

    def read(self, after: int) -> list[Row]:
        """The records with numbers above `after`, in order. Needs no lock."""
        with self._mutex, self._errors:
            seq, seal = self._read_head()
            rows = self._read_rows(_SQL[sql.SELECT_RECORDS], (after,))
            self._check_head(rows, after, seq, seal)
            self._remember(rows)
            if after and not self._head_compared and 0 < seq <= after:  # not among the rows
                self._check_head(self.read_numbered([seq]), 0, seq, seal)
            self._head_compared = True
            return rows

    def read_in_pages(self, size: int = PAGE) -> Iterator[list[Row]]:
        """The records up to the last one at the first step, in order, at most `size` at a time.

        No read transaction is open between two pages: one would keep the write-ahead log from
        being copied back.
        """
        with self._mutex, self._errors:
            seq, seal = self._read_head()
            newest = self._query(lambda link: link.execute(_SQL[sql.SELECT_LAST_NUMBER]).fetchall())
            last, after = sql.last_number(newest, self.where), 0
        self._check_head([], last, seq, seal)
        while after < last:
            with self._mutex, self._errors:
                rows = self._read_rows(_SQL[sql.SELECT_PAGE], (after, last, size))
                sql.check_page(rows, self.where, after)
            after = rows[-1].seq
            if after >= seq:
                self._check_head(rows, after, seq, seal)
            yield rows

    def read_numbered(self, numbers: Sequence[int]) -> list[Row]:
        """The records with these numbers, in order. Needs no lock."""
        with self._mutex, self._errors:
            return self._read_rows(sql.numbered(_SQL[sql.SELECT_NUMBERED_RECORDS], numbers))

    def first(self) -> Row | None:
        """The record that created the study; None if there is no study."""
        with self._mutex, self._errors:
            self._query(lambda link: None)  # opens it, and raises an error if it is not a study
            head = self._read_head()  # before the tables: another process may create the study
            rows = self._query(self._first_rows)
            if not rows:
                self._check_head([], 0, *head)
            return rows[0] if rows else None

    def trial_rows(self, trial: int) -> list[Row]:
        """The records of one trial, in order."""
        with self._mutex, self._errors:
            return self._read_rows(_SQL[sql.SELECT_TRIAL_RECORDS], (trial,))

    def leases(self) -> list[Lease]:
        """The leases: which worker holds which trial. Needs no lock."""
        with self._mutex, self._errors:
            return self._query(
                lambda link: sql.checked_leases(link.execute(_SQL[sql.SELECT_LEASES]), self.where)
            )

    def _first_rows(self, connection: sqlite3.Connection) -> list[Row]:
        if not has_tables(connection, self.where):
            return []
        results = connection.execute(_SQL[sql.SELECT_FIRST_RECORD]).fetchall()
        return sql.checked_rows(results, self.where)

    def _read_rows(self, text: str, values: tuple[int, ...] = ()) -> list[Row]:
        def rows(connection: sqlite3.Connection) -> list[Row]:
            with closing(connection.execute(text, values)) as results:
                return sql.checked_rows(results, self.where)

        return self._query(rows)

    def _query(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """What a query gives, which gets the connection for reading."""
        self._after_fork()
        if self.read_only:
            return self._read_only.run(query)
        return query(self._connection("read"))

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
        """The clock of the folder's file system, in seconds since 1970."""
        return self._clock.now()

    @contextmanager
    def transaction(
        self,
        after: int,
        meanwhile: Meanwhile = list,
        leases: bool = True,
        post: Callable[[], str] | None = None,
    ) -> Iterator[Transaction]:
        """Wait for the write lock, and write the transaction's changes when the block ends.

        Nothing is posted: each process writes for itself.
        """

        def catch_up() -> None:
            nonlocal after
            self.waiting()
            rows = self.read(after)
            if rows:
                after = rows[-1].seq
                meanwhile(rows)

        refuse_to_write(self)
        with self._mutex, self._errors:
            self._after_fork()
            with self._write_lock.acquire(catch_up), self._transaction(after) as transaction:
                yield transaction
            if self._wal_sync.pending or transaction.confirmed:
                self._wal_sync.sync()
            if transaction.appended:
                self._write_head(transaction.appended[-1])
            self._refuse_lost_files()  # what nobody can find is not acknowledged

    def has_posts(self) -> bool:
        """Whether workers wait for others to take their turns: they never do."""
        return False

    @contextmanager
    def _transaction(self, after: int) -> Iterator[Transaction]:
        sync_later = self._local  # there is a log that can be synced after the lock is released
        use: _Use = "write, sync later" if sync_later else "write"
        connection = self._connection(use)
        if connection.in_transaction:  # a signal handler's exception left it so
            connection.close()
            connection = self._connection(use)
        self._refuse_lost_files(connection)
        self._refuse_overwritten_database()
        try:
            connection.execute("BEGIN IMMEDIATE")  # inside `try`: a signal may come as it returns
            require_version(connection, self.where)
            run = connection.execute
            rows = sql.checked_rows(run(_SQL[sql.SELECT_RECORDS], (after,)), self.where)
            self._remember(rows)

            def leases() -> list[Lease]:
                return sql.checked_leases(run(_SQL[sql.SELECT_LEASES]), self.where)

            transaction = Transaction(self.now(), rows, leases)
            yield transaction
            for statement, values in sql.write_statements(transaction):
                run(_SQL[statement], values)
            if transaction.version is not None:
                run(f"PRAGMA user_version = {transaction.version}")
            self._wal_sync.pending |= sync_later and bool(transaction.appended)
            transaction.confirmed &= sync_later
            run("ROLLBACK" if transaction.empty else "COMMIT")
        except BaseException:
            _roll_back(connection)
            raise
        self._remember(transaction.appended)
        if sync_later and not transaction.empty and self._wal_sync.longer_than(LONG_LOG):
            self._copy_log_back(connection, self._write_lock, self._wal_sync)

    def beat(self, worker: str, beats: Sequence[Beat], seconds: float) -> set[int]:
        """Renew a worker's leases for `seconds`; the trials that it still holds.

        Renewals are not synced: one that is lost in a power failure does no harm.
        """
        refuse_to_write(self)
        with self._beat_mutex, self._errors:
            self._after_fork()
            connection = self._connection("beat")
            self._refuse_lost_files(connection)
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
            if self._local:
                self._copy_log_of_beats(connection)
            return held

    def _copy_log_of_beats(self, connection: sqlite3.Connection) -> None:
        """Copy the log back if it is long and nobody writes: a worker that writes does it itself.

        While all workers train for hours, there is nothing but renewals.
        """
        with closing(WalSync(self.folder)) as log:
            if not log.longer_than(LONG_LOG):
                return
            with closing(WriteLock(self.folder, self._refuse_lost_files)) as lock:
                if lock.try_acquire():
                    self._copy_log_back(connection, lock, log)

    def close(self) -> None:
        """Close the database and the lock file. A later call opens them again."""
        with self._mutex, self._beat_mutex, self._errors:
            self._after_fork()
            if self._files.log_lost:
                _keep_open(self._connections)
            for use in sorted(self._connections, key=lambda use: use != "read"):
                self._connections[use].close()  # the last writer copies the log back
            self._connections.clear()
            self._read_only.close()
            self._files.forget_log()
            self._head.close()
            self._write_lock.close()
            self._wal_sync.close()

    def _copy_log_back(self, connection: sqlite3.Connection, lock: WriteLock, log: WalSync) -> None:
        """Copy a long write-ahead log into the database, while holding the write lock.

        The next commit then starts the log from scratch, unless others are still reading in it. If
        they are not done after a short wait, the next attempt, by any process, follows when the log
        has grown, and waits longer. SQLite's automatic copying is off: once the log is long, it
        would try after every commit for as long as others are reading.
        """
        generation, _, length = lock.read_note(_NEXT_COPY).partition(b" ")
        due = int(length) if length.isdigit() and generation == log.generation() else LONG_LOG
        if not log.longer_than(due):
            return
        seconds = min(READERS_TIMEOUT * (due / LONG_LOG) ** 4, LONGEST_READERS_TIMEOUT)
        with suppress(sqlite3.OperationalError):  # such as a full disk: the record is safe
            # A read marks the end of the log as one of the four places where readers can begin.
            # Without it, one that begins now may have to use an older place, and hold this up.
            connection.execute("PRAGMA user_version").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")
            try:
                result = connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
            finally:
                connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT * 1000:.0f}")
            if result[0]:
                used = max(log.bytes_of(result[1]), due)
                next_copy = b"%s %d" % (log.generation(), used * LOG_GROWTH)
                lock.write_note(next_copy, _NEXT_COPY)
        self._refuse_lost_files()
        lock.write_note(self._files.last_written, _LAST_WRITTEN)

    def _write_head(self, last: Row) -> None:
        try:
            replaced = self._head.write(last.seq, last.seal)
        except OSError as error:  # the record is safe; only the head file is behind
            self._refuse_lost_files()
            warnings.warn(f"{self._head.path} could not be written: {error}", stacklevel=2)
            return
        if replaced:
            self.read(last.seq)  # raises an error if others would think that records are missing

    def _remember(self, rows: Sequence[Row]) -> None:
        if rows and rows[-1].seq > self._known[0]:
            self._known = rows[-1].seq, rows[-1].seal

    def _refuse_lost_files(self, connection: sqlite3.Connection | None = None) -> None:
        """Raise `StorageError` if the open files are not those at the study's path.

        If only the log is lost, `connection`, which has it open, copies its records into the
        database first: the log is gone when the last process that has it open ends.
        """
        problem = self._files.problem()
        if not problem:
            return
        if connection and self._files.log_lost and not self._files.log_replaced:
            with suppress(sqlite3.Error):
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        raise StorageError(problem)

    def _refuse_overwritten_database(self) -> None:
        """Raise `StorageError` if another program has written to the database.

        With a write-ahead log, the database itself is written to only when the log is copied back.
        The process that does so, which holds the write lock, leaves a note in the lock file. After
        any other write, all records are read again.
        """
        if not self._local:
            return
        written = self._files.last_written
        if written == self._written:
            return
        if written != self._write_lock.read_note(_LAST_WRITTEN) and not self._has_known_records():
            raise StorageError(
                f"{self._files.database} was overwritten while the study was open, and records are "
                f"missing or changed. Stop all workers of the study, which keep their results. "
                f"{salvage_hint(self.where)}"
            )
        self._written = written

    def _has_known_records(self) -> bool:
        """Whether the files hold all records up to the last one that this process knows."""
        seal, known = 0, self._known[0] == 0
        with closing(connect(self.folder, "mode=ro")) as connection:  # a new one: it has no cache
            results = connection.execute(_SQL[sql.SELECT_RECORDS], (0,))
            for number, row in enumerate(sql.checked_rows(results, self.where), 1):
                if row.seq != number or row.seal != sealed(seal, row):
                    return False
                seal = row.seal
                known |= (number, seal) == self._known
        return known

    def _read_head(self) -> tuple[int, int]:
        """The number and the seal in the head file; `StorageError` if the folder was moved away.

        If only the file was removed, what this process knows takes its place until the next write.
        """
        try:
            return self._head.read()
        except DamagedError:
            self._refuse_lost_files()
            if self._known[0] and not self._head.path.exists():
                return self._known
            return self._head.read()  # it is back, or was never there

    def _check_head(self, rows: list[Row], after: int, seq: int, seal: int) -> None:
        """Raise `DamagedError` if the record that the head file names is missing, or differs."""
        last = rows[-1].seq if rows else after
        same = all(row.seal == seal for row in rows if row.seq == seq)
        if last < seq or not same:
            self._refuse_lost_files()  # it is the head file of another study
            if self._read_head() != (seq, seal):
                raise StorageError(f"{self._head.path} was replaced while it was read. Try again.")
            problem = f"ends at record {last}" if last < seq else f"has another record {seq}"
            raise DamagedError(
                f"{self.where} is damaged: {self._head.path.name} says that record {seq} was "
                f"written, but the database {problem}. {salvage_hint(self.where)}"
            )

    def _connection(self, use: _Use) -> sqlite3.Connection:
        """The connection for a use, opened if necessary.

        The one for reading is read-only: when it is closed, it leaves a damaged log as it is, so
        that the log can be salvaged. Call `_after_fork` before.
        """
        connection = self._connections.get(use)
        if connection is None or _closed(connection):
            require_database(self.folder)
            require_writable(self.folder)
            self._files.remember_database()
            mode = "ro" if use == "read" and not self._may_need_rollback() else "rw"
            connection = connect(self.folder, f"mode={mode}", _SYNCHRONOUS[use])
            try:
                has_tables(connection, self.where)
            except BaseException:
                connection.close()
                raise
            if all(map(_closed, self._connections.values())):
                self._wal_sync.close()  # the log may be a new file
                self._files.remember_log()
                self._written = self._files.last_written
            self._connections[use] = connection
        return connection

    @cached_property
    def _local(self) -> bool:
        return lock_safety(self.folder) == "local"

    def _may_need_rollback(self) -> bool:
        """Whether a reader may have to undo an unfinished write, for which it must write.

        That is so with a rollback journal: on a network, or after an interrupted creation.
        """
        return not self._local or (self.folder / f"{DATABASE_NAME}-journal").exists()

    def _after_fork(self) -> None:
        """Stop using the files and connections of the parent process after a fork."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            _inherited.append((self._connections, self._head, self._write_lock, self._wal_sync))
            _inherited.append(self._read_only)
            self._read_only = ReadOnlyDatabase(self.folder)
            self._wal_sync = WalSync(self.folder)
            self._connections = {}
            self._head = HighWater(self.folder, self._files.open_folder)
            self._write_lock = WriteLock(self.folder, self._refuse_lost_files)
            self._files.forget_log()


_inherited: list[Any] = []
"""A parent process's connections, kept open: closing them here would break the parent's locks."""


def _keep_open(connections: dict[_Use, sqlite3.Connection]) -> None:
    """Keep connections with a lost log open until the process ends.

    When SQLite closes the last connection, it deletes the log by name. By then another process may
    have begun a new one.
    """
    for connection in connections.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    connections.clear()


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
