"""Carving: records read from the pages of a damaged SQLite file, without asking SQLite.

SQLite finds a row by way of the pages above it, so one bad page can hide all the others. Here each
page that looks like the end of such a way is read by itself, in the file and in its write-ahead
log (https://www.sqlite.org/fileformat2.html). What comes out may be wrong or old: each record's
seal, which covers all records before it, tells.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, final

_USUAL = 4096
_LEAF = 0x0D  # the first byte of a table's page that holds rows
_WAL_HEADER, _FRAME_HEADER = 32, 24
_COLUMNS = 7
_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # bytes of a value, by its type up to 9
_ODD = (IndexError, ValueError, struct.error, OverflowError)


def carve(database: Path, log: Path) -> Iterator[tuple[Any, ...]]:
    """Whatever looks like a record, as columns; the newest pages come first."""
    with _opened(database) as main, _opened(log) as newer:
        image = _Image(main, newer)
        for page in image.pages():
            if page[:1] == bytes([_LEAF]):
                yield from _rows(image, page)


def _opened(path: Path) -> BinaryIO:
    return open(path if path.exists() else os.devnull, "rb")


@final
class _Image:
    """The pages of a database: those of its log, then its own."""

    def __init__(self, main: BinaryIO, log: BinaryIO) -> None:
        self.main, self.log = main, log
        self.size, self.usable = _page_size(main, log)
        self.lengths = [os.fstat(file.fileno()).st_size for file in (main, log)]
        self.left = 2 * sum(self.lengths)  # bytes to read as rows: rows do not share any
        self.frames: dict[int, int] = {}
        for offset in range(_WAL_HEADER, self.lengths[1] - self.size, self.size + _FRAME_HEADER):
            self.frames[int.from_bytes(_at(log, offset, 4), "big")] = offset + _FRAME_HEADER

    def pages(self) -> Iterator[bytes]:
        """Every page image."""
        step = self.size + _FRAME_HEADER
        for offset in range(_WAL_HEADER, self.lengths[1] - self.size, step):
            yield _at(self.log, offset + _FRAME_HEADER, self.size)
        for offset in range(0, self.lengths[0], self.size):
            yield _at(self.main, offset, self.size)

    def page(self, number: int) -> bytes:
        """A page by its number."""
        if number in self.frames:
            return _at(self.log, self.frames[number], self.size)
        if number < 1:
            raise ValueError("there is no such page")
        return _at(self.main, (number - 1) * self.size, self.size)


def _at(file: BinaryIO, offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)


def _page_size(main: BinaryIO, log: BinaryIO) -> tuple[int, int]:
    """The size of a page and what of it is used, as the file or its log says."""
    header = _at(main, 0, 100).ljust(100, b"\0")
    if header[:16] == b"SQLite format 3\0":
        size, reserved = int.from_bytes(header[16:18], "big"), header[20]
        size = 65536 if size == 1 else size
    else:
        size, reserved = int.from_bytes(_at(log, 8, 4), "big"), 0
    fits = 512 <= size <= 65536 and not size & (size - 1) and size - reserved >= 480
    return (size, size - reserved) if fits else (_USUAL, _USUAL)


def _rows(image: _Image, page: bytes) -> Iterator[tuple[Any, ...]]:
    for cell in range(int.from_bytes(page[3:5], "big")):
        pointer = page[8 + 2 * cell : 10 + 2 * cell]
        if len(pointer) < 2:
            return
        try:
            number, payload = _payload(image, page, int.from_bytes(pointer, "big"))
            columns = _columns(payload)
        except _ODD:
            continue
        if len(columns) == _COLUMNS and columns[0] is None:
            at = columns[4]
            columns[0], columns[4] = number, float(at) if type(at) is int else at
            yield tuple(columns)


def _payload(image: _Image, page: bytes, offset: int) -> tuple[int, bytes]:
    """A row's number and its bytes, the part that overflowed into other pages included."""
    length, offset = _varint(page, offset)
    number, offset = _varint(page, offset)
    if number >= 1 << 63:
        number -= 1 << 64
    if length > image.left:
        raise ValueError("longer than the file")
    image.left -= length
    local = _local(image.usable, length)
    payload = page[offset : offset + local]
    following = int.from_bytes(page[offset + local : offset + local + 4], "big")
    parts, missing = [payload], length - local
    while missing > 0:
        more = image.page(following)[: image.usable]
        following = int.from_bytes(more[:4], "big")
        parts.append(more[4 : 4 + missing])
        if not parts[-1]:
            raise ValueError("cut short")
        missing -= len(parts[-1])
    return number, b"".join(parts)


def _local(usable: int, length: int) -> int:
    """How much of a row its own page holds."""
    if length <= usable - 35:
        return length
    least = (usable - 12) * 32 // 255 - 23
    some = least + (length - least) % (usable - 4)
    return some if some <= usable - 35 else least


def _columns(payload: bytes) -> list[Any]:
    header, offset = _varint(payload, 0)
    kinds = list[int]()
    while offset < header and len(kinds) <= _COLUMNS:
        kind, offset = _varint(payload, offset)
        kinds.append(kind)
    values, start = [], header
    for kind in kinds:
        length = _SIZES[kind] if kind < len(_SIZES) else (kind - 12) // 2
        if length < 0 or start + length > len(payload):
            raise ValueError("cut short")
        values.append(_value(kind, payload[start : start + length]))
        start += length
    return values


def _value(kind: int, data: bytes) -> Any:
    if kind >= 12:
        return data.decode() if kind % 2 else data
    if kind == 7:
        return struct.unpack(">d", data)[0]
    if kind in (8, 9):
        return kind - 8
    return int.from_bytes(data, "big", signed=True) if kind else None


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    found = 0
    for place in range(8):
        byte = data[offset + place]
        found = found << 7 | byte & 0x7F
        if byte < 0x80:
            return found, offset + place + 1
    return found << 8 | data[offset + 8], offset + 9
