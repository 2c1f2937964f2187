"""A small file that says it is endless: refused at once, before time or memory run out."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from stored_studies import PAGE, Shapes, alter_file, events

import priorband as pb
from priorband.repair.check import check
from priorband.repair.salvage import salvage

WAYS = 300  # that each page of the tree leads to the next


def _fork(child: int) -> bytes:
    """A page of a table's tree that leads to one other page, again and again."""
    page, start = bytearray(PAGE), PAGE
    struct.pack_into(">BHHHBI", page, 0, 5, 0, WAYS, PAGE - 6 * WAYS, 0, child)
    for way in range(WAYS):
        start -= 6
        struct.pack_into(">IBB", page, start, child, 0x80 | way >> 7, way & 0x7F)
        struct.pack_into(">H", page, 12 + 2 * way, start)
    return bytes(page)


def endless(data: bytearray, root: int, leaf: int) -> None:
    """Let a table's root lead to one page of rows by 300 ways, and each of them by 300 more."""
    pages = len(data) // PAGE
    for _ in range(4):
        data += _fork(leaf)
        pages += 1
        leaf = pages
    data[(root - 1) * PAGE : root * PAGE] = _fork(leaf)
    struct.pack_into(">I", data, 28, pages)


@pytest.mark.parametrize("root", [2, 3])  # of the records, of the leases
def test_a_tree_that_leads_to_one_page_without_end(
    shapes: Shapes, place: Path, patience: Callable[[], None], root: int
) -> None:
    patience()
    shutil.copytree(shapes.closed, place / "study")

    def grow(data: bytearray) -> None:
        data += data[(root - 1) * PAGE : root * PAGE]
        leaf = 4 if root == 2 else len(data) // PAGE
        endless(data, root, leaf)

    alter_file(place / "study" / "study.db", grow)
    assert (place / "study" / "study.db").stat().st_size < 60_000
    with pytest.raises(pb.errors.DamagedError, match="out of order"):
        if events(place / "study"):
            with pb.open_study(place / "study") as study:
                study.ask()
    assert "out of order" in "".join(map(str, check(place / "study").findings))
    assert salvage(place / "study", place / "new").dropped == ()
    assert events(place / "new") == shapes.events


def test_a_row_that_claims_much_memory(shapes: Shapes, place: Path) -> None:
    shutil.copytree(shapes.closed, place / "study")
    length = b"\x83\x80\x80\x80\x00"  # 805,306,368 bytes in all
    body = b"\x82\xfd\xbc\xc1\x0d"  # text of some four hundred million
    row = length + b"\x01" + b"\x0c\x00\x15\x08\x0d\x07" + body + b"\x08"

    def claim(data: bytearray) -> None:
        start = 3 * PAGE  # a page of records
        assert data[start] == 0x0D
        cell = start + int.from_bytes(data[start + 8 : start + 10], "big")
        data[cell : cell + len(row)] = row

    alter_file(place / "study" / "study.db", claim)
    with pytest.raises(pb.errors.DamagedError, match="more than 5000000 bytes"):
        events(place / "study")
    assert not check(place / "study").sound


def test_names_that_are_no_text(shapes: Shapes, place: Path) -> None:
    """SQLite quotes them in its message, which Python then cannot read."""
    shutil.copytree(shapes.closed, place / "study")
    alter_file(
        place / "study" / "study.db",
        lambda data: data.__setitem__(
            slice(None), data.replace(b"leaselease", b"le\x80sele\x80se")
        ),
    )
    with pytest.raises(pb.errors.DamagedError):
        events(place / "study")
    assert check(place / "study").records == shapes.records
