"""The journal in SQLite: a folder with `study.db`, for workers on one machine.

Every transaction is synced before it counts as written. Writers take turns by a file
lock, which falls when its holder is killed; readers see the last committed state and wait for
nobody. On a network file system the write-ahead log is not safe, so the older journal is used.
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
from typing import Any, final
from urllib.parse import quote

from priorband.errors import DamagedError, StorageError
from priorband.storage import sql
from priorband.storage.filesystems import kind
from priorband.storage.high_water import NAME as HEAD_NAME
from priorband.storage.high_water import HighWater, salvage_hint
from priorband.storage.journal import Beat, Lease, Meanwhile, Row, Transaction
from priorband.storage.safe_files import refuse_link, sync_folder
from priorband.storage.sqlite_errors import translated
from priorband.storage.sqlite_file import NAME, checked, initialise, same_version, set_mode, set_up
from priorband.storage.wal_sync import WalSync
from priorband.storage.write_lock import WriteLock

_CARE = {"NORMAL": "NORMAL", "LATER": "NORMAL"}  # what SQLite is to sync, by use
PATIENCE = 10.0  # seconds that SQLite itself waits for a lock
COMMITS = 250  # of one process, before it copies the log back

_DIALECT = {"s": "main.", "int": "INTEGER", "real": "REAL"}
_READS = ("READ", "ABOUT", "FIRST", "LEASES")
_WRITES = ("APPEND", "CLAIM", "DROP", "SUSPECT", "SUSPECT_ALL", "BEAT")
_TEXTS = _READS + _WRITES
_SQL = {getattr(sql, n): getattr(sql, n).format(**_DIALECT).replace("%s", "?") for n in _TEXTS}


@final
class SqliteJournal:
    """A study in a folder of this machine."""

    def __init__(self, folder: Path, read_only: bool = False) -> None:
        self.folder = folder = folder.absolute()  # an objective may change the directory
        self.where = str(folder)
        self.read_only = read_only
        self._mutex = threading.RLock()
        self._beating = threading.Lock()
        self._head = HighWater(folder)
        self._connections: dict[str, sqlite3.Connection] = {}
        self._turns = WriteLock(folder)
        self._syncing = WalSync(folder)
        self._commits = 0
        self._pid = os.getpid()

    def exists(self) -> bool:
        """Whether there is a study in the folder."""
        with translated(self.folder):
            refuse_link(self.folder / NAME)
            path = self.folder / NAME
            if not path.exists() or path.stat().st_size <= 1:  # SQLite would delete its log
                if (self.folder / HEAD_NAME).exists() and HighWater(self.folder).read()[0]:
                    raise DamagedError(f"{path} is missing or empty. {salvage_hint(self.where)}")
                return False
            with self._mutex:
                return self.first() is not None

    def prepare(self) -> None:
        """Make the folder and the tables, unless they exist."""
        with translated(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        with self._mutex, translated(self.folder), self._turns.turn():
            self._head.create()
            with closing(self._connect("rwc")) as connection:
                set_mode(connection, self.folder)
                connection.execute("BEGIN IMMEDIATE")
                initialise(connection, self.where)
                connection.execute("COMMIT")
            sync_folder(self.folder)

    def read(self, after: int) -> list[Row]:
        """The records that follow the one with that number."""
        with self._mutex, translated(self.folder):
            seq, seal = self._head.read()
            with closing(self._connection("read").execute(_SQL[sql.READ], (after,))) as found:
                rows = sql.rows(found, self.where)
            self._witnessed(rows, after, seq, seal)
            return rows

    def first(self) -> Row | None:
        """The record of the study's creation."""
        with self._mutex, translated(self.folder):
            connection, found = self._connection("read"), list[Row]()
            head = self._head.read()  # first, or another may create the study in between
            if checked(connection, self.where):
                found = sql.rows(connection.execute(_SQL[sql.FIRST]).fetchall(), self.where)
            if not found:
                self._witnessed([], 0, *head)
            return found[0] if found else None

    def about(self, trial: int) -> list[Row]:
        """The records of one trial."""
        with self._mutex, translated(self.folder):
            found = self._connection("read").execute(_SQL[sql.ABOUT], (trial,)).fetchall()
            return sql.rows(found, self.where)

    def leases(self) -> list[Lease]:
        """Who is at work."""
        with self._mutex, translated(self.folder):
            found = self._connection("read").execute(_SQL[sql.LEASES])
            return sql.leases(found, self.where)

    def now(self) -> float:
        """This machine's clock, which is SQLite's, too."""
        return time.time()

    @contextmanager
    def transaction(self, after: int, meanwhile: Meanwhile = list) -> Iterator[Transaction]:
        """The next turn to write."""

        def catch_up() -> None:
            nonlocal after
            rows = self.read(after)
            if rows:
                after = rows[-1].seq
                meanwhile(rows)

        with self._mutex, translated(self.folder):
            self._after_fork()
            with self._turns.turn(catch_up), self._transaction(after) as transaction:
                yield transaction
            if self._syncing.owed or transaction.confirmed:
                self._syncing.sync()
            if transaction.appended:
                self._witness(transaction.appended[-1])

    @contextmanager
    def _transaction(self, after: int) -> Iterator[Transaction]:
        later = self._local  # there is a log to be synced after the turn
        connection = self._connection(use := "LATER" if later else "FULL")
        if connection.in_transaction:  # a signal has left it so; who began it may yet roll it back
            connection.close()
            connection = self._connection(use)
        try:
            connection.execute("BEGIN IMMEDIATE")  # in here: a signal may come as it returns
            same_version(connection, self.where)
            run = connection.execute
            rows = sql.rows(run(_SQL[sql.READ], (after,)), self.where)
            leases = sql.leases(run(_SQL[sql.LEASES]), self.where)
            transaction = Transaction(self.now(), rows, leases)
            yield transaction
            for statement, values in sql.writes(transaction):
                run(_SQL[statement], values)
            self._syncing.owed |= later and bool(transaction.appended)
            transaction.confirmed &= later
            run("ROLLBACK" if transaction.empty else "COMMIT")
        except BaseException:
            _roll_back(connection)
            raise
        if transaction.appended:
            self._copy_back(connection)

    def beat(self, worker: str, beats: Sequence[Beat], seconds: float) -> set[int]:
        """Renew leases. Not synced: a sign of life that a power loss takes is not missed."""
        with self._beating, translated(self.folder):
            connection = self._connection("NORMAL")
            try:
                connection.execute("BEGIN IMMEDIATE")
                now = self.now()
                still = set()
                for one in beats:
                    statement, values = sql.beat(worker, one, now + seconds)
                    if connection.execute(_SQL[statement], values).rowcount:
                        still.add(one.trial)
                connection.execute(_SQL[sql.SUSPECT_ALL], (now, now))
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise
            return still

    def close(self) -> None:
        """Close the database and the lock."""
        with self._mutex, self._beating, translated(self.folder):
            self._after_fork()
            for use in sorted(self._connections, key=lambda use: use != "read"):
                self._connections[use].close()  # the last to write brings the log back
            self._connections.clear()
            self._head.close()
            self._turns.close()
            self._syncing.close()

    def _copy_back(self, connection: sqlite3.Connection) -> None:
        """Now and then bring the write-ahead log into the database, while it is our turn.

        Left to itself SQLite tries after every commit once the log is long, and keeps trying while
        others read.
        """
        self._commits += 1
        if self._commits % COMMITS == 0:
            with suppress(sqlite3.OperationalError):  # such as a full disk: the record is safe
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _witness(self, last: Row) -> None:
        try:
            self._head.write(last.seq, last.seal)
        except OSError as error:  # the record is safe; only its witness is behind
            warnings.warn(f"{self._head.path} could not be written: {error}", stacklevel=2)

    def _witnessed(self, rows: list[Row], after: int, seq: int, seal: int) -> None:
        last = rows[-1].seq if rows else after
        same = all(row.seal == seal for row in rows if row.seq == seq)
        if last < seq or not same:
            wrong = f"ends at record {last}" if last < seq else f"has another record {seq}"
            raise DamagedError(
                f"{self.where} is damaged: {self._head.path.name} says that record {seq} was "
                f"written, but the database {wrong}. {salvage_hint(self.where)}"
            )

    def _connection(self, use: str) -> sqlite3.Connection:
        """A connection to read, or to write with so much care.

        The one to read cannot write: closed, it leaves a damaged log as it is, to be salvaged.
        """
        self._after_fork()
        connection = self._connections.get(use)
        if connection is None or _closed(connection):
            if not (self.folder / NAME).exists():
                raise StorageError(f"{self.folder / NAME} is gone.")
            mode = "ro" if self.read_only or (use == "read" and not self._undone()) else "rw"
            connection = self._connect(mode, _CARE.get(use, "FULL"))
            try:
                checked(connection, self.where)
            except BaseException:
                connection.close()
                raise
            self._connections[use] = connection
            self._syncing.close()  # the log may be a new file
        return connection

    @cached_property
    def _local(self) -> bool:
        return kind(self.folder) == "local"

    def _undone(self) -> bool:
        """Whether a reader may have to roll back: on a network, or after a creation cut short."""
        return not self._local or (self.folder / f"{NAME}-journal").exists()

    def _connect(self, mode: str, synchronous: str = "FULL") -> sqlite3.Connection:
        for companion in ("", "-wal", "-shm", "-journal"):
            refuse_link(self.folder / (NAME + companion))
        path = quote(os.fsencode(self.folder / NAME))
        connection = sqlite3.connect(
            f"file:{path}?mode={mode}",
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        try:
            set_up(connection, synchronous)
        except BaseException:
            connection.close()
            raise
        return connection

    def _after_fork(self) -> None:
        """Forget what belongs to the process that this one was forked from."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            _inherited.append((self._connections, self._head, self._turns, self._syncing))
            self._syncing = WalSync(self.folder)
            self._connections, self._head = {}, HighWater(self.folder)
            self._turns = WriteLock(self.folder)


_inherited: list[Any] = []  # a parent's connections: closing them here would break its locks


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
