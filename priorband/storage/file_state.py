"""What the files of a study in a folder look like, so that a change of them can be noticed."""

import os
import time
from pathlib import Path
from typing import NamedTuple, final

from priorband.storage.sqlite_file import DATABASE_NAME

_TIME_STEP = 0.02  # seconds; file systems of Linux note times in steps of up to 0.01


class FileState(NamedTuple):
    """Which file it is, its size, and when it was written to, in nanoseconds since 1970."""

    device: int
    inode: int
    size: int
    written: int


@final
class StudyFiles(NamedTuple):
    """The files that hold a study's records. None stands for one that is missing or empty."""

    database: FileState | None
    log: FileState | None
    """SQLite's write-ahead log."""
    journal: FileState | None
    """SQLite's rollback journal."""


def study_files(folder: Path) -> StudyFiles:
    """What the files in a folder look like now."""
    ends = ("", "-wal", "-journal")
    return StudyFiles._make(_state(folder / f"{DATABASE_NAME}{end}") for end in ends)


def settled_files(folder: Path) -> StudyFiles:
    """What the files look like now, such that any later write makes them look different.

    A file that was written to in this very moment can be written to again without a change of its
    time. Then this waits for some milliseconds.
    """
    files = study_files(folder)
    age = min(time.time() - state.written / 1e9 for state in files if state) if any(files) else 1.0
    if 0 <= age < _TIME_STEP:
        time.sleep(_TIME_STEP - age)
    return files


def _state(path: Path) -> FileState | None:
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    state = FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    return state if state.size else None
