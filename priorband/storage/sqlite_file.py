"""Opening a SQLite file as a study: is it one, may it be, and how does it keep its log here?"""

import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from priorband.errors import DamagedError, FormatError, StorageError
from priorband.storage import sql
from priorband.storage.filesystems import kind
from priorband.storage.high_water import salvage_hint
from priorband.storage.journal import FORMAT, refuse_version
from priorband.storage.json_text import LONGEST

NAME = "study.db"
OURS = 0x50424E44  # "PBND", SQLite's application id
_MOST_BYTES = 5 * LONGEST  # of a row: where more are claimed, no memory is taken for them
_PRAGMAS = (
    "trusted_schema = OFF",
    "cell_size_check = ON",
    "fullfsync = ON",
    "wal_autocheckpoint = 0",
)
TABLES = tuple(table.format(s="", int="INTEGER", real="REAL") for table in sql.TABLES)


def set_up(connection: sqlite3.Connection, synchronous: str = "FULL") -> None:
    """Believe little of what a file claims, and say how careful to be in writing."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
    for pragma in (*_PRAGMAS, f"synchronous = {synchronous}"):
        connection.execute(f"PRAGMA {pragma}")


def checked(connection: sqlite3.Connection, where: str) -> bool:
    """Whether the tables exist; an error if the database is not ours."""
    with _one_moment(connection):  # or another may create the study between two looks
        (ours,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        found = {text for (text,) in connection.execute("SELECT sql FROM sqlite_master").fetchall()}
    if not found and not ours and not version:
        return False
    if ours != OURS:
        raise FormatError(
            f"{where}/{NAME} is a database, but not a study of this library. If it was one: "
            f"{salvage_hint(where)}"
        )
    if version > FORMAT:
        refuse_version(version, where)
    if found != set(TABLES):
        raise DamagedError(
            f"{where}/{NAME} is damaged: its tables are not those of a study. {salvage_hint(where)}"
        )
    return True


@contextmanager
def _one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Read several things as they were at one moment."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def set_mode(connection: sqlite3.Connection, folder: Path) -> None:
    """The write-ahead log on a local disk, the rollback journal on a network's."""
    place = kind(folder)
    if place == "unsafe":
        raise StorageError(
            f"{folder} is on a file system that does not keep locks, so workers could overwrite "
            "each other. Put the study on a local disk, or use PostgreSQL: postgresql://..."
        )
    if place == "network":
        warnings.warn(
            f"{folder} is on a network file system: the study uses SQLite's rollback journal, "
            "which is slower. For workers on several machines PostgreSQL is the better place.",
            stacklevel=2,
        )
    wanted = "wal" if place == "local" else "delete"
    (mode,) = connection.execute(f"PRAGMA journal_mode = {wanted}").fetchone()
    if mode != wanted:
        raise StorageError(
            f"{folder} needs SQLite's journal mode {wanted!r}, but stays {mode!r}: is it open "
            "elsewhere? Stop the other workers, or use PostgreSQL: postgresql://..."
        )


def same_version(connection: sqlite3.Connection, where: str) -> None:
    """Complain if the study was upgraded while it was open."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        refuse_version(version, where)


def initialise(connection: sqlite3.Connection, where: str) -> None:
    """Make the tables, unless they exist."""
    if checked(connection, where):
        return
    connection.execute(f"PRAGMA application_id = {OURS}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    for table in TABLES:
        connection.execute(table)
