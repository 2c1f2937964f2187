"""What a journal promises when connections, processes and other writers come to an end."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from servers import Server, fresh_url
from waiting import LONGEST

import priorband as pb
from priorband.storage import postgres as postgres_module
from priorband.storage import write_lock
from priorband.storage.journal import Beat
from priorband.storage.postgres import PostgresJournal
from priorband.storage.sqlite import SqliteJournal
from storage.journals import Journal, Open, hold, row, write


def test_what_is_closed_opens_again_by_itself(journal: Journal) -> None:
    write(journal, row(1))
    for number in range(2, 5):
        journal.close()
        journal.close()
        write(journal, row(number))
        journal.close()
        assert journal.read(number - 1) == [row(number)]
    journal.close()
    assert journal.beat("me", [Beat(1, 1)], LONGEST) == set()


def test_a_connection_that_is_cut_is_made_again(journal: Journal, opened: Open) -> None:
    write(journal, row(1))
    hold(journal, 1)
    journal.beat("me", [Beat(1, 1)], LONGEST)
    uses = tuple(journal._connections) if isinstance(journal, SqliteJournal) else ("all",)
    for use in uses:
        _cut(opened(), journal, use)
        assert _at_second_try(lambda: journal.read(0)) == [row(1)]
        assert _at_second_try(lambda: journal.beat("me", [Beat(1, 1)], LONGEST)) == {1}
        _at_second_try(lambda: hold(journal, 1))


def _cut(helper: Journal, journal: Journal, use: Any) -> None:
    if isinstance(journal, SqliteJournal):
        journal._connections[use].close()  # as it is when even rolling back has failed
    elif isinstance(helper, PostgresJournal):
        pid = journal._connection().info.backend_pid
        helper._run(f"SELECT pg_terminate_backend({pid}, 10000)")


def _connections(journal: Journal) -> set[int]:
    """The identities of a journal's connections."""
    if isinstance(journal, SqliteJournal):
        return {*map(id, journal._connections.values())}
    return {id(journal._link)}


def _at_second_try(work: Callable[[], object]) -> object:
    try:
        return work()
    except pb.errors.StorageError:
        return work()


def _append_as(journal: Journal, worker: str, times: int) -> None:
    known = [0]
    for _ in range(times):
        with journal.transaction(0, lambda rows: known.append(rows[-1].seq)) as transaction:
            last = transaction.rows[-1].seq if transaction.rows else known[-1]
            transaction.append(row(last + 1, worker=worker))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_connections_of_its_own(journal: Journal) -> None:
    write(journal, row(1))
    hold(journal, 1)
    journal.beat("me", [Beat(1, 1)], LONGEST)
    inherited = _connections(journal)
    child = os.fork()
    if not child:
        try:
            fine = journal.read(0)[:1] == [row(1)] and journal.beat(
                "me", [Beat(1, 1)], LONGEST
            ) == {1}
            _append_as(journal, "child", 20)
            own = _connections(journal)
            journal.close()
            os._exit(0 if fine and not own & inherited else 1)
        finally:
            os._exit(2)
    _append_as(journal, "parent", 20)  # at the same time
    assert os.waitpid(child, 0)[1] == 0
    found = journal.read(1)
    assert [one.seq for one in found] == [*range(2, 42)]
    assert sorted(one.worker for one in found) == ["child"] * 20 + ["parent"] * 20
    assert journal.beat("me", [Beat(1, 1)], LONGEST) == {1}
    assert _connections(journal) >= inherited


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_that_only_closes_does_no_harm(journal: Journal) -> None:
    write(journal, row(1))
    with journal.transaction(1) as transaction:
        child = os.fork()
        if not child:
            journal.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        transaction.append(row(2))
    assert journal.read(0) == [row(1), row(2)]


def test_a_writer_that_does_not_end_is_named(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = opened(), opened()
    with one.transaction(0) as transaction:
        with (
            monkeypatch.context() as impatient,
            pytest.raises(pb.errors.StorageError, match="is busy"),
        ):
            for module in (write_lock, postgres_module):
                impatient.setattr(module, "LOCK_TIMEOUT", 0.05)
            write(other, row(1))
        transaction.append(row(1))
    assert other.read(0) == [row(1)]
    write(other, row(2))


def test_a_study_that_was_upgraded_meanwhile_is_left_alone(journal: Journal) -> None:
    write(journal, row(1))
    if isinstance(journal, SqliteJournal):
        journal._connection("write").execute("PRAGMA user_version = 5")
    else:
        journal._run(f"COMMENT ON SCHEMA {journal._schema} IS 'priorband format 5'")
    with pytest.raises(pb.errors.FormatError, match="has format 5, this library reads up to 4"):
        write(journal, row(2))


def test_a_frozen_writer_is_cut_off_by_the_server(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = fresh_url(postgres)
    frozen, other = PostgresJournal(url), PostgresJournal(url)
    frozen.prepare()
    with monkeypatch.context() as patched:
        patched.setattr(postgres_module, "IDLE_TIMEOUT", 0.2)
        with pytest.raises(pb.errors.StorageError), frozen.transaction(0) as transaction:
            transaction.append(row(1, worker="frozen"))
            write(other, row(1))  # waits for as long as the other may be frozen
    assert other.read(0) == [row(1)] == frozen.read(0)
    frozen.close()
    other.close()
