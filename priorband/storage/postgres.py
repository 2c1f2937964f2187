"""The journal in PostgreSQL, for workers on several machines.

Each study has a schema of its own, with the same tables as in SQLite. Writers share an advisory
lock, which the server releases when their transaction ends. If a worker stops responding in the
middle of a transaction, the server ends its session. Each commit is synced before the server
confirms it.
"""

import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, final

from priorband.errors import DamagedError, FormatError, PriorbandError, StorageError
from priorband.storage import sql
from priorband.storage.high_water import salvage_hint
from priorband.storage.journal import (
    FORMAT,
    Beat,
    Lease,
    Meanwhile,
    Row,
    Transaction,
    refuse_version,
)
from priorband.storage.postgres_url import brief, connect, driver, shown, split
from priorband.storage.snapshot_file import Snapshot, packed_seq, unpacked
from priorband.storage.write_lock import FIRST_PAUSE, sleep_before_retry

if TYPE_CHECKING:
    import psycopg

LOCK_TIMEOUT = 60.0  # seconds
SNAPSHOT_TABLE = "snapshot"  # it is made when the first snapshot is written


@final
class PostgresJournal:
    """A study in a database: `postgresql://user@host/database#name`."""

    def __init__(self, url: str, read_only: bool = False) -> None:
        self._url, self.name = split(url)
        self.where = shown(url)
        self.read_only = read_only
        schema = '"priorband ' + self.name + '".'
        dialect = {"s": schema, "int": "BIGINT", "real": "DOUBLE PRECISION"}
        self._tables = [table.format(**dialect) for table in sql.TABLES]
        self._sql = {text: text.format(**dialect) for text in sql.STATEMENTS}
        self._schema = schema[:-1]
        self._snapshots = schema + SNAPSHOT_TABLE
        self._key = int.from_bytes(blake2b(schema.encode(), digest_size=7).digest(), "big")
        self._mutex = threading.RLock()
        self._beat_mutex = threading.Lock()
        self._connections: dict[str, psycopg.Connection] = {}
        self._pid = os.getpid()

    def exists(self) -> bool:
        """Whether the study exists in the database."""
        with self._mutex, self._translated_errors("main"):
            return self.first() is not None

    def prepare(self) -> None:
        """Create the schema and the tables, unless they exist."""
        with self._mutex, self._translated_errors("main"):
            if self._version() is None:
                statements = [
                    f"BEGIN; SELECT pg_advisory_xact_lock({self._key})",
                    f"CREATE SCHEMA IF NOT EXISTS {self._schema}",
                    *(table.replace("TABLE", "TABLE IF NOT EXISTS", 1) for table in self._tables),
                    f"COMMENT ON SCHEMA {self._schema} IS 'priorband format {FORMAT}'; COMMIT",
                ]
                self._run("; ".join(statements))

    def read(self, after: int) -> list[Row]:
        """The records with numbers above `after`, in order. Needs no lock."""
        with self._mutex, self._translated_errors("main"):
            results = self._run(self._sql[sql.SELECT_RECORDS], (after,))
            return sql.checked_rows(results, self.where)

    def first(self) -> Row | None:
        """The record that created the study; None if there is no study."""
        with self._mutex, self._translated_errors("main"):
            if self._version() is None:
                return None
            results = self._run(self._sql[sql.SELECT_FIRST_RECORD])
            rows = sql.checked_rows(results, self.where)
            return rows[0] if rows else None

    def trial_rows(self, trial: int) -> list[Row]:
        """The records of one trial, in order."""
        with self._mutex, self._translated_errors("main"):
            results = self._run(self._sql[sql.SELECT_TRIAL_RECORDS], (trial,))
            return sql.checked_rows(results, self.where)

    def leases(self) -> list[Lease]:
        """The leases: which worker holds which trial. Needs no lock."""
        with self._mutex, self._translated_errors("main"):
            return sql.checked_leases(self._run(self._sql[sql.SELECT_LEASES]), self.where)

    def snapshot(self) -> Snapshot | None:
        """The stored snapshot; None if there is none that can be read."""
        with self._mutex, suppress(DamagedError), self._translated_errors("main"):
            if self._has_snapshots():
                query = f"SELECT data FROM {self._snapshots}"
                cursor = driver().Cursor(self._connection("main"))
                found = cursor.execute(query, binary=True).fetchone()  # not as hexadecimal text
                return unpacked(bytes(found[0])) if found else None
        return None

    def snapshot_seq(self) -> int:
        """The number of the last record of the stored snapshot; 0 if there is none."""
        with self._mutex, suppress(DamagedError), self._translated_errors("main"):
            if self._has_snapshots():
                found = self._run(f"SELECT seq FROM {self._snapshots}")
                return int(found[0][0]) if found else 0
        return 0

    def write_snapshot(self, data: bytes, replace: bool) -> None:
        """Store a snapshot, unless there is one of more records and `replace` is false.

        The table is not logged: after a crash of the server it is empty, which does no harm.
        """
        table = self._snapshots
        with self._mutex, suppress(PriorbandError), self._translated_errors("main"):
            if not self._has_snapshots():
                self._run(
                    f"CREATE UNLOGGED TABLE IF NOT EXISTS {table} "
                    "(id BIGINT PRIMARY KEY, seq BIGINT NOT NULL, data BYTEA NOT NULL); "
                    f"ALTER TABLE {table} ALTER COLUMN data SET STORAGE EXTERNAL"
                )
            driver().Cursor(self._connection("main")).execute(
                f"INSERT INTO {table} AS old VALUES (0, %s, %b) ON CONFLICT (id) DO UPDATE "
                "SET seq = excluded.seq, data = excluded.data WHERE old.seq < excluded.seq OR %s",
                (packed_seq(data), data, replace),
            )

    def _has_snapshots(self) -> bool:
        return bool(self._run("SELECT to_regclass(%s)", (self._snapshots,))[0][0])

    def now(self) -> float:
        """The server's clock, in seconds since 1970."""
        with self._mutex, self._translated_errors("main"):
            return float(self._run(f"SELECT {_NOW}")[0][0])

    @contextmanager
    def transaction(self, after: int, meanwhile: Meanwhile = list) -> Iterator[Transaction]:
        """Wait for the write lock, and write the transaction's changes when the block ends.

        It takes one round trip to the server to begin and one to end.
        """
        with self._mutex, self._translated_errors("main"):
            connection = self._connection("main")
            if connection.info.transaction_status:  # a signal handler's exception left it so
                connection.close()
                connection = self._connection("main")
            try:
                transaction = self._begin(connection, after, meanwhile)
                yield transaction
                self._finish(connection, transaction)
            except BaseException:
                _abandon(connection)
                raise

    def _begin(
        self, connection: "psycopg.Connection", after: int, meanwhile: Meanwhile
    ) -> Transaction:
        """Try to take the lock until it is free; pass on what others write in between."""
        deadline, pause = time.monotonic() + LOCK_TIMEOUT, FIRST_PAUSE
        while True:
            cursor = connection.execute(
                f"BEGIN; SELECT pg_try_advisory_xact_lock({self._key});"
                f"SELECT {_NOW};"
                f"{self._version_query()}; {self._sql[sql.SELECT_RECORDS] % int(after)}; "
                f"{self._sql[sql.SELECT_LEASES]}"
            )
            _, locked, now, version, records, leases = _all_results(cursor)
            rows = sql.checked_rows(records, self.where)
            if locked[0][0]:
                self._check_version(version)
                return Transaction(now[0][0], rows, sql.checked_leases(leases, self.where))
            connection.execute("ROLLBACK")
            if rows:
                after = rows[-1].seq
                meanwhile(rows)
            if time.monotonic() > deadline:
                break
            pause = sleep_before_retry(pause)
        raise StorageError(
            f"{self.where} is busy: another process has held the write lock for {LOCK_TIMEOUT:g} s."
        )

    def beat(self, worker: str, beats: Sequence[Beat], seconds: float) -> set[int]:
        """Renew a worker's leases for `seconds`; the trials that it still holds.

        Renewals are not synced: one that is lost in a crash of the server does no harm.
        """
        with self._beat_mutex, self._translated_errors("beat"):
            connection = self._connection("beat")
            statements = [("BEGIN; SET LOCAL synchronous_commit = off", ())]
            for beat in beats:
                text, values = sql.renewal_statement(worker, beat, seconds)
                text = self._sql[text].replace("until = %s", f"until = {_NOW} + %s")
                statements.append((text, values))
            suspect = self._sql[sql.SUSPECT_EXPIRED_LEASES].replace("%s", _NOW)
            statements.append((f"{suspect}; COMMIT", ()))
            try:
                counts = _row_counts(_run_together(connection, statements))
            except BaseException:
                _abandon(connection)
                raise
            return {beat.trial for beat, n in zip(beats, counts[2:], strict=False) if n}

    def close(self) -> None:
        """Close the connections. A later call opens them again."""
        with self._mutex, self._beat_mutex:
            for connection in self._connections.values():
                if self._pid == os.getpid():
                    connection.close()
            self._connections.clear()

    def _finish(self, connection: "psycopg.Connection", transaction: Transaction) -> None:
        if transaction.empty:
            connection.execute("ROLLBACK")
            return
        writes = [(self._sql[text], values) for text, values in sql.write_statements(transaction)]
        _run_together(connection, [*writes, ("COMMIT", ())])

    def _version_query(self) -> str:
        name = self._schema.replace("'", "''")
        return (
            f"SELECT obj_description(to_regnamespace('{name}'), 'pg_namespace') "
            f"WHERE to_regnamespace('{name}') IS NOT NULL"
        )

    def _version(self) -> int | None:
        return self._check_version(self._run(self._version_query()))

    def _check_version(self, comments: Sequence[Any]) -> int | None:
        if not comments:
            return None
        match = re.fullmatch(r"priorband format (\d+)", str(comments[0][0]))
        if match is None:
            raise FormatError(f"The schema {self._schema} in {self.where} is not a study.")
        if int(match[1]) > FORMAT:
            refuse_version(int(match[1]), self.where)
        return int(match[1])

    def _run(self, text: str, values: tuple[Any, ...] = ()) -> Sequence[Any]:
        cursor = self._connection("main").execute(text, values or None)
        return cursor.fetchall() if cursor.description else []

    def _connection(self, use: str) -> "psycopg.Connection":
        if self._pid != os.getpid():  # forked: the connections belong to the parent
            self._pid = os.getpid()
            _inherited.append(self._connections)
            self._connections = {}
        connection = self._connections.get(use)
        if connection is None or connection.closed:
            connection = self._connections[use] = connect(self._url)
        return connection

    @contextmanager
    def _translated_errors(self, use: str) -> Iterator[None]:
        """Turn errors of PostgreSQL into `StorageError` or `DamagedError`."""
        psycopg = driver()
        try:
            yield
        except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as error:
            # Listed first: other errors of their class, InternalError, are worth another try.
            raise DamagedError(
                f"{self.where} is damaged ({brief(error)}). {salvage_hint(self.where)}"
            ) from error
        except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError) as error:
            broken = self._connections.pop(use, None)
            if broken is not None:
                broken.close()
            raise StorageError(f"{self.where} cannot be reached ({brief(error)}).") from error
        except psycopg.IntegrityError as error:
            raise StorageError(
                f"{self.where} was written by another process at the same time."
            ) from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise StorageError(f"{self.where} denies permission ({brief(error)}).") from error
        except psycopg.Error as error:
            raise DamagedError(
                f"{self.where} is damaged ({brief(error)}). {salvage_hint(self.where)}"
            ) from error


_NOW = "extract(epoch FROM clock_timestamp())::float8"
_inherited: list[Any] = []
"""A parent process's connections, kept open: closing them here would end the parent's sessions."""


def _run_together(
    connection: "psycopg.Connection", statements: Sequence[tuple[str, tuple[Any, ...]]]
) -> "psycopg.Cursor[Any]":
    """Run statements in one round trip. The driver quotes the values."""
    all_values = [value for _, values in statements for value in values]
    return connection.execute("; ".join(text for text, _ in statements), all_values or None)


def _all_results(cursor: "psycopg.Cursor[Any]") -> list[list[Any]]:
    """The results of each statement that was run together."""
    results = []
    while True:
        results.append(cursor.fetchall() if cursor.description else [])
        if not cursor.nextset():
            return results


def _row_counts(cursor: "psycopg.Cursor[Any]") -> list[int]:
    """How many rows each statement that was run together has changed."""
    counts = [cursor.rowcount]
    while cursor.nextset():
        counts.append(cursor.rowcount)
    return counts


def _abandon(connection: "psycopg.Connection") -> None:
    try:
        if not connection.closed:
            connection.execute("ROLLBACK")
    except driver().Error:
        connection.close()
