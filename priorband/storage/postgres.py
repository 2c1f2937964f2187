"""The journal in PostgreSQL, for workers on many machines.

Each study has a schema of its own, so its tables are those of the SQLite file. Writers take turns
by an advisory lock that ends with their transaction; a worker that freezes inside one is cut off by
the server. Every commit is synced by the server before it counts as written.
"""

import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, final

from priorband.errors import DamagedError, FormatError, StorageError
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
from priorband.storage.write_lock import FIRST, GROWTH, LONGEST

if TYPE_CHECKING:
    import psycopg


PATIENCE = 60.0


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
        self._sql = {text: text.format(**dialect) for text in vars(sql).values() if _is_sql(text)}
        self._schema = schema[:-1]
        self._key = int.from_bytes(blake2b(schema.encode(), digest_size=7).digest(), "big")
        self._mutex = threading.RLock()
        self._beating = threading.Lock()
        self._connections: dict[str, psycopg.Connection] = {}
        self._pid = os.getpid()

    def exists(self) -> bool:
        """Whether there is such a study in the database."""
        with self._mutex, self._translated("main"):
            return self.first() is not None

    def prepare(self) -> None:
        """Make the schema and the tables, unless they exist."""
        with self._mutex, self._translated("main"):
            if self._version() is None:
                statements = [
                    f"BEGIN; SELECT pg_advisory_xact_lock({self._key})",
                    f"CREATE SCHEMA IF NOT EXISTS {self._schema}",
                    *(table.replace("TABLE", "TABLE IF NOT EXISTS", 1) for table in self._tables),
                    f"COMMENT ON SCHEMA {self._schema} IS 'priorband format {FORMAT}'; COMMIT",
                ]
                self._run("; ".join(statements))

    def read(self, after: int) -> list[Row]:
        """The records that follow the one with that number."""
        with self._mutex, self._translated("main"):
            return sql.rows(self._run(self._sql[sql.READ], (after,)), self.where)

    def first(self) -> Row | None:
        """The record of the study's creation."""
        with self._mutex, self._translated("main"):
            if self._version() is None:
                return None
            found = sql.rows(self._run(self._sql[sql.FIRST]), self.where)
            return found[0] if found else None

    def about(self, trial: int) -> list[Row]:
        """The records of one trial."""
        with self._mutex, self._translated("main"):
            return sql.rows(self._run(self._sql[sql.ABOUT], (trial,)), self.where)

    def leases(self) -> list[Lease]:
        """Who is at work."""
        with self._mutex, self._translated("main"):
            return sql.leases(self._run(self._sql[sql.LEASES]), self.where)

    def now(self) -> float:
        """The server's clock."""
        with self._mutex, self._translated("main"):
            return float(self._run("SELECT extract(epoch FROM clock_timestamp())::float8")[0][0])

    @contextmanager
    def transaction(self, after: int, meanwhile: Meanwhile = list) -> Iterator[Transaction]:
        """The next turn to write: one round trip to begin it, one to end it."""
        with self._mutex, self._translated("main"):
            connection = self._connection("main")
            if connection.info.transaction_status:  # a signal has left it so, as in SQLite
                connection.close()
                connection = self._connection("main")
            try:
                transaction = self._turn(connection, after, meanwhile)
                yield transaction
                self._finish(connection, transaction)
            except BaseException:
                _abandon(connection)
                raise

    def _turn(
        self, connection: "psycopg.Connection", after: int, meanwhile: Meanwhile
    ) -> Transaction:
        """Try for the lock, take in what was written meanwhile, and try again."""
        pause, patience = FIRST, time.monotonic() + PATIENCE
        while True:
            cursor = connection.execute(
                f"BEGIN; SELECT pg_try_advisory_xact_lock({self._key});"
                "SELECT extract(epoch FROM clock_timestamp())::float8;"
                f"{self._version_query()}; {self._sql[sql.READ] % int(after)}; "
                f"{self._sql[sql.LEASES]}"
            )
            _, locked, now, version, found, leases = _sets(cursor)
            rows = sql.rows(found, self.where)
            if locked[0][0]:
                self._check_version(version)
                return Transaction(now[0][0], rows, sql.leases(leases, self.where))
            connection.execute("ROLLBACK")
            if rows:
                after = rows[-1].seq
                meanwhile(rows)
            if time.monotonic() > patience:
                raise StorageError(f"{self.where} is busy: its lock is held for {PATIENCE:g} s.")
            time.sleep(pause * (0.5 + os.urandom(1)[0] / 255))
            pause = min(pause * GROWTH, LONGEST)

    def beat(self, worker: str, beats: Sequence[Beat], seconds: float) -> set[int]:
        """Renew leases. Not waited for until it is on disk: a lost sign of life is not missed."""
        with self._beating, self._translated("beat"):
            connection = self._connection("beat")
            now = "extract(epoch FROM clock_timestamp())::float8"
            statements = [("BEGIN; SET LOCAL synchronous_commit = off", ())]
            for one in beats:
                text, values = sql.beat(worker, one, seconds)
                text = self._sql[text].replace("until = %s", f"until = {now} + %s")
                statements.append((text, values))
            doubt = self._sql[sql.SUSPECT_ALL].replace("%s", now)
            statements.append((f"{doubt}; COMMIT", ()))
            try:
                counts = _counts(_at_once(connection, statements))
            except BaseException:
                _abandon(connection)
                raise
            return {one.trial for one, n in zip(beats, counts[2:], strict=False) if n}

    def close(self) -> None:
        """Close the connections."""
        with self._mutex, self._beating:
            for connection in self._connections.values():
                if self._pid == os.getpid():
                    connection.close()
            self._connections.clear()

    def _finish(self, connection: "psycopg.Connection", transaction: Transaction) -> None:
        if transaction.empty:
            connection.execute("ROLLBACK")
            return
        writes = [(self._sql[text], values) for text, values in sql.writes(transaction)]
        _at_once(connection, [*writes, ("COMMIT", ())])

    def _version_query(self) -> str:
        name = self._schema.replace("'", "''")
        return (
            f"SELECT obj_description(to_regnamespace('{name}'), 'pg_namespace') "
            f"WHERE to_regnamespace('{name}') IS NOT NULL"
        )

    def _version(self) -> int | None:
        return self._check_version(self._run(self._version_query()))

    def _check_version(self, found: Sequence[Any]) -> int | None:
        if not found:
            return None
        match = re.fullmatch(r"priorband format (\d+)", str(found[0][0]))
        if match is None:
            raise FormatError(f"The schema {self._schema} in {self.where} is not a study.")
        if int(match[1]) > FORMAT:
            refuse_version(int(match[1]), self.where)
        return int(match[1])

    def _run(self, text: str, values: tuple[Any, ...] = ()) -> Sequence[Any]:
        cursor = self._connection("main").execute(text, values or None)
        return cursor.fetchall() if cursor.description else []

    def _connection(self, use: str) -> "psycopg.Connection":
        if self._pid != os.getpid():  # forked: the parent's connections are not ours to use
            self._pid = os.getpid()
            _inherited.append(self._connections)
            self._connections = {}
        connection = self._connections.get(use)
        if connection is None or connection.closed:
            connection = self._connections[use] = connect(self._url)
        return connection

    @contextmanager
    def _translated(self, use: str) -> Iterator[None]:
        """PostgreSQL's errors as ours: what can be waited for, and what is damage."""
        psycopg = driver()
        spoilt = psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted
        try:
            yield
        except spoilt as error:  # which waiting does not mend
            raise DamagedError(
                f"{self.where} is damaged ({brief(error)}). {salvage_hint(self.where)}"
            ) from error
        except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError) as error:
            broken = self._connections.pop(use, None)
            if broken is not None:
                broken.close()
            raise StorageError(f"{self.where} is out of reach ({brief(error)}).") from error
        except psycopg.IntegrityError as error:
            raise StorageError(f"{self.where} was written by somebody else.") from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise StorageError(f"{self.where} refuses permission ({brief(error)}).") from error
        except psycopg.Error as error:
            raise DamagedError(
                f"{self.where} is damaged ({brief(error)}). {salvage_hint(self.where)}"
            ) from error


_inherited: list[Any] = []


def _at_once(
    connection: "psycopg.Connection", statements: Sequence[tuple[str, tuple[Any, ...]]]
) -> "psycopg.Cursor[Any]":
    """Run statements in one round trip; values are quoted by the driver."""
    values = [value for _, some in statements for value in some]
    return connection.execute("; ".join(text for text, _ in statements), values or None)


def _sets(cursor: "psycopg.Cursor[Any]") -> list[list[Any]]:
    found = []
    while True:
        found.append(cursor.fetchall() if cursor.description else [])
        if not cursor.nextset():
            return found


def _counts(cursor: "psycopg.Cursor[Any]") -> list[int]:
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


def _is_sql(value: object) -> bool:
    return isinstance(value, str) and value.split(" ")[0] in (
        "SELECT",
        "INSERT",
        "DELETE",
        "UPDATE",
    )
