"""SQLite's errors as ours: what can be waited for, and what is damage."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from priorband.errors import DamagedError, PriorbandError, StorageError
from priorband.storage.high_water import salvage_hint
from priorband.storage.sqlite_file import NAME

_TRANSIENT = {
    sqlite3.SQLITE_BUSY: "is busy",
    sqlite3.SQLITE_LOCKED: "is busy",
    sqlite3.SQLITE_PROTOCOL: "is busy",
    sqlite3.SQLITE_FULL: "is on a disk that is full",
    sqlite3.SQLITE_IOERR: "cannot be read or written",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_NOMEM: "found no memory left",
    sqlite3.SQLITE_READONLY: "cannot be written: the file or its folder is read-only",
    sqlite3.SQLITE_PERM: "cannot be written: permission is missing",
    sqlite3.SQLITE_CONSTRAINT: "was written by somebody else at the same time",
    sqlite3.SQLITE_INTERRUPT: "was interrupted",
}


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Raise what goes wrong with a study's folder as an error of ours."""
    try:
        yield
    except PriorbandError:
        raise
    except OSError as error:
        raise StorageError(f"{folder} cannot be read or written ({error}).") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _TRANSIENT:
            raise StorageError(f"{folder} {_TRANSIENT[code]} ({error}).") from error
        raise DamagedError(
            f"{folder / NAME} is damaged ({error}). {salvage_hint(folder)}"
        ) from error
    except UnicodeDecodeError as error:  # from SQLite's message, which quotes what it has found
        raise DamagedError(
            f"{folder / NAME} is damaged ({error.reason} in a name). {salvage_hint(folder)}"
        ) from error
