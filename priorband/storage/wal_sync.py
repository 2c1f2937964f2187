"""Syncing the write-ahead log after a turn, so that the next writer need not wait for the disk.

A commit is written to the log within the turn and synced after it, before anything is acknowledged.
The log is one file: to sync it for one commit makes all earlier ones durable, too, so whatever was
acknowledged rests on nothing that a power loss could take. SQLite itself syncs the log before it is
copied into the database, and the database before the log begins anew.
"""

import os
import sys
from pathlib import Path
from typing import final

from priorband.storage.safe_files import open_own
from priorband.storage.sqlite_file import NAME

_F_FULLFSYNC = 51  # macOS: through the disk's own cache


@final
class WalSync:
    """The log of a study's database, and whether a commit of ours in it is yet to be synced."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{NAME}-wal"
        self.owed = False
        self._file: int | None = None

    def sync(self) -> None:
        """Make all that was committed durable."""
        if self._file is None:
            self._file = open_own(self.path, os.O_RDONLY)
        if sys.platform == "darwin":
            import fcntl

            fcntl.fcntl(self._file, _F_FULLFSYNC)
        elif hasattr(os, "fdatasync"):
            os.fdatasync(self._file)
        else:
            os.fsync(self._file)
        self.owed = False

    def close(self) -> None:
        """Close the file, which may be another once no connection keeps the log in place.

        No lock of SQLite's is on it that this could break.
        """
        if self._file is not None:
            os.close(self._file)
            self._file = None
