"""Records that are too large to be one of ours: named, and never read."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from servers import fresh_url
from stored_studies import EPOCHS, PAGE, SPACE, alter_file, events, numbers, tell_some
from waiting import LONGEST

import priorband as pb
from priorband.durable.open import journal_at
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.storage.journal import LARGEST_ROW

LARGE = 11  # the record that is too large
HUGE = 300_000_000  # bytes
TOO_LARGE = f"record {LARGE} has more than {LARGEST_ROW} bytes"
MOST_MEMORY = 200_000  # KiB that a process may need for a small study

needs_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="the memory of a process is read from Linux's /proc"
)


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, place: Path) -> str:
    """A study with 41 records."""
    url = request.param == "postgres" and fresh_url(request.getfixturevalue("postgres"))
    where = url or str(place / "study")
    with pb.open_study(where, SPACE, EPOCHS, folder=place if url else None) as study:
        tell_some(study, 20)
        assert study.ledger.seq == 41
    return where


def execute(where: str, for_sqlite: str, for_postgres: str) -> None:
    """Change the tables of a study."""
    if "://" not in where:
        with closing(sqlite3.connect(Path(where, "study.db"), isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(for_sqlite)
        return
    url, _, name = where.partition("#")
    with psycopg.connect(url, autocommit=True) as database:
        database.execute(f'SET search_path TO "priorband {name}"')
        database.execute(for_postgres.encode())


def enlarge(where: str, size: int) -> None:
    """Let one record have a text of so many bytes."""
    execute(
        where,
        f"UPDATE record SET body = CAST(zeroblob({size}) AS TEXT) WHERE seq = {LARGE}",
        f"UPDATE record SET body = repeat('x', {size}) WHERE seq = {LARGE}",
    )


def test_a_record_that_is_too_large_is_named_and_the_rest_is_saved(where: str, place: Path) -> None:
    enlarge(where, LARGEST_ROW + 1)
    with pytest.raises(pb.errors.DamagedError, match=f"more than {LARGEST_ROW} bytes"):
        events(where)
    with pytest.raises(pb.errors.DamagedError, match=f"more than {LARGEST_ROW} bytes"):
        pb.open_study(where, folder=place if "://" in where else None).ask()
    found = check(where)
    assert found.records == 40
    assert [str(finding) for finding in found.findings] == [f"{TOO_LARGE}, so it is not read"]
    saved = salvage(where, place / "new")
    assert numbers(saved) == {LARGE} and saved.kept == 40
    with pb.open_study(place / "new") as study:
        tell_some(study, 2)


def test_the_largest_record_of_ours_is_read(where: str) -> None:
    """A record may have 4 million characters, and the name of its worker and other things."""
    size = LARGEST_ROW - 200_000
    enlarge(where, size)
    with closing(journal_at(where, read_only=True)) as journal:
        assert len(journal.read(LARGE - 1)[0].body) == size
    assert f"record {LARGE} is not what was written" in map(str, check(where).findings)


@pytest.mark.parametrize("column", ["kind", "worker"])
def test_any_text_of_a_record_can_be_too_large(where: str, column: str) -> None:
    size = LARGEST_ROW + 1
    execute(
        where,
        f"UPDATE record SET {column} = CAST(zeroblob({size}) AS TEXT) WHERE seq = {LARGE}",
        f"UPDATE record SET {column} = repeat('x', {size}) WHERE seq = {LARGE}",
    )
    with pytest.raises(pb.errors.DamagedError, match=f"more than {LARGEST_ROW} bytes"):
        events(where)
    assert [str(finding) for finding in check(where).findings] == [
        f"{TOO_LARGE}, so it is not read"
    ]


def test_a_lease_that_is_too_large(where: str, place: Path) -> None:
    with pb.open_study(where, folder=place if "://" in where else None) as study:
        study.ask()
    size = LARGEST_ROW + 1
    execute(
        where,
        f"UPDATE lease SET host = CAST(zeroblob({size}) AS TEXT)",
        f"UPDATE lease SET host = repeat('x', {size})",
    )
    with (
        pb.open_study(where, read_only=True) as study,
        pytest.raises(pb.errors.DamagedError, match="is damaged"),
    ):
        study.journal.leases()
    assert not check(where).sound
    saved = salvage(where, place / "new")
    assert saved.dropped == () and saved.kept == 42


@contextmanager
def in_use(where: str) -> Iterator[None]:
    """Let a process have the study open."""
    with closing(journal_at(where)) as journal:
        journal.first()
        yield


def test_a_record_that_is_too_large_in_a_study_that_is_open(where: str) -> None:
    with in_use(where):
        enlarge(where, LARGEST_ROW + 1)
        assert TOO_LARGE in str(check(where).findings[0])


def _lose_root(data: bytearray) -> None:
    data[PAGE : PAGE + 100] = bytes(100)  # the root of the table of records


@pytest.mark.parametrize("closed", [True, False])
def test_the_pages_of_a_record_that_is_too_large_are_skipped(place: Path, closed: bool) -> None:
    """SQLite finds no record here: they are looked for in the pages of the file."""
    where = place / "study"
    with pb.open_study(where, SPACE, EPOCHS) as study:
        tell_some(study, 20)
    enlarge(str(where), 2 * LARGEST_ROW)
    alter_file(where / "study.db", _lose_root)
    if not closed:
        (where / "study.db-wal").touch()
    found = check(where)
    assert f"{TOO_LARGE}, so it is not read" in map(str, found.findings)
    assert found.records == 40
    assert numbers(salvage(where, place / "new")) == {LARGE}


def peak_memory(code: str, *words: object) -> int:
    """How many KiB a process needs that runs some code."""
    measure = "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    command: list[Any] = [sys.executable, "-c", f"{code}\n{measure}", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1])


LOOK = """
import sys
from priorband.cli import main
for words in (["status"], ["best"], ["export"], ["journal", "check"]):
    assert main([*words, sys.argv[1]]) == 1
assert main(["journal", "salvage", *sys.argv[1:]]) == 0
"""


@pytest.mark.slow
@needs_linux
@pytest.mark.parametrize("is_open", [True, False])
def test_a_huge_record_takes_no_memory(where: str, place: Path, is_open: bool) -> None:
    enlarge(where, HUGE)
    with in_use(where) if is_open else closing(journal_at(where)):
        assert peak_memory(LOOK, where, place / "new") < MOST_MEMORY
    assert len(events(place / "new")) > 30


@pytest.mark.slow
@needs_linux
def test_a_huge_record_in_damaged_pages_takes_no_memory(place: Path) -> None:
    with pb.open_study(place / "study", SPACE, EPOCHS) as study:
        tell_some(study, 20)
    enlarge(str(place / "study"), HUGE)
    with open(place / "study" / "study.db", "r+b") as file:
        file.seek(PAGE)
        file.write(bytes(100))
    assert peak_memory(LOOK, place / "study", place / "new") < MOST_MEMORY
    assert len(events(place / "new")) > 30
