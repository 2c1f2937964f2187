"""Whether this process may read a study in a folder, and write to it; what to do if it may not."""

import os
from pathlib import Path

from priorband.errors import StorageError
from priorband.storage.high_water import HEAD_NAME
from priorband.storage.sqlite_file import DATABASE_NAME
from priorband.storage.write_lock import LOCK_NAME

_NAMES = (DATABASE_NAME, f"{DATABASE_NAME}-wal", f"{DATABASE_NAME}-shm", HEAD_NAME, LOCK_NAME)
_TO_LOOK = "To look at the study, use read_only=True, or `priorband status`, `best` and `export`."


def require_readable(folder: Path) -> None:
    """Raise `StorageError` if this process may not read the files of the study in a folder."""
    for path in (folder / DATABASE_NAME, folder / f"{DATABASE_NAME}-wal"):
        if _may_not(os.R_OK, path):
            raise StorageError(
                f"{folder} cannot be read: you have no permission to read {path}. Ask its owner "
                "for permission to read the folder and the files in it."
            )


def require_writable(folder: Path) -> None:
    """Raise `StorageError` if this process may not write the files of the study in a folder."""
    for path in (folder, *(folder / name for name in _NAMES)):
        if _may_not(os.W_OK, path):
            raise StorageError(
                f"{folder} cannot be written: {_reason(path)} {_TO_LOOK} To work on it, "
                f"{_remedy(path)}"
            )


def _may_not(access: int, path: Path) -> bool:
    """Whether there is such a file, and this process may not use it.

    SQLite removes two of the files when the last process closes the database, at any moment.
    """
    effective = os.access in os.supports_effective_ids
    return all(
        not os.access(path, access, effective_ids=effective) and path.exists() for _ in range(2)
    )


def _reason(path: Path) -> str:
    if _on_read_only_disk(path):
        return "its file system is mounted read-only."
    return f"you have no permission to write to {path}."


def _remedy(path: Path) -> str:
    if _on_read_only_disk(path):
        return "copy its folder to another disk."
    return "ask its owner for permission to write to the folder and to all files in it."


def _on_read_only_disk(path: Path) -> bool:
    return hasattr(os, "statvfs") and bool(os.statvfs(path).f_flag & os.ST_RDONLY)
