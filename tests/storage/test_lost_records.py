"""A PostgreSQL server that has lost records: restored from a backup, or after a crash."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from servers import Server, fresh_url
from stored_studies import EPOCHS, SPACE

import priorband as pb
from priorband.durable.open import journal_at
from priorband.errors import StorageError
from priorband.repair.check import check
from priorband.storage.journal import StaleError
from storage.journals import row

psycopg = pytest.importorskip("psycopg")
CONFIG = {"x": 0.5, "n": 2, "kind": "a"}


@pytest.fixture
def where(postgres: Server) -> str:
    return fresh_url(postgres)


@pytest.fixture
def study(where: str, tmp_path: Path) -> Iterator[pb.DurableStudy]:
    """A study with three results and a running trial: records 1 to 8."""
    with pb.open_study(where, SPACE, EPOCHS, folder=tmp_path / "f", patience=0) as opened:
        for loss in (0.3, 0.2, 0.1):
            opened.tell(opened.ask(), loss)
        opened.ask()
        assert opened.ledger.seq == 8
        yield opened


def lose(where: str, after: int) -> list[Any]:
    """Delete the records after one, as if they had never been written; what was deleted."""
    url, _, name = where.partition("#")
    query = f'DELETE FROM "priorband {name}".record WHERE seq > {after} RETURNING *'
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        deleted: list[Any] = connection.execute(query).fetchall()
        return deleted


def bring_back(where: str, records: list[Any]) -> None:
    url, _, name = where.partition("#")
    values = "%s, %s, %s, %s, %s, %s, %s"
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        for record in records:
            query = f'INSERT INTO "priorband {name}".record VALUES ({values})'
            connection.execute(query, record)


def drop(where: str) -> None:
    url, _, name = where.partition("#")
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute(f'DROP SCHEMA "priorband {name}" CASCADE')


def test_a_study_from_an_older_backup_is_not_written_to(where: str, study: pb.DurableStudy) -> None:
    lost = lose(where, 5)
    for call in (lambda: study.tell(3, 0.5), study.ask, lambda: study.queue(CONFIG)):
        with pytest.raises(StorageError, match="record 8, which was on its disk, is not there"):
            call()
    assert check(where).sound, "nothing was written after a gap"
    with pb.open_study(where, patience=0) as other:
        assert len(other.state.history) == 2
    bring_back(where, lost)
    assert study.tell(3, 0.5)
    assert study.replay().exact


def test_another_study_of_the_same_name_is_left_alone(
    where: str, study: pb.DurableStudy, tmp_path: Path
) -> None:
    drop(where)
    with pb.open_study(where, SPACE, EPOCHS, seed=1, folder=tmp_path / "g") as other:
        for _ in range(9):
            other.tell(other.ask(), 0.5)
    for call in (lambda: study.tell(3, 0.25), study.ask, study.refresh):
        with pytest.raises(StorageError, match="or is another study by now"):
            call()
    assert check(where).sound
    with pb.open_study(where) as other:
        assert len(other.state.history) == 9


def test_records_that_another_had_not_synced_are_forgotten(
    where: str, study: pb.DurableStudy
) -> None:
    with pb.open_study(where, patience=600) as other:
        other.ask(hold=100)
        study.tell(3, 0.5)
        other.refresh()
        assert other.ledger.seq == 10
        lose(where, 9)
        other.queue(CONFIG)
        assert other.ledger.seq == 10 and other.replay().exact
    assert check(where).sound


def test_a_reader_notices_that_records_were_replaced(where: str, study: pb.DurableStudy) -> None:
    with pb.open_study(where, read_only=True) as reader:
        assert reader.ledger.seq == 8
        study.close()
        lose(where, 7)
        with pb.open_study(where) as other:
            for _ in range(3):
                other.queue(CONFIG)
        reader.refresh()
        assert reader.ledger.seq == 10
        assert check(where).sound


def test_a_journal_says_whether_what_was_acknowledged_is_lost(where: str) -> None:
    with closing(journal_at(where)) as journal, closing(journal_at(where)) as other:
        journal.prepare()
        with journal.transaction(0) as transaction:
            transaction.append(row(1))
        with other.transaction(1) as transaction:
            transaction.append(row(2))
        assert [one.seq for one in journal.read(1)] == [2]
        lose(where, 1)
        with pytest.raises(StaleError), journal.transaction(2):
            pass
        with pytest.raises(StaleError):
            journal.read(2)
        with pytest.raises(StorageError, match="record 2, which was on its disk"):
            other.read(2)
        assert [one.seq for one in journal.read(0)] == [1]
        with journal.transaction(1) as transaction:
            assert transaction.rows == []
