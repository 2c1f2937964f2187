"""The stored format: the same events give the same bytes as they did in the first version."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from servers import fresh_url

from durable.golden import DATA, WRITERS, problems, records

GOLDEN: dict[str, Any] = json.loads(DATA.read_text())
KINDS = {
    *("created", "budget", "queued", "asked", "adopted", "returned", "told", "failed", "remark"),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("storage", ["sqlite", "postgres"])
def test_records_are_stored_as_the_same_bytes(
    name: str, storage: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where: str | Path = tmp_path / "study"
    if storage == "postgres":
        where = fresh_url(request.getfixturevalue("postgres"))
        (tmp_path / "study").mkdir()
    stored = records(name, where, tmp_path / "study")
    assert len(stored) == len(GOLDEN[name])
    for row, golden in zip(stored, GOLDEN[name], strict=True):
        assert row == golden


def test_the_golden_studies_hold_every_kind_of_record() -> None:
    assert {row[1] for name in WRITERS for row in GOLDEN[name]} == KINDS


def test_problems_are_stored_as_the_same_data() -> None:
    stored = json.loads(json.dumps(problems()))
    for name, golden in GOLDEN["problems"].items():
        assert stored[name] == golden, name
        assert json.dumps(stored[name]) == json.dumps(golden), f"{name}: another order"
    assert stored.keys() == GOLDEN["problems"].keys()


def test_the_database_and_the_head_are_laid_out_as_before(tmp_path: Path) -> None:
    rows = records("own", tmp_path / "study", tmp_path / "study")
    with closing(sqlite3.connect(tmp_path / "study" / "study.db")) as connection:
        tables = [text for (text,) in connection.execute("SELECT sql FROM sqlite_master")]
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    assert tables == [
        "CREATE TABLE record (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, trial INTEGER, "
        "worker TEXT NOT NULL, at REAL NOT NULL, body TEXT NOT NULL, seal INTEGER NOT NULL)",
        "CREATE TABLE lease (trial INTEGER PRIMARY KEY, attempt INTEGER NOT NULL, "
        "worker TEXT NOT NULL, host TEXT NOT NULL, machine TEXT NOT NULL, place TEXT NOT NULL, "
        "pid INTEGER NOT NULL, started TEXT NOT NULL, until REAL NOT NULL, "
        "seconds REAL NOT NULL, suspected REAL, step REAL, loss REAL)",
    ]
    assert (application, version) == (0x50424E44, 1)
    head = (tmp_path / "study" / "study.head").read_bytes()
    assert head[:31] == b"%020d %010d" % (rows[-1][0], rows[-1][-1])
    assert (len(head), head[-21:]) == (64, b"." * 20 + b"\n")
