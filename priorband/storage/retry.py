"""Which errors of storage are worth another try."""

import errno
import sqlite3

from priorband.errors import StorageError

_ERRNOS = (errno.ENOTDIR, errno.EEXIST, errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP)
_SQLITE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)


def is_permanent(error: StorageError) -> bool:
    """Whether retrying cannot help: a file in place of the folder, or missing permissions."""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _SQLITE
    return isinstance(cause, OSError) and cause.errno in _ERRNOS
