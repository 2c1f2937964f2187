"""Fixtures that several folders of tests share."""

import faulthandler
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsers import address as address
from browsers import browser as browser
from browsers import open_page as open_page
from browsers import runs as runs
from browsers import serve as serve
from browsers import skip_without_browser
from browsers import study_at as study_at
from hypothesis import settings
from servers import MemoryServer, Server, lacking, memory_folder
from stored_studies import Shapes, write_shapes

settings.register_profile("full", deadline=None, derandomize=True, database=None)
settings.register_profile("everyday", settings.get_profile("full"), max_examples=25)


def pytest_configure(config: pytest.Config) -> None:
    """Let Hypothesis try fewer examples in the everyday part, and processes hear Ctrl-C.

    A shell lets what it runs in the background ignore SIGINT, and with it all that this starts.
    The folders of everyday tests are in memory, so that they do not wait for a disk.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    everyday = config.option.markexpr == "not slow"
    settings.load_profile("everyday" if everyday else "full")
    if everyday and memory_folder():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", memory_folder())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count Hypothesis's tests among the slow ones, too: there they try all examples."""
    skip_without_browser(items)
    if config.option.markexpr == "slow":
        for item in items:
            if hasattr(getattr(item, "obj", None), "hypothesis"):
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One PostgreSQL server for all tests of a process that do not harm it."""
    yield from _server()


@pytest.fixture
def new_postgres() -> Iterator[Callable[..., Server]]:
    """A function that starts a PostgreSQL server that a test may kill, with settings of its own."""
    servers: list[Iterator[Server]] = []

    def started(**settings: object) -> Server:
        servers.append(_server(**settings))
        return next(servers[-1])

    yield started
    for server in servers:
        next(server, None)


def _server(**settings: object) -> Iterator[Server]:
    if reason := lacking():
        pytest.skip(reason)
    server = MemoryServer(**settings)
    try:
        server.start()
        yield server
    finally:
        server.close()


def _memory() -> Iterator[Path]:
    """A folder in memory where there is one: what is thrown away need not reach a disk."""
    place = Path(tempfile.mkdtemp(dir=memory_folder() or None, prefix="priorband-"))
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
