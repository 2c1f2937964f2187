"""Turns: one process at a time writes to a study's folder, in no fixed order.

Whoever waits looks again after a short pause, and uses the time to read what the others write. A
queue would be fairer, but handing each turn to a process that must first wake up and catch up costs
more than the turn itself. The lock falls with the process that holds it.
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
except ImportError:  # Windows: SQLite's own locks alone
    fcntl = None

NAME = "study.lock"
FIRST, LONGEST, GROWTH = 0.002, 0.05, 1.6  # seconds between looks, and how they grow
PATIENCE = 30.0


@final
class WriteLock:
    """A lock on a file that all writers of a study share."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._file: int | None = None

    @contextmanager
    def turn(self, meanwhile: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Wait for the lock and hold it."""
        if fcntl is None:
            yield
            return
        if self._file is None:
            self._file = open_own(self.path, os.O_RDWR | os.O_CREAT)
        held = self._file
        try:
            self._take(held, meanwhile)  # in here: a signal may come as it returns
            yield
        finally:
            fcntl.flock(held, fcntl.LOCK_UN)

    def _take(self, file: int, meanwhile: Callable[[], None]) -> None:
        began, pause = 0.0, FIRST
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                pass
            now = time.monotonic()
            began = began or now
            if now - began > PATIENCE:
                raise StorageError(
                    f"{self.path.parent} is busy: a process has held its lock for {PATIENCE:g} s. "
                    "Is one of the workers stopped?"
                )
            time.sleep(pause * (0.5 + os.urandom(1)[0] / 255))
            pause = min(pause * GROWTH, LONGEST)
            meanwhile()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
