"""What the tests of stored studies share."""

import faulthandler
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from servers import fresh_url

from priorband.storage.postgres import PostgresJournal
from priorband.storage.sqlite import SqliteJournal
from storage.journals import Journal, Open
from storage.studies import Shapes, write_shapes


def _memory() -> Iterator[Path]:
    """A folder in memory where there is one: what is thrown away need not reach a disk."""
    shared = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None, prefix="priorband-"))
    yield place
    shutil.rmtree(place)


@pytest.fixture
def patience() -> Iterator[Callable[[], None]]:
    """A function to call before what may hang: a minute later the process says where, and ends."""
    yield lambda: faulthandler.dump_traceback_later(60, exit=True)
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for one test."""
    yield from _memory()


@pytest.fixture(scope="session")
def shapes() -> Iterator[Shapes]:
    """One study as its files can lie there: closed, open, in the middle of a checkpoint."""
    for folder in _memory():
        yield write_shapes(folder)


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
