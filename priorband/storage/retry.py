"""Which errors of storage are worth another try."""

import errno
import re
import sqlite3

from priorband.errors import StorageError

_ERRNOS = (
    *(errno.ENOTDIR, errno.EEXIST, errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP),
    errno.ENAMETOOLONG,
)
_SQLITE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
_INSUFFICIENT_PRIVILEGE = "42501"
_REFUSED = re.compile(
    r"""
      password\ authentication\ failed | no\ password\ supplied | no\ pg_hba\.conf\ entry
    | (database|role)\ ".*"\ (does\ not\ exist|is\ not\ permitted\ to\ log\ in)
    | permission\ denied\ for\ database | no\ such\ (database|user)     # the latter: PgBouncer
    | SSL\ was\ required | root\ certificate\ file
    | invalid\ \w+\ value | definition\ of\ service | unrecognized\ configuration\ parameter
    """,
    re.VERBOSE,
)
"""How PostgreSQL refuses a connection. The driver gives no code for it, only the message."""
_SEVERAL_HOSTS = re.compile("multiple connection attempts failed", re.IGNORECASE)


def is_permanent(error: StorageError) -> bool:
    """Whether retrying cannot help: a file in place of the folder, or missing permissions.

    For PostgreSQL, that includes a wrong password, and a database or a user that does not exist. If
    there are several hosts, another one may be on its way.
    """
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _SQLITE
    if isinstance(cause, OSError):
        return cause.errno in _ERRNOS
    code = getattr(cause, "sqlstate", "not of psycopg")
    if code is not None:
        return bool(code == _INSUFFICIENT_PRIVILEGE)
    text = str(cause)
    return _REFUSED.search(text) is not None and _SEVERAL_HOSTS.search(text) is None
