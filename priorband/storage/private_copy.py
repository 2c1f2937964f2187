"""A private copy of a study's files, for readers that must not change them, or may not."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from priorband.errors import StorageError
from priorband.storage.file_state import settled_files, study_files
from priorband.storage.filesystems import lock_safety
from priorband.storage.high_water import HEAD_NAME
from priorband.storage.safe_files import open_own, refuse_link
from priorband.storage.sqlite_file import DATABASE_NAME

LOG_COPY_NAME = "log-copy"
"""The name of the copied write-ahead log, chosen so that SQLite does not find and apply it."""

_ATTEMPTS = 20  # to copy files directly that another process writes to
_LOG_HEADER_SIZE = 32
_LOG_MAGIC_NUMBERS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")


def copy_study_files(folder: Path, target: Path) -> None:
    """Copy the database, its log and its head file as of one moment; write nothing beside them.

    The head file is copied first, so that it never names a record that the copied database does
    not have yet. If another process may have the database open, SQLite makes the copy, because it
    respects the locks. Files are copied directly only if no process has them open, or if SQLite
    cannot read them: opening and closing a file would release this process's own locks on it. A
    process may open them meanwhile, so they are copied again if they have changed.

    Raise `StorageError` if they keep changing.
    """
    for name in (DATABASE_NAME, *(f"{DATABASE_NAME}-{end}" for end in ("wal", "shm", "journal"))):
        refuse_link(folder / name)
    refuse_link(folder / HEAD_NAME)
    _copy(folder / HEAD_NAME, target / HEAD_NAME)
    if not _copy_with_sqlite(folder, target / DATABASE_NAME):
        _copy_directly(folder, target)
    copied = target / f"{DATABASE_NAME}-wal"
    _copy(copied if copied.exists() else folder / copied.name, target / LOG_COPY_NAME)


def _copy_directly(folder: Path, target: Path) -> None:
    for _ in range(_ATTEMPTS):
        files = settled_files(folder)
        for name in (DATABASE_NAME, f"{DATABASE_NAME}-wal", f"{DATABASE_NAME}-journal"):
            (target / name).unlink(missing_ok=True)
            _copy(folder / name, target / name)
        if study_files(folder) == files:
            return
    raise StorageError(
        f"{folder} cannot be copied: its files were written to during each of {_ATTEMPTS} "
        f"attempts. To read it while workers write to it, permission to read {DATABASE_NAME}-wal "
        f"and {DATABASE_NAME}-shm is needed."
    )


def _copy_with_sqlite(folder: Path, target: Path) -> bool:
    """Copy the database with SQLite, if it may be open elsewhere; return whether that worked."""
    log, index = (folder / f"{DATABASE_NAME}-{end}" for end in ("wal", "shm"))
    on_network = lock_safety(folder) != "local"  # an open database has neither file there
    not_open = log.exists() != index.exists() or not (log.exists() or on_network)
    if not_open or not _has_content(folder / DATABASE_NAME) or not _is_log(log):
        return False
    options = "mode=ro&readonly_shm=1" if log.exists() else "mode=ro"
    try:
        path = quote(str((folder / DATABASE_NAME).absolute()))
        with closing(sqlite3.connect(f"file:{path}?{options}", uri=True)) as source:
            if not source.execute("SELECT 1 FROM sqlite_master").fetchall():
                return False
            with closing(sqlite3.connect(target)) as copy:
                source.backup(copy)
    except (sqlite3.Error, UnicodeDecodeError):  # a message may quote names that are not UTF-8
        target.unlink(missing_ok=True)
        return False
    return True


def _has_content(database: Path) -> bool:
    """Whether SQLite may open a database: it would delete the log of an empty one."""
    return database.exists() and database.stat().st_size > 1


def _is_log(log: Path) -> bool:
    """Whether a file is a write-ahead log, empty or missing.

    With any other file, SQLite would keep trying for ten seconds.
    """
    try:
        descriptor = open_own(log, os.O_RDONLY)
    except FileNotFoundError:
        return True
    with os.fdopen(descriptor, "rb") as file:
        start = file.read(_LOG_HEADER_SIZE + 1)
    page_size = int.from_bytes(start[8:12], "big")
    sized = 512 <= page_size <= 65536 and not page_size & (page_size - 1)
    magic = start[:4] in _LOG_MAGIC_NUMBERS
    return not start or (len(start) > _LOG_HEADER_SIZE and magic and sized)


def _copy(source: Path, target: Path) -> None:
    try:
        descriptor = open_own(source, os.O_RDONLY)
    except FileNotFoundError:
        return
    with os.fdopen(descriptor, "rb") as old, open(target, "wb") as new:
        shutil.copyfileobj(old, new)
