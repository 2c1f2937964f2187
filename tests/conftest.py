"""What several tests share."""

from collections.abc import Callable, Iterator

import pytest
from servers import Server, lacking


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
