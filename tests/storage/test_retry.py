"""Errors of PostgreSQL for which waiting does not help are raised at once."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from servers import Server, free_port, fresh_url
from stored_studies import EPOCHS, SPACE

import priorband as pb
from priorband.cli.entry_point import main
from priorband.errors import StorageError
from priorband.storage.retry import is_permanent
from priorband.workers.open_with_retry import open_with_retry

psycopg = pytest.importorskip("psycopg")

REFUSED: dict[str, Callable[[Server], str]] = {
    "a wrong password": lambda server: server.url().replace(server.password, "other"),
    "no password": lambda server: server.url().replace(f":{server.password}", ""),
    "a user that does not exist": lambda server: server.url().replace("postgres:", "nobody:"),
    "a database that does not exist": lambda server: server.url("nothing"),
    "an option that is not valid": lambda server: f"{server.url()}?sslmode=sometimes",
    "encryption that the server lacks": lambda server: f"{server.url()}?sslmode=require",
    "a service that does not exist": lambda server: f"{server.url()}?service=nothing",
}


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("priorband.workers.open_with_retry.PAUSE", 0.01)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", "/dev/null")


def never(text: str) -> None:
    raise AssertionError(f"it waits: {text}")


@pytest.mark.parametrize("what", REFUSED)
def test_a_connection_that_is_refused_is_not_waited_for(postgres: Server, what: str) -> None:
    opening = {"where": f"{REFUSED[what](postgres)}#study"}
    with pytest.raises(StorageError) as raised:
        open_with_retry(opening, never, patience=600)
    assert is_permanent(raised.value)


def test_a_user_without_permission_does_not_wait(postgres: Server, tmp_path: Path) -> None:
    where = fresh_url(postgres)
    pb.open_study(where, SPACE, EPOCHS, folder=tmp_path / "f").close()
    with closing(psycopg.connect(postgres.url(), autocommit=True)) as connection:
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    try:
        guest = where.replace(f"postgres:{postgres.password}", "guest:guest")
        with pytest.raises(StorageError, match="denies permission"):
            open_with_retry({"where": guest}, never, patience=600)
    finally:
        with closing(psycopg.connect(postgres.url(), autocommit=True)) as connection:
            connection.execute("DROP ROLE guest")


class Waiting(Exception):
    """Raised in place of waiting."""


def test_a_server_that_is_down_is_waited_for(postgres: Server) -> None:
    def wait(text: str) -> None:
        raise Waiting(text)

    nobody = postgres.url().replace(f":{postgres.port}/", f":{free_port()}/")
    both = nobody.removesuffix("/postgres") + f",127.0.0.1:{postgres.port}/postgres"
    for where in (nobody, both.replace(postgres.password, "other")):
        with pytest.raises(Waiting, match="Waiting for it to respond"):
            open_with_retry({"where": where}, wait, patience=600)


def test_a_command_with_a_wrong_password_ends_at_once(
    postgres: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    where = REFUSED["a wrong password"](postgres)
    assert main(["worker", where, "--objective", "operator:itemgetter"]) == 4
    assert "Waiting" not in capsys.readouterr().err
