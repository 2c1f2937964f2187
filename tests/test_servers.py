"""The servers that other tests rely on: they start, survive a kill, and leave nothing behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from servers import Server, fresh_url
from waiting import wait_until

psycopg = pytest.importorskip("psycopg")

KILLED_WHILE_IT_SERVES = """
import os, signal
from servers import Server
server = Server()
server.start()
print(server.url(), server.folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def numbers(server: Server) -> list[int]:
    """What the table `kept` holds."""
    with psycopg.connect(server.url()) as connection:
        return [row[0] for row in connection.execute("SELECT x FROM kept ORDER BY x")]


def test_a_server_answers_and_is_as_careful_as_a_real_one(postgres: Server) -> None:
    with psycopg.connect(postgres.url()) as connection:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            assert connection.execute(f"SHOW {name}").fetchone() == ("on",)


def test_a_server_listens_on_this_machine_only_and_asks_for_the_password(postgres: Server) -> None:
    with psycopg.connect(postgres.url()) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("127.0.0.1",)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres.url().replace(postgres.password, "wrong"))


def test_each_fresh_url_names_another_study(postgres: Server) -> None:
    urls = [urlsplit(fresh_url(postgres)) for _ in range(100)]
    assert len({url.fragment for url in urls}) == 100
    assert {url._replace(fragment="").geturl() for url in urls} == {postgres.url()}


def test_what_was_committed_is_there_after_a_kill_and_a_restart(
    new_postgres: Callable[[], Server],
) -> None:
    server = new_postgres()
    with psycopg.connect(server.url(), autocommit=True) as writer:
        writer.execute("CREATE TABLE kept (x integer)")
        writer.execute("INSERT INTO kept SELECT generate_series(1, 1000)")
        with closing(psycopg.connect(server.url())) as unfinished:
            unfinished.execute("INSERT INTO kept VALUES (0)")
            killed = server.pid
            server.kill()
            assert not server.pid
            with pytest.raises(psycopg.OperationalError):
                unfinished.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.url())
    server.restart()
    assert server.pid not in (0, killed)
    assert numbers(server) == list(range(1, 1001))
    server.stop()
    server.restart()
    assert len(numbers(server)) == 1000


def test_a_busy_server_can_be_killed_and_restarted(new_postgres: Callable[[], Server]) -> None:
    server = new_postgres()
    with closing(psycopg.connect(server.url())) as busy:
        busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 1000000000)")
        server.kill()
        server.start()
    with psycopg.connect(server.url()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_server_ends_and_its_folder_goes_when_the_tests_are_killed(postgres: Server) -> None:
    tests = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", KILLED_WHILE_IT_SERVES]
    done = subprocess.run(command, env=tests, stdout=subprocess.PIPE, text=True)
    assert done.returncode == -signal.SIGKILL
    url, folder = done.stdout.split()
    wait_until(lambda: not Path(folder).exists(), "the server's folder to go")
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(url)
