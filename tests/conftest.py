"""Fixtures that several folders of tests share."""

import faulthandler
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from servers import Server, lacking
from stored_studies import Shapes, write_shapes


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One PostgreSQL server for all tests of a process that do not harm it."""
    yield from _server()


@pytest.fixture
def new_postgres() -> Iterator[Callable[[], Server]]:
    """A function that starts a PostgreSQL server that a test may kill."""
    servers: list[Iterator[Server]] = []

    def started() -> Server:
        servers.append(_server())
        return next(servers[-1])

    yield started
    for server in servers:
        next(server, None)


def _server() -> Iterator[Server]:
    if reason := lacking():
        pytest.skip(reason)
    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.close()


def _memory() -> Iterator[Path]:
    """A folder in memory where there is one: what is thrown away need not reach a disk."""
    shared = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None, prefix="priorband-"))
    yield place
    shutil.rmtree(place)


@pytest.fixture
def patience() -> Iterator[Callable[[], None]]:
    """A function to call before what may hang: minutes later the process says where, and ends."""
    yield lambda: faulthandler.dump_traceback_later(300, exit=True)
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
