"""Damage within PostgreSQL: named as such, and what the server can still read is saved."""

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from servers import Server, fresh_url
from stored_studies import EPOCHS, SPACE, alter_file, events, fill, numbers, tell_some

import priorband as pb
from priorband.repair.check import check
from priorband.repair.salvage import salvage

BLOCK = 8192


def test_a_block_that_cannot_be_read(new_postgres: Callable[[], Server], place: Path) -> None:
    server = new_postgres()
    url = fresh_url(server)
    schema = '"priorband ' + url.partition("#")[2] + '"'
    with pb.open_study(url, SPACE, EPOCHS, folder=place) as study:
        fill(study, 60)
        last = study.ledger.seq
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        found = connection.execute(f"SELECT pg_relation_filepath('{schema}.record')").fetchone()
    assert found
    server.stop()

    def spoil(data: bytearray) -> None:
        assert len(data) >= 3 * BLOCK
        data[BLOCK : BLOCK + 40] = b"\xff" * 40

    alter_file(server.data / found[0], spoil)
    server.start()
    with pytest.raises(pb.errors.DamagedError, match="priorband journal salvage") as caught:
        events(url)
    assert server.password not in str(caught.value)
    inspected = check(url)
    assert 0 < inspected.records < last
    assert "invalid page" in str(inspected.findings[0])
    made = salvage(url, place / "new")
    assert made.kept + len(numbers(made)) == last
    with pb.open_study(place / "new") as study:
        assert study.replay().exact
        tell_some(study, 2)


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        ("COMMENT ON SCHEMA {} IS 'priorband format 5'", "instead of 'priorband format 1'"),
        ("COMMENT ON SCHEMA {} IS 'priorband format 2'", "record 1 (created) has format 1, but"),
        ("COMMENT ON SCHEMA {} IS NULL", "instead of 'priorband format 1'"),
        ("ALTER TABLE {}.record ADD COLUMN more TEXT", "other tables"),
        ("DROP TABLE {}.lease", "other tables"),
    ],
)
def test_what_the_database_says_of_a_study_is_looked_at(
    postgres: Server, place: Path, statement: str, finding: str
) -> None:
    url = fresh_url(postgres)
    with pb.open_study(url, SPACE, EPOCHS, folder=place) as study:
        tell_some(study, 2)
    with psycopg.connect(postgres.url()) as connection:
        schema = '"priorband ' + url.partition("#")[2] + '"'
        connection.execute(statement.format(schema).encode())
    assert finding in str(check(url).findings[0])
