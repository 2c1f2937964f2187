"""A private copy of a study's folder, to look at what may be damaged without touching it."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from priorband.storage.filesystems import kind
from priorband.storage.high_water import NAME as HEAD_NAME
from priorband.storage.safe_files import open_own, refuse_link
from priorband.storage.sqlite_file import NAME

LOG_IMAGE = "log-image"
"""What the write-ahead log is called where SQLite does not find it."""

_LOG_HEADER, _LOG_STARTS = 32, (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")


def copied(folder: Path, into: Path) -> None:
    """Copy the database, its log and its head, as of one moment; nothing is written beside them.

    The head comes first, so that it is never ahead of the database. What others may have open is
    copied by SQLite, which knows the locks. To open and close such a file without it would drop
    this process's own locks on it, so that is left for files that nobody has open, or are broken.
    """
    for name in (NAME, f"{NAME}-wal", f"{NAME}-shm", f"{NAME}-journal", HEAD_NAME):
        refuse_link(folder / name)
    _copy(folder / HEAD_NAME, into / HEAD_NAME)
    if not _backed_up(folder, into / NAME):
        for name in (NAME, f"{NAME}-wal", f"{NAME}-journal"):
            _copy(folder / name, into / name)
    _copy(folder / f"{NAME}-wal", into / LOG_IMAGE)


def _backed_up(folder: Path, target: Path) -> bool:
    log, index = (folder / f"{NAME}-{name}" for name in ("wal", "shm"))
    on_network = kind(folder) != "local"  # where there is neither, also while it is open
    alone = log.exists() != index.exists() or not (log.exists() or on_network)
    if alone or not _filled(folder / NAME) or not _begins_well(log):
        return False
    how = "mode=ro&readonly_shm=1" if log.exists() else "mode=ro"
    try:
        place = quote(str((folder / NAME).absolute()))
        with closing(sqlite3.connect(f"file:{place}?{how}", uri=True)) as old:
            if not old.execute("SELECT 1 FROM sqlite_master").fetchall():
                return False
            with closing(sqlite3.connect(target)) as new:
                old.backup(new)
    except (sqlite3.Error, UnicodeDecodeError):  # messages quote what was found
        target.unlink(missing_ok=True)
        return False
    return True


def _filled(database: Path) -> bool:
    """Whether SQLite may look at a database: the log of an empty one it would delete."""
    return database.exists() and database.stat().st_size > 1


def _begins_well(log: Path) -> bool:
    """Whether a log is one, or empty: with another SQLite would try for ten seconds."""
    try:
        opened = open_own(log, os.O_RDONLY)
    except FileNotFoundError:
        return True
    with os.fdopen(opened, "rb") as file:
        start = file.read(_LOG_HEADER + 1)
    size = int.from_bytes(start[8:12], "big")
    sized = 512 <= size <= 65536 and not size & (size - 1)
    return not start or (len(start) > _LOG_HEADER and start[:4] in _LOG_STARTS and sized)


def _copy(source: Path, target: Path) -> None:
    try:
        opened = open_own(source, os.O_RDONLY)
    except FileNotFoundError:
        return
    with os.fdopen(opened, "rb") as old, open(target, "wb") as new:
        shutil.copyfileobj(old, new)
