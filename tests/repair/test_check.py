"""Inspection: every fault is found and named by itself, and nothing is changed by looking."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from servers import Server, fresh_url
from stored_studies import (
    EPOCHS,
    SPACE,
    Shapes,
    end,
    events,
    resealed,
    tell_some,
    write_rows,
)

import priorband as pb
from priorband.repair.check import check
from priorband.storage.journal import Row


def said(where: str | Path) -> list[str]:
    return [str(finding) for finding in check(where).findings]


@pytest.mark.parametrize("shape", ["closed", "live", "copied", "halfway"])
def test_a_sound_study_is_sound_and_left_as_it_is(shapes: Shapes, place: Path, shape: str) -> None:
    shutil.copytree(getattr(shapes, shape), place / "study")
    before = _contents(place)
    inspected = check(place / "study")
    assert inspected.sound and inspected.findings == ()
    assert inspected.records == shapes.records
    assert inspected.trials == len(pb.History.of(shapes.events))
    assert inspected.where == str(place / "study")
    assert _contents(place) == before


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_study_is_looked_at_while_others_write(place: Path) -> None:
    with pb.open_study(place / "study", SPACE, EPOCHS) as study:
        for trials in range(1, 6):
            tell_some(study, 1)
            assert (check(place / "study").sound, check(place / "study").trials) == (True, trials)
            tell_some(study, 0)
        assert study.ask().id == 5


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux shows locks")
def test_looking_leaves_the_locks_of_this_process_alone(place: Path) -> None:
    """To close a file is to lose all locks on it, whoever of this process has taken them."""

    def locked() -> bool:
        return f":{(place / 'study.db').stat().st_ino} " in Path("/proc/locks").read_text()

    with pb.open_study(place, SPACE, EPOCHS) as study:
        tell_some(study, 2)
        assert locked()
        assert check(place).sound
        assert locked()


def test_missing_records_are_named_by_their_numbers(genuine: list[Row], place: Path) -> None:
    left = [row for row in genuine if row.seq not in (5, 17, 18, 19)]
    folder = write_rows(place / "study", left, end(genuine))
    assert said(folder) == ["record 5 is missing", "records 17 to 19 are missing"]
    assert check(folder).records == len(genuine) - 4


def test_records_missing_at_the_end_are_known_from_the_head(
    genuine: list[Row], place: Path
) -> None:
    folder = write_rows(place / "study", genuine[:-3], end(genuine))
    last = genuine[-1].seq
    assert said(folder) == [f"records {last - 2} to {last} are missing"]


def test_each_changed_record_is_named_and_none_that_follows(
    genuine: list[Row], place: Path
) -> None:
    found = list(genuine)
    for at in (6, 7, 20):
        found[at] = found[at]._replace(worker="somebody")
    folder = write_rows(place / "study", found, end(genuine))
    assert said(folder) == [f"record {n} is not what was written" for n in (7, 8, 21)]


@pytest.mark.parametrize("at", [0, 6, -1])
def test_a_changed_seal_alone_costs_no_record(genuine: list[Row], place: Path, at: int) -> None:
    found = list(genuine)
    found[at] = found[at]._replace(seal=found[at].seal ^ 1)
    folder = write_rows(place / "study", found, end(genuine))
    [finding] = said(folder)
    assert finding.startswith(f"record {found[at].seq} has another checksum")
    assert check(folder).records == len(genuine)


def test_a_changed_number_is_found(genuine: list[Row], place: Path) -> None:
    found = [*genuine[:9], genuine[9]._replace(seq=10**9), *genuine[10:]]
    folder = write_rows(place / "study", found, end(genuine))
    assert said(folder) == ["record 10 is missing", f"record {10**9} is not what was written"]
    folder = write_rows(place / "other", [genuine[9]._replace(seq=-3), *genuine], end(genuine))
    assert said(folder) == ["record -3 has a number that no record has"]


def test_another_end_than_the_head_says_is_found(genuine: list[Row], place: Path) -> None:
    found = resealed([*genuine[:-1], genuine[-1]._replace(worker="somebody")])
    folder = write_rows(place / "study", found, end(genuine))
    assert said(folder) == [f"study.head says that record {found[-1].seq} was another one"]


def test_a_head_that_lags_behind_is_no_damage(genuine: list[Row], place: Path) -> None:
    folder = write_rows(place / "study", genuine, end(genuine[:-5]))
    assert check(folder).sound
    assert events(folder)


def test_records_of_wrong_types_are_named_once(genuine: list[Row], place: Path) -> None:
    found: list[Any] = list(genuine)
    found[4] = found[4]._replace(worker=b"bytes")
    folder = write_rows(place / "study", found, end(genuine))
    assert said(folder) == ["record 5 has a column of the wrong type"]


def test_leases_of_wrong_types_are_named(shapes: Shapes, place: Path) -> None:
    shutil.copytree(shapes.closed, place / "study")
    _run(place / "study", "UPDATE lease SET until = 'soon' WHERE trial = 20")
    assert said(place / "study") == ["lease of trial 20 has a column of the wrong type"]


def _run(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "study.db")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        ("PRAGMA application_id = 7", "study.db has the application id 0x7"),
        ("PRAGMA user_version = 5", "study.db has format 5"),
        ("PRAGMA user_version = 2", "record 1 (created) has format 1, but the storage says 2"),
        ("CREATE TABLE more (x)", "study.db has other tables than a study"),
        ("DROP TABLE lease", "study.db has other tables than a study"),
        ("CREATE INDEX found ON record (trial)", "study.db has other tables than a study"),
    ],
)
def test_what_the_database_says_of_itself_is_looked_at(
    shapes: Shapes, place: Path, statement: str, finding: str
) -> None:
    shutil.copytree(shapes.closed, place / "study")
    _run(place / "study", statement)
    assert said(place / "study")[0].startswith(finding)
    assert check(place / "study").records == shapes.records


@pytest.mark.parametrize("name", ["study.lock", "trials", "trials/3", "trials/3/1"])
def test_links_are_found(shapes: Shapes, place: Path, name: str) -> None:
    shutil.copytree(shapes.closed, place / "study")
    path = place / "study" / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(place)
    assert said(place / "study") == [f"{name} is a link, which is never followed"]
    path.unlink()
    os.mkfifo(path)
    assert said(place / "study") == [f"{name} is neither a file nor a folder"]


@pytest.mark.parametrize("name", ["study.db", "study.head", "study.db-wal"])
def test_a_linked_database_is_not_read(shapes: Shapes, place: Path, name: str) -> None:
    shutil.copytree(shapes.copied, place / "study")
    shutil.move(place / "study" / name, place / "elsewhere")
    (place / "study" / name).symlink_to(place / "elsewhere")
    inspected = check(place / "study")
    assert inspected.records == 0
    assert [str(finding) for finding in inspected.findings] == [
        f"{name} is a link, which is never followed"
    ]


def test_where_there_is_no_study_it_says_so(place: Path) -> None:
    for folder in ("nothing", "empty", "begun"):
        if folder != "nothing":
            (place / folder).mkdir()
        if folder == "begun":
            from priorband.storage.sqlite import SqliteJournal

            with closing(SqliteJournal(place / folder)) as journal:
                journal.prepare()
        with pytest.raises(pb.errors.FormatError, match="There is no study"):
            check(place / folder)


class Standing:
    """A sampler that this library does not have."""

    def sample(self, state: pb.State, rung: int, rng: object) -> pb.samplers.Draw:
        return pb.samplers.Draw(pb.Config({"x": 0.5, "n": 2, "kind": "a"}), "standing")


def test_a_method_of_ones_own_is_no_damage(place: Path) -> None:
    method = pb.Optimizer(pb.schedulers.Hyperband(), Standing())
    with pb.open_study(place / "study", SPACE, EPOCHS, method) as study:
        tell_some(study, 4)
    assert check(place / "study").sound


def test_a_study_in_a_database_is_looked_at_likewise(postgres: Server) -> None:
    import psycopg

    url = fresh_url(postgres)
    with pb.open_study(url, SPACE, EPOCHS, folder="none") as study:
        tell_some(study, 4)
    assert check(url).sound and check(url).trials == 4
    assert postgres.password not in repr(check(url))
    table = '"priorband ' + url.partition("#")[2] + '".record'
    with psycopg.connect(url.partition("#")[0]) as connection:
        connection.execute(f"DELETE FROM {table} WHERE seq = 3")
        connection.execute(f"UPDATE {table} SET worker = 'me' WHERE seq = 6")
    assert said(url) == ["record 3 is missing", "record 6 is not what was written"]
    with pytest.raises(pb.errors.FormatError, match="There is no study"):
        check(fresh_url(postgres))
    with pytest.raises(pb.errors.StorageError, match="cannot be reached"):
        check("postgresql://nobody:secret@127.0.0.1:1/none")
