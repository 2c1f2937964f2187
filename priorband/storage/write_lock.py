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
from priorband.storage.file_id import FileId, file_id
from priorband.storage.safe_files import open_own

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: only SQLite's own locks
    fcntl = None

LOCK_NAME = "study.lock"
LOCK_TIMEOUT = 30.0  # seconds
_NOTE_SIZE = 64
FIRST_PAUSE, LONGEST_PAUSE, PAUSE_GROWTH = 0.002, 0.05, 1.6  # seconds, seconds, factor


def sleep_before_retry(pause: float) -> float:
    """Wait for about `pause` seconds before trying a lock again. Return the next, longer pause."""
    time.sleep(pause * (0.5 + os.urandom(1)[0] / 255))
    return min(pause * PAUSE_GROWTH, LONGEST_PAUSE)


@final
class WriteLock:
    """A lock on a file that all writers of a study share."""

    def __init__(self, folder: Path, before_opening: Callable[[], None] = lambda: None) -> None:
        self.path = folder / LOCK_NAME
        self._name = str(self.path)
        self._before_opening = before_opening
        """Raises an error if the folder is no longer the study's: no file is created there."""
        self._file: int | None = None
        self._file_id: FileId | None = None

    @contextmanager
    def acquire(self, meanwhile: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Wait for the lock and hold it; `meanwhile` is called after each failed attempt."""
        if fcntl is None:
            yield
            return
        while True:
            file = self._open()
            try:
                self._wait_for(file, meanwhile)  # inside `try`: a signal may arrive as it returns
                if file_id(self._name) == self._file_id:
                    yield
                    return
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)
            self.close()  # it was removed or replaced: others lock the file that is there now

    def try_acquire(self) -> bool:
        """Take the lock if nobody holds it; whether it was taken. `close` releases it."""
        if fcntl is None:
            return True
        try:
            fcntl.flock(self._open(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return file_id(self.path) == self._file_id

    def read_note(self, place: int) -> bytes:
        """What the process that held the lock last has written down for the next one."""
        return os.pread(self._open(), _NOTE_SIZE, place * _NOTE_SIZE).rstrip() if fcntl else b""

    def write_note(self, note: bytes, place: int) -> None:
        """Write something down for the next process that takes the lock. It is not synced."""
        if fcntl:
            os.pwrite(self._open(), note.ljust(_NOTE_SIZE), place * _NOTE_SIZE)

    def _open(self) -> int:
        if self._file is None:
            self._before_opening()
            self._file = open_own(self.path, os.O_RDWR | os.O_CREAT)
            status = os.fstat(self._file)
            self._file_id = status.st_dev, status.st_ino
        return self._file

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
