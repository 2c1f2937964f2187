"""Syncing SQLite's write-ahead log after the write lock is released.

A commit is written to the log while the lock is held, and synced afterwards, before the result is
acknowledged. So the next writer does not wait for the disk. The log is one file, and syncing it
makes all earlier commits durable, too: an acknowledged result never depends on a commit that a
power loss could undo. SQLite itself syncs the log before it copies it into the database, and the
database before it starts the log from scratch.
"""

import os
import sys
from pathlib import Path
from typing import final

from priorband.storage.safe_files import open_own
from priorband.storage.sqlite_file import DATABASE_NAME

_F_FULLFSYNC = 51  # macOS: also flush the disk's own cache


@final
class WalSync:
    """The write-ahead log of a study, and whether this process has yet to sync it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{DATABASE_NAME}-wal"
        self.pending = False
        """Whether this process has committed something that is not synced yet."""
        self._file: int | None = None

    def sync(self) -> None:
        """Make all commits so far durable."""
        if self._file is None:
            self._file = open_own(self.path, os.O_RDONLY)
        if sys.platform == "darwin":
            import fcntl

            fcntl.fcntl(self._file, _F_FULLFSYNC)
        elif hasattr(os, "fdatasync"):
            os.fdatasync(self._file)
        else:
            os.fsync(self._file)
        self.pending = False

    def close(self) -> None:
        """Close the file. A new connection may create the log as a new file.

        Closing breaks no lock: SQLite takes its locks on other files than the log.
        """
        if self._file is not None:
            os.close(self._file)
            self._file = None
