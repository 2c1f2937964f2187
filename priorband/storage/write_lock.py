"""The write lock of a study in a folder: one process writes at a time.

A process that waits tries again after a short, random pause, and uses the pause to read what others
have written. There is no queue: handing the lock to a process that must first wake up and catch up
would take longer than the write itself. The operating system releases the lock when its holder ends
or is killed.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from priorband.errors import StorageError
from priorband.storage.safe_files import open_own

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: only SQLite's own locks
    fcntl = None

LOCK_NAME = "study.lock"
LOCK_TIMEOUT = 30.0  # seconds
FIRST_PAUSE, LONGEST_PAUSE, PAUSE_GROWTH = 0.002, 0.05, 1.6  # seconds, seconds, factor


def sleep_before_retry(pause: float) -> float:
    """Wait for about `pause` seconds before trying a lock again. Return the next, longer pause."""
    time.sleep(pause * (0.5 + os.urandom(1)[0] / 255))
    return min(pause * PAUSE_GROWTH, LONGEST_PAUSE)


@final
class WriteLock:
    """A lock on a file that all writers of a study share."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOCK_NAME
        self._file: int | None = None

    @contextmanager
    def acquire(self, meanwhile: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Wait for the lock and hold it; `meanwhile` is called after each failed attempt."""
        if fcntl is None:
            yield
            return
        if self._file is None:
            self._file = open_own(self.path, os.O_RDWR | os.O_CREAT)
        file = self._file
        try:
            self._wait_for(file, meanwhile)  # inside `try`: a signal may arrive as it returns
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    def _wait_for(self, file: int, meanwhile: Callable[[], None]) -> None:
        began, pause = 0.0, FIRST_PAUSE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                pass
            now = time.monotonic()
            began = began or now
            if now - began > LOCK_TIMEOUT:
                raise StorageError(
                    f"{self.path.parent} is busy: another process has held the write lock for "
                    f"{LOCK_TIMEOUT:g} s. Check whether one of the workers is suspended."
                )
            pause = sleep_before_retry(pause)
            meanwhile()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
