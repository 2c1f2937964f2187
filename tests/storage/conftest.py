"""What the tests of stored studies share."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.studies import Shapes, write_shapes


def _memory() -> Iterator[Path]:
    """A folder in memory where there is one: what is thrown away need not reach a disk."""
    shared = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None, prefix="priorband-"))
    yield place
    shutil.rmtree(place)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for one test."""
    yield from _memory()


@pytest.fixture(scope="session")
def shapes() -> Iterator[Shapes]:
    """One study as its files can lie there: closed, open, in the middle of a checkpoint."""
    for folder in _memory():
        yield write_shapes(folder)
