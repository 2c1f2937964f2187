"""The clock of a study in a folder: the time that its file system gives to a file.

Processes that share a folder may have clocks that disagree: those of several machines on a network
file system, or one that was set wrong. So the time is not read from the process. The study's lock
file is touched, and the file system says when that was: the kernel of this machine, or the server
of a network file system. That takes two system calls, and it is right to a few milliseconds.
"""

import os
import time
from pathlib import Path
from typing import final

from priorband.storage.write_lock import LOCK_NAME

STANDSTILL = 5.0
"""Seconds without a new time after which a file system counts as one that does not keep times."""
_FOLLOW = os.utime not in os.supports_follow_symlinks


@final
class FileClock:
    """Reads the time of a folder's file system.

    A study that is only read is not touched: its time is that of this process, but never before the
    last time that somebody has touched the file. The clock of this process is also used where a
    file cannot be touched, or where the file system does not keep its time; corrected by what the
    two differed the last time.
    """

    def __init__(self, folder: Path, read_only: bool = False) -> None:
        self.path = str(folder / LOCK_NAME)
        self._read_only = read_only
        self._ahead = 0.0
        """By how much this process's clock is ahead of the file system's."""
        self._last, self._changed = 0.0, 0.0
        """The last time of the file, and when it changed, by `time.monotonic`."""

    def now(self) -> float:
        """The time in seconds since 1970."""
        try:
            if self._read_only:
                return max(time.time(), self._time_of_file())
            os.utime(self.path, follow_symlinks=_FOLLOW)
            at = self._time_of_file()
        except OSError:
            return time.time() - self._ahead
        if at != self._last:
            self._last, self._changed = at, time.monotonic()
            self._ahead = time.time() - at
        elif time.monotonic() - self._changed > STANDSTILL:
            return time.time() - self._ahead
        return at

    def _time_of_file(self) -> float:
        return os.stat(self.path, follow_symlinks=_FOLLOW).st_mtime
