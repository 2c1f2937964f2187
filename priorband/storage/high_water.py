"""A witness beside the database: the last record that was written, in a file of its own.

A database that has lost its newest records (a log file cut short, deleted or not copied along) is
still a valid database. The head is written after each commit, so a study that ends before its head
says is damaged, never merely shorter. It is not synced: after a power loss it may be old, which is
harmless, since it never runs ahead of what the database has made durable.
"""

import os
import shlex
import zlib
from pathlib import Path
from typing import final

from priorband.errors import DamagedError
from priorband.storage.safe_files import open_own, sync_folder

NAME = "study.head"


@final
class HighWater:
    """The number and the seal of the last record, in 64 bytes that are overwritten in place."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._file: int | None = None

    def create(self) -> None:
        """Make the file, saying that there is no record, unless it exists; whole, or not at all."""
        if self.path.exists():
            return
        part = self.path.with_name(f"{NAME}.part")
        opened = open_own(part, os.O_RDWR | os.O_CREAT)
        try:
            os.pwrite(opened, _text(0, 0), 0)
            os.fsync(opened)
        finally:
            os.close(opened)
        os.replace(part, self.path)
        sync_folder(self.path.parent)

    def write(self, seq: int, seal: int) -> None:
        """Say which record is the last."""
        if self._file is None:
            self._file = open_own(self.path, os.O_RDWR | os.O_CREAT)
        if os.pread(self._file, 20, 0) < b"%020d" % seq:  # another may have been faster
            os.pwrite(self._file, _text(seq, seal), 0)

    def read(self) -> tuple[int, int]:
        """The number and the seal of a record that must be there."""
        try:
            opened = open_own(self.path, os.O_RDONLY)
        except FileNotFoundError:
            raise DamagedError(
                f"{self.path} is missing, so it cannot be told whether records are. "
                f"{salvage_hint(self.path.parent)}"
            ) from None
        try:
            text = os.pread(opened, 200, 0)
        finally:
            os.close(opened)
        try:
            seq, seal = int(text[:20]), int(text[21:31])
        except ValueError:
            seq, seal = -1, 0
        if text != _text(seq, seal):
            raise DamagedError(
                f"{self.path} is damaged, so it cannot be told whether records are missing. "
                f"{salvage_hint(self.path.parent)}"
            )
        return seq, seal

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def salvage_hint(where: object) -> str:
    """What to do about a damaged study."""
    place = shlex.quote(str(where))
    return (
        f"See what is wrong with `priorband journal check {place}`; "
        f"`priorband journal salvage {place} NEW` writes a new study from what is intact."
    )


def _text(seq: int, seal: int) -> bytes:
    plain = b"%020d %010d " % (seq, seal)
    return plain + b"%010d " % zlib.crc32(plain) + b"." * 20 + b"\n"
