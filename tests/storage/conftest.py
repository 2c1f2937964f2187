"""Fixtures of the tests of storage."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import fresh_url

from priorband.storage.postgres import PostgresJournal
from priorband.storage.sqlite import SqliteJournal
from storage.journals import Journal, Open


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "study")
    return fresh_url(request.getfixturevalue("postgres"))


@pytest.fixture
def opened(where: str) -> Iterator[Open]:
    """A function that opens the study once more; all are closed in the end."""
    journals: list[Journal] = []

    def open_one() -> Journal:
        is_url = where.startswith("postgres")
        journals.append(PostgresJournal(where) if is_url else SqliteJournal(Path(where)))
        return journals[-1]

    open_one().prepare()
    yield open_one
    for journal in journals:
        journal.close()


@pytest.fixture
def journal(opened: Open) -> Journal:
    return opened()
