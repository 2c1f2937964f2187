"""The file `study.db`: how it is opened, checked and created, and what its errors mean."""

import errno
import os
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final
from urllib.parse import quote

from priorband.errors import DamagedError, FormatError, PriorbandError, StorageError
from priorband.storage import sql
from priorband.storage.filesystems import lock_safety
from priorband.storage.high_water import salvage_hint
from priorband.storage.journal import BASE_FORMAT, FORMAT, LARGEST_ROW, refuse_version
from priorband.storage.safe_files import refuse_link

DATABASE_NAME = "study.db"
APPLICATION_ID = 0x50424E44
"""What marks a SQLite file as a study: "PBND"."""
TABLES = tuple(table.format(s="", int="INTEGER", real="REAL") for table in sql.TABLES)

BUSY_TIMEOUT = 10.0  # seconds that SQLite itself waits for a lock
LOG_SIZE_LIMIT = 5 << 20
"""To how many bytes SQLite cuts its write-ahead log when it starts it from scratch."""

_PRAGMAS = (
    "trusted_schema = OFF",
    "cell_size_check = ON",
    "fullfsync = ON",
    "wal_autocheckpoint = 0",
    f"journal_size_limit = {LOG_SIZE_LIMIT}",
)
_TEMPORARY_ERRORS = {
    sqlite3.SQLITE_BUSY: "is busy",
    sqlite3.SQLITE_LOCKED: "is busy",
    sqlite3.SQLITE_PROTOCOL: "is busy",
    sqlite3.SQLITE_FULL: "is on a disk that is full",
    sqlite3.SQLITE_IOERR: "cannot be read or written",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_NOMEM: "cannot be read or written: the machine is out of memory",
    sqlite3.SQLITE_READONLY: "cannot be written: the file or its folder is read-only",
    sqlite3.SQLITE_PERM: "cannot be written: permission is missing",
    sqlite3.SQLITE_CONSTRAINT: "was written by another process at the same time",
    sqlite3.SQLITE_INTERRUPT: "was interrupted",
}
"""SQLite's errors that may go away by themselves; all others mean damage."""
_NO_PERMISSION = (errno.EACCES, errno.EPERM, errno.EROFS)


@final
class TranslatedErrors:
    """Turns errors of SQLite and of the file system into `StorageError` or `DamagedError`.

    For a `with` statement, as often as needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            _translate(error, self._folder)


def _translate(error: BaseException, folder: Path) -> None:
    """Raise the error that another stands for; nothing for one that says what it is."""
    if isinstance(error, PriorbandError):
        return
    if isinstance(error, OSError):
        hint = " Check the permissions of the folder and of the files in it, and those of the disk."
        hint = hint if error.errno in _NO_PERMISSION else ""
        raise StorageError(f"{folder} cannot be read or written ({error}).{hint}") from error
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _TEMPORARY_ERRORS:
            raise StorageError(f"{folder} {_TEMPORARY_ERRORS[code]} ({error}).") from error
        problem = f"a record {sql.TOO_LARGE}" if is_too_large(error) else error
        raise DamagedError(
            f"{folder / DATABASE_NAME} is damaged ({problem}). {salvage_hint(folder)}"
        ) from error
    if isinstance(error, UnicodeDecodeError):  # SQLite's message quotes a name that is not UTF-8
        raise DamagedError(
            f"{folder / DATABASE_NAME} is damaged ({error.reason} in a name). "
            f"{salvage_hint(folder)}"
        ) from error


def require_database(folder: Path) -> None:
    """Raise `StorageError` if there is no database in a folder."""
    if not (folder / DATABASE_NAME).exists():
        raise StorageError(
            f"{folder / DATABASE_NAME} does not exist. Was it removed or moved while the study was "
            "open?"
        )


def connect(folder: Path, options: str, synchronous: str = "FULL") -> sqlite3.Connection:
    """Open the database in a folder, with the options of an SQLite URI, such as `mode=ro`."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        refuse_link(folder / (DATABASE_NAME + suffix))
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(folder / DATABASE_NAME))}?{options}",
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


def is_too_large(error: Exception) -> bool:
    """Whether SQLite raised an error for a row of more than `LARGEST_ROW` bytes, and read none."""
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_TOOBIG


def configure(connection: sqlite3.Connection, synchronous: str = "FULL") -> None:
    """Set how much a connection trusts the file, and how often it syncs (`synchronous`)."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_ROW)
    for pragma in (*_PRAGMAS, f"synchronous = {synchronous}"):
        connection.execute(f"PRAGMA {pragma}")


def has_tables(connection: sqlite3.Connection, where: str) -> bool:
    """Whether the tables of a study exist; False for an empty database.

    Raise `FormatError` if the database is not a study, or has a newer format, and `DamagedError` if
    it has other tables.
    """
    with _snapshot(connection):  # another process may be creating the study right now
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        tables = {
            text for (text,) in connection.execute("SELECT sql FROM sqlite_master").fetchall()
        }
    if not tables and not application and not version:
        return False
    if application != APPLICATION_ID:
        raise FormatError(
            f"{where}/{DATABASE_NAME} is a database, but not a study of this library. If it was "
            f"one: {salvage_hint(where)}"
        )
    if version > FORMAT:
        refuse_version(version, where)
    if tables != set(TABLES):
        raise DamagedError(
            f"{where}/{DATABASE_NAME} is damaged: its tables are not those of a study. "
            f"{salvage_hint(where)}"
        )
    return True


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Let all reads in the block see the database as of one moment."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def set_journal_mode(connection: sqlite3.Connection, folder: Path) -> None:
    """Use the write-ahead log on a local disk, and the rollback journal on a network."""
    safety = lock_safety(folder)
    if safety == "unsafe":
        raise StorageError(
            f"{folder} is on a file system without reliable locks, so workers could overwrite "
            "each other's records. Put the study on a local disk, or use PostgreSQL: "
            "postgresql://..."
        )
    if safety == "network":
        warnings.warn(
            f"{folder} is on a network file system: the study uses SQLite's rollback journal, "
            "which is slower. For workers on several machines, use PostgreSQL.",
            stacklevel=2,
        )
    wanted = "wal" if safety == "local" else "delete"
    (mode,) = connection.execute(f"PRAGMA journal_mode = {wanted}").fetchone()
    if mode != wanted:
        raise StorageError(
            f"{folder} needs SQLite's journal mode {wanted!r}, but its mode stays {mode!r}, "
            "probably because another process has the study open. Stop the other workers, or use "
            "PostgreSQL: postgresql://..."
        )


def require_version(connection: sqlite3.Connection, where: str) -> None:
    """Raise `FormatError` if the study was upgraded to a newer format while it was open."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not BASE_FORMAT <= version <= FORMAT:
        refuse_version(version, where)


def create_tables(connection: sqlite3.Connection, where: str) -> None:
    """Create the tables, unless they exist. The first record may need a newer format."""
    if has_tables(connection, where):
        return
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {BASE_FORMAT}")
    for table in TABLES:
        connection.execute(table)
