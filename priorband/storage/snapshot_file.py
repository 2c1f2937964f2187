"""The snapshot of a study: what its first records amount to, so that they need not be read again.

A snapshot is a cache. The records remain the only truth: a snapshot that is missing, damaged, of
another version or of other records is ignored, and can be deleted at any time. In a folder it is
the file `study.snapshot`. What it holds is defined in `priorband/durable/snapshot.py`.
"""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, final

from priorband.errors import FormatError
from priorband.storage.safe_files import open_own

SNAPSHOT_NAME = "study.snapshot"
VERSION = 1
"""The version of the content. A snapshot of another version is ignored."""

_HEADER = "priorband snapshot {} {:020d} {:010d}\n"
_HEADER_PATTERN = re.compile(rb"priorband snapshot (\d+) (\d{20}) (\d{10})\n")
_HEADER_SIZE = len(_HEADER.format(VERSION, 0, 0))
_DIGEST_SIZE = 32
_LAST_SEQ = 2**63 - 1
_ABANDONED_AFTER = 3600.0  # seconds


class Snapshot(NamedTuple):
    """A snapshot, with the number and the seal of the last record that it stands for."""

    seq: int
    seal: int
    content: memoryview


def packed(seq: int, seal: int, content: Sequence[bytes]) -> bytes:
    """A snapshot as it is stored: a header, the content and a checksum."""
    data = b"".join((_HEADER.format(VERSION, seq, seal).encode(), *content))
    return data + _digest(data)


def unpacked(data: bytes) -> Snapshot | None:
    """A snapshot from its stored form; None if it is damaged or has another version."""
    view = memoryview(data)
    header = _HEADER_PATTERN.match(data)
    if header is None or int(header[1]) != VERSION:
        return None
    seq, seal = int(header[2]), int(header[3])
    long_enough = len(data) >= _HEADER_SIZE + _DIGEST_SIZE
    if not long_enough or _digest(view[:-_DIGEST_SIZE]) != view[-_DIGEST_SIZE:]:
        return None
    if not 1 <= seq <= _LAST_SEQ:
        return None
    return Snapshot(seq, seal, view[_HEADER_SIZE:-_DIGEST_SIZE])


def packed_seq(data: bytes) -> int:
    """The number of the last record of a snapshot, from the first bytes of it; 0 if unknown."""
    header = _HEADER_PATTERN.match(data)
    return int(header[2]) if header is not None and int(header[1]) == VERSION else 0


def _digest(data: bytes | memoryview) -> bytes:
    return blake2b(data, digest_size=_DIGEST_SIZE).digest()


@final
class SnapshotFile:
    """The snapshot of a study in a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / SNAPSHOT_NAME

    def read(self, most: int = -1) -> bytes:
        """The file, or its first bytes; empty if there is none that can be read."""
        try:
            with open(self.path, "rb", opener=_opener) as file:
                return file.read(most)
        except (OSError, FormatError):  # also a link, which is never followed
            return b""

    def seq(self) -> int:
        """The number of the last record of the snapshot; 0 if there is none."""
        return packed_seq(self.read(_HEADER_SIZE))

    def write(self, data: bytes, replace: bool) -> None:
        """Replace the file in one step, unless it stands for more records and `replace` is false.

        An error leaves things as they were: a study does without a snapshot. The file is not
        synced. After a power loss its checksum shows whether it is complete.
        """
        if not replace and self.seq() >= packed_seq(data):
            return
        part = self.path.with_name(f"{SNAPSHOT_NAME}.{os.urandom(8).hex()}.part")
        with suppress(OSError, FormatError):
            try:
                descriptor = open_own(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                self._remove_abandoned(os.lstat(part).st_mtime)
                os.replace(part, self.path)
            finally:
                part.unlink(missing_ok=True)

    def _remove_abandoned(self, now: float) -> None:
        """Remove what processes left that were killed while they were writing.

        `now` is the time of a new file: the clock of this process may differ from that of files.
        """
        for part in self.path.parent.glob(f"{SNAPSHOT_NAME}.*.part"):
            if now - os.lstat(part).st_mtime > _ABANDONED_AFTER:
                part.unlink(missing_ok=True)


def _opener(path: str, flags: int) -> int:
    return open_own(Path(path), flags)
