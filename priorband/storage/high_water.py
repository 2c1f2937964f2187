"""The high-water mark of a study: the last record that was written, in the file `study.head`.

A SQLite database can lose its newest records and still be valid: its log file may be cut short,
deleted or not copied with it. The head file is written after each commit. So a study with fewer
records than its head file says is recognised as damaged, and never taken for a shorter study.

The file is not synced. After a power loss it may be out of date, which does no harm: it never names
a record that the database has not made durable.
"""

import os
import shlex
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import final

from priorband.errors import DamagedError
from priorband.storage.file_id import FileId, file_id
from priorband.storage.safe_files import open_own, sync_folder

HEAD_NAME = "study.head"


@final
class HighWater:
    """The head file of a study, which holds the number and the seal of its last record.

    It has 64 bytes, which are overwritten in place.

    Args:
        folder: the study's folder.
        own_folder: opens the folder, and raises an error if it is no longer the study's. Nothing is
            written to the head file of another study that was created at the same path.
    """

    def __init__(self, folder: Path, own_folder: Callable[[], int | None] = lambda: None) -> None:
        self.path = folder / HEAD_NAME
        self._name = str(self.path)
        self._own_folder = own_folder
        self._file: int | None = None
        self._file_id: FileId | None = None

    def create(self) -> None:
        """Create the file for a study without records, atomically, unless it exists."""
        if self.path.exists():
            return
        part = self.path.with_name(f"{HEAD_NAME}.part")
        file = open_own(part, os.O_RDWR | os.O_CREAT)
        try:
            os.pwrite(file, _text(0, 0), 0)
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(part, self.path)
        sync_folder(self.path.parent)

    def write(self, seq: int, seal: int) -> bool:
        """Write the number and the seal of the last record, unless the file names a later one.

        Return whether the file was missing, or another one than before.
        """
        replaced = self._file is not None and file_id(self._name) != self._file_id
        if replaced:
            self.close()
        if self._file is None:
            self._open()
        assert self._file is not None
        if os.pread(self._file, 20, 0) < b"%020d" % seq:  # another process may be ahead
            os.pwrite(self._file, _text(seq, seal), 0)
        return replaced

    def _open(self) -> None:
        folder = self._own_folder()
        try:
            self._file = open_own(self.path, os.O_RDWR | os.O_CREAT, folder)
        finally:
            if folder is not None:
                os.close(folder)
        status = os.fstat(self._file)
        self._file_id = status.st_dev, status.st_ino

    def read(self) -> tuple[int, int]:
        """The number and the seal of the last record that was written; (0, 0) for none.

        Raise `DamagedError` if the file is missing or damaged.
        """
        try:
            file = open_own(self.path, os.O_RDONLY)
        except FileNotFoundError:
            raise DamagedError(
                f"{self.path} is missing, so it is not known whether records are missing. "
                f"{salvage_hint(self.path.parent)}"
            ) from None
        try:
            text = os.pread(file, 200, 0)
        finally:
            os.close(file)
        try:
            seq, seal = int(text[:20]), int(text[21:31])
        except ValueError:
            seq, seal = -1, 0
        if text != _text(seq, seal):
            raise DamagedError(
                f"{self.path} is damaged, so it is not known whether records are missing. "
                f"{salvage_hint(self.path.parent)}"
            )
        return seq, seal

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def salvage_hint(where: object) -> str:
    """The part of an error message that says what to do about a damaged study."""
    place = shlex.quote(str(where))
    return (
        f"`priorband journal check {place}` shows what is wrong; "
        f"`priorband journal salvage {place} NEW` writes a new study from what is intact."
    )


def _text(seq: int, seal: int) -> bytes:
    numbers = b"%020d %010d " % (seq, seal)
    return numbers + b"%010d " % zlib.crc32(numbers) + b"." * 20 + b"\n"
