"""SQLite's write-ahead log: syncing it after the write lock is released, and its length.

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
_HEADER, _FRAME_HEADER = 32, 24  # bytes, see https://www.sqlite.org/fileformat2.html


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
        file = self._open()
        if sys.platform == "darwin":
            import fcntl

            fcntl.fcntl(file, _F_FULLFSYNC)
        elif hasattr(os, "fdatasync"):
            os.fdatasync(file)
        else:
            os.fsync(file)
        self.pending = False

    def longer_than(self, size: int) -> bool:
        """Whether the log has more than `size` bytes in use.

        Once all is copied into the database, SQLite writes to the log from its beginning again. The
        file keeps its length, but what is left of earlier rounds has another salt than the header.
        """
        file = self._open()
        if os.fstat(file).st_size <= size:
            return False
        header = self._header()
        frame = _frame_size(header)
        last = _HEADER + (size - _HEADER) // frame * frame
        return os.pread(file, 8, last + 8) == header[16:24]

    def bytes_of(self, frames: int) -> int:
        """How many bytes of the log a number of frames take."""
        return _HEADER + frames * _frame_size(self._header())

    def generation(self) -> bytes:
        """Which log this is: another one whenever it was started from scratch."""
        return self._header()[16:24].hex().encode()

    def _header(self) -> bytes:
        return os.pread(self._open(), _HEADER, 0)

    def _open(self) -> int:
        if self._file is None:
            self._file = open_own(self.path, os.O_RDONLY)
        return self._file

    def close(self) -> None:
        """Close the file. A new connection may create the log as a new file.

        Closing breaks no lock: SQLite takes its locks on other files than the log.
        """
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _frame_size(header: bytes) -> int:
    """The length of each frame of a log: a page of the database, with a header."""
    return _FRAME_HEADER + int.from_bytes(header[8:12], "big")
