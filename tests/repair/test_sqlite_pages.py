"""Carving: rows are found in pages that SQLite itself cannot reach any more."""

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from stored_studies import PAGE, Shapes, alter_file, end, events, resealed, write_rows

import priorband as pb
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.repair.sqlite_pages import rows_in_pages
from priorband.storage.journal import Row

NOTHING = Path("/nonexistent")


def test_every_record_is_found_in_the_file(shapes: Shapes, genuine: list[Row]) -> None:
    assert {Row(*found) for found in rows_in_pages(shapes.closed / "study.db", NOTHING)} == {
        *genuine
    }


def test_every_record_is_found_in_the_log(shapes: Shapes, genuine: list[Row]) -> None:
    found = rows_in_pages(NOTHING, shapes.live / "study.db-wal")
    assert {Row(*columns) for columns in found} == {*genuine}


@pytest.mark.parametrize("size", [512, 1024, 4096, 65536])
def test_pages_and_rows_may_have_any_size(place: Path, size: int) -> None:
    lengths = [*range(0, 40), *range(400, 520, 7), 4000, 4060, 4061, 4096, 9000, 70_000, 300_000]
    made = [
        (n + 1, "told", None if n % 3 else -n, "wörker", float(n), "é" * length, 2**32 - n)
        for n, length in enumerate(lengths)
    ]
    folder = place / "study"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "study.db")) as connection:
        connection.execute(f"PRAGMA page_size = {size}")
        columns = "seq INTEGER PRIMARY KEY, kind, trial, worker, at REAL, body, seal"
        connection.execute(f"CREATE TABLE record ({columns})")
        connection.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?)", made)
        connection.commit()
    assert sorted(rows_in_pages(folder / "study.db", NOTHING)) == made


def test_a_file_of_anything_holds_no_rows(place: Path) -> None:
    random = Random(0)
    for _ in range(60):
        data = bytearray(random.randbytes(random.randrange(3 * PAGE)))
        for start in range(0, len(data), PAGE):
            data[start] = 0x0D
        (place / "study.db").write_bytes(data)
        (place / "log").write_bytes(random.randbytes(32 + 3 * (24 + PAGE)))
        assert not [
            row for row in rows_in_pages(place / "study.db", place / "log") if row[1] == "told"
        ]


def test_rows_that_claim_the_whole_file_do_not_cost_it_again_and_again(place: Path) -> None:
    cell = b"\x83\xff\xff\x7f" + b"\x01" + bytes(3)  # eight million bytes, says each
    page = b"\x0d\0\0" + (500).to_bytes(2) + b"\0\0\0" + (PAGE - 8).to_bytes(2) * 500
    page = page.ljust(PAGE - 8, b"\0") + cell
    (place / "study.db").write_bytes(page * 400)
    assert [*rows_in_pages(place / "study.db", NOTHING)] == []


@pytest.mark.parametrize("page", [1, 2])
def test_a_lost_page_of_the_tree_costs_no_record(
    shapes: Shapes, genuine: list[Row], place: Path, page: int
) -> None:
    long = [row._replace(body=row.body[:-1] + " " * 6000 + "}") for row in genuine]
    made = resealed(long)
    folder = write_rows(place / "study", made, end(made))

    def zero(data: bytearray) -> None:
        data[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)

    alter_file(folder / "study.db", zero)
    with pytest.raises(pb.errors.DamagedError):
        events(folder)
    assert check(folder).records == len(genuine)
    assert "study.db contains records" in "".join(map(str, check(folder).findings))
    assert salvage(folder, place / "new").dropped == ()
    assert events(place / "new") == shapes.events
