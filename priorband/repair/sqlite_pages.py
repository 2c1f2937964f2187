"""Reading records from the pages of a damaged SQLite file, without SQLite.

SQLite finds a row through the inner pages of a tree, so one bad page can hide all rows below it.
This module reads each leaf page by itself, in the file and in its write-ahead log. The format is
described in https://www.sqlite.org/fileformat2.html. A record that is found in this way may be
wrong or out of date; its seal shows that, because it covers all records before it.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, final

from priorband.storage.journal import LARGEST_ROW
from priorband.storage.safe_files import open_own

_DEFAULT_PAGE_SIZE = 4096
_LEAF = 0x0D  # the first byte of a page with a table's rows
_WAL_HEADER, _FRAME_HEADER = 32, 24
_COLUMNS = 7  # of the table `record`
_VALUE_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # in bytes, by serial type, for types up to 9
_FORMAT_ERRORS = (IndexError, ValueError, struct.error, OverflowError)


def rows_in_pages(database: Path, log: Path | None) -> Iterator[tuple[Any, ...]]:
    """The columns of everything that looks like a record; those of the log come first.

    Of a row that is too large, only the number is returned, and None for all other columns.
    """
    with _opened(database) as database_file, _opened(log) as log_file:
        pages = _Pages(database_file, log_file)
        for page in pages.all():
            if page[:1] == bytes([_LEAF]):
                yield from _rows(pages, page)


def _opened(path: Path | None) -> BinaryIO:
    if path is None or not path.exists():
        return open(os.devnull, "rb")
    return os.fdopen(open_own(path, os.O_RDONLY), "rb")


@final
class _Pages:
    """The pages of a database and of its write-ahead log."""

    def __init__(self, database: BinaryIO, log: BinaryIO) -> None:
        self.database, self.log = database, log
        self.size, self.usable = _page_size(database, log)
        self.database_length, self.log_length = (
            os.fstat(file.fileno()).st_size for file in (database, log)
        )
        self.row_bytes_left = 2 * (self.database_length + self.log_length)
        """How many bytes may still be read as rows.

        Rows do not overlap, so in an intact file they have no more bytes than the file. The limit
        ends the reading of a malicious one.
        """
        self.offsets_in_log: dict[int, int] = {}
        """Where the newest version of a page is in the log, by page number."""
        for offset in self._frame_offsets():
            number = int.from_bytes(_bytes_at(log, offset, 4), "big")
            self.offsets_in_log[number] = offset + _FRAME_HEADER

    def _frame_offsets(self) -> range:
        step = self.size + _FRAME_HEADER
        return range(_WAL_HEADER, self.log_length - self.size, step)

    def all(self) -> Iterator[bytes]:
        """Every page: first those in the log, then those in the database."""
        for offset in self._frame_offsets():
            yield _bytes_at(self.log, offset + _FRAME_HEADER, self.size)
        for offset in range(0, self.database_length, self.size):
            yield _bytes_at(self.database, offset, self.size)

    def page(self, number: int) -> bytes:
        """The newest version of a page, by its number from 1."""
        if number in self.offsets_in_log:
            return _bytes_at(self.log, self.offsets_in_log[number], self.size)
        if number < 1:
            raise ValueError("there is no such page")
        return _bytes_at(self.database, (number - 1) * self.size, self.size)


def _bytes_at(file: BinaryIO, offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)


def _page_size(database: BinaryIO, log: BinaryIO) -> tuple[int, int]:
    """The size of a page, and how much of it is used, from the header of the file or the log."""
    header = _bytes_at(database, 0, 100).ljust(100, b"\0")
    if header[:16] == b"SQLite format 3\0":
        size, reserved = int.from_bytes(header[16:18], "big"), header[20]
        size = 65536 if size == 1 else size
    else:
        size, reserved = int.from_bytes(_bytes_at(log, 8, 4), "big"), 0
    valid = 512 <= size <= 65536 and not size & (size - 1) and size - reserved >= 480
    return (size, size - reserved) if valid else (_DEFAULT_PAGE_SIZE, _DEFAULT_PAGE_SIZE)


def _rows(pages: _Pages, page: bytes) -> Iterator[tuple[Any, ...]]:
    for cell in range(int.from_bytes(page[3:5], "big")):
        pointer = page[8 + 2 * cell : 10 + 2 * cell]
        if len(pointer) < 2:
            return
        try:
            number, payload = _payload(pages, page, int.from_bytes(pointer, "big"))
            columns = _columns(payload) if payload is not None else [None] * _COLUMNS
        except _FORMAT_ERRORS:
            continue
        if len(columns) == _COLUMNS and columns[0] is None:  # `seq` is stored as the row's number
            at = columns[4]  # SQLite stores 1.0 as the integer 1
            columns[0], columns[4] = number, float(at) if type(at) is int else at
            yield tuple(columns)


def _payload(pages: _Pages, page: bytes, offset: int) -> tuple[int, bytes | None]:
    """A row's number and its bytes, including those that overflowed into other pages.

    The bytes of a row that is too large are not read: None stands for them.
    """
    length, offset = _varint(page, offset)
    number, offset = _varint(page, offset)
    if number >= 1 << 63:
        number -= 1 << 64
    if length > pages.row_bytes_left:
        raise ValueError("longer than the file")
    if length > LARGEST_ROW:
        return number, None
    pages.row_bytes_left -= length
    local = _local_length(pages.usable, length)
    payload = page[offset : offset + local]
    next_page = int.from_bytes(page[offset + local : offset + local + 4], "big")
    parts, missing = [payload], length - local
    while missing > 0:
        overflow = pages.page(next_page)[: pages.usable]
        next_page = int.from_bytes(overflow[:4], "big")
        parts.append(overflow[4 : 4 + missing])
        if not parts[-1]:
            raise ValueError("cut short")
        missing -= len(parts[-1])
    return number, b"".join(parts)


def _local_length(usable: int, length: int) -> int:
    """How many bytes of a row are in its own page, and not in overflow pages."""
    if length <= usable - 35:
        return length
    least = (usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (usable - 4)
    return local if local <= usable - 35 else least


def _columns(payload: bytes) -> list[Any]:
    """The values of a row: its header lists their serial types, then their bytes follow."""
    header, offset = _varint(payload, 0)
    serial_types = list[int]()
    while offset < header and len(serial_types) <= _COLUMNS:
        serial_type, offset = _varint(payload, offset)
        serial_types.append(serial_type)
    values, start = [], header
    for serial_type in serial_types:
        if serial_type < len(_VALUE_SIZES):
            length = _VALUE_SIZES[serial_type]
        else:
            length = (serial_type - 12) // 2
        if length < 0 or start + length > len(payload):
            raise ValueError("cut short")
        values.append(_value(serial_type, payload[start : start + length]))
        start += length
    return values


def _value(serial_type: int, data: bytes) -> Any:
    if serial_type >= 12:
        return data.decode() if serial_type % 2 else data
    if serial_type == 7:
        return struct.unpack(">d", data)[0]
    if serial_type in (8, 9):
        return serial_type - 8
    return int.from_bytes(data, "big", signed=True) if serial_type else None


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    number = 0
    for position in range(8):
        byte = data[offset + position]
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, offset + position + 1
    return number << 8 | data[offset + 8], offset + 9
