"""What is particular to studies in PostgreSQL: the queue, the connection, the sync, PgBouncer."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from amounts import slow
from servers import Pooler, Server, fresh_url, lacking_pooler
from waiting import LONGEST, wait_until

import priorband as pb
from priorband.storage import postgres as postgres_module
from priorband.storage.journal import Beat, Row
from priorband.storage.postgres import PostgresJournal
from storage.journals import hold, lease, row, write
from storage.test_journals import APPEND

psycopg = pytest.importorskip("psycopg")
MADE = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'priorband'"
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture
def journals(postgres: Server) -> Iterator[Callable[[], PostgresJournal]]:
    """A function that opens one study again and again."""
    where = fresh_url(postgres)
    opened: list[PostgresJournal] = []

    def open_one() -> PostgresJournal:
        opened.append(PostgresJournal(where))
        return opened[-1]

    open_one().prepare()
    opened[0].close()
    yield open_one
    for journal in opened:
        journal.close()


def count(journal: PostgresJournal, query: str) -> int:
    """A number that the server says."""
    with closing(psycopg.connect(journal._url, autocommit=True)) as connection:
        return int(connection.execute(query).fetchone()[0])


def _wait_for_queue(journal: PostgresJournal, length: int) -> None:
    wait_until(lambda: count(journal, WAITING) == length, f"{length} writers in the queue")


def append(journal: PostgresJournal, worker: str, order: list[str]) -> None:
    """Write one record after all others, and note who wrote."""
    seen: list[Row] = []
    with journal.transaction(0, seen.extend) as transaction:
        order.append(worker)
        transaction.append(row(len(seen + transaction.rows) + 1, worker=worker))


def test_a_process_needs_one_connection(journals: Callable[[], PostgresJournal]) -> None:
    journal = journals()
    before = count(journal, MADE)
    write(journal, row(1))
    hold(journal, 1)
    beating = threading.Thread(target=journal.beat, args=("me", [Beat(1, 1)], LONGEST))
    beating.start()
    beating.join(LONGEST)
    assert journal.read(0) == [row(1)] and count(journal, MADE) == before + 1


def test_all_writers_that_queue_are_served(
    journals: Callable[[], PostgresJournal],
) -> None:
    order: list[str] = []
    first, names = journals(), ("a", "b", "c", "d", "e")
    threads = []
    with first.transaction(0) as transaction:
        for number, name in enumerate(names, start=1):
            threads.append(threading.Thread(target=append, args=(journals(), name, order)))
            threads[-1].start()
            _wait_for_queue(first, number)
        transaction.append(row(1))
    for thread in threads:
        thread.join(LONGEST)
    assert sorted(order) == list(names)
    assert [one.worker for one in first.read(1)] == order


def test_who_is_next_catches_up_while_another_writes(
    journals: Callable[[], PostgresJournal],
) -> None:
    writer, other = journals(), journals()
    write(writer, row(1), row(2), row(3))
    meanwhile: list[Row] = []
    left: list[list[Row]] = []

    def wait_and_write() -> None:
        with other.transaction(1, meanwhile.extend) as transaction:
            left.append(transaction.rows)

    thread = threading.Thread(target=wait_and_write)
    with writer.transaction(3) as transaction:
        thread.start()
        wait_until(lambda: meanwhile, "the next writer to catch up")
        _wait_for_queue(writer, 1)
        transaction.append(row(4))
    thread.join(LONGEST)
    assert meanwhile == [row(2), row(3)] and left == [[row(4)]]


def test_leases_are_renewed_while_another_thread_waits_for_the_write_lock(
    journals: Callable[[], PostgresJournal],
) -> None:
    holder, waiting = journals(), journals()
    with waiting.transaction(0) as transaction:
        transaction.write_lease(lease(transaction, 1)._replace(seconds=0.4))
    thread = threading.Thread(target=append, args=(waiting, "late", []))
    with holder.transaction(0) as transaction:
        thread.start()
        _wait_for_queue(holder, 1)
        for _ in range(3):
            assert waiting.beat("me", [Beat(1, 1)], LONGEST) == {1}
        assert thread.is_alive()
        transaction.append(row(1))
    thread.join(LONGEST)
    assert [one.worker for one in holder.read(1)] == ["late"]


def test_a_long_wait_is_reported(
    journals: Callable[[], PostgresJournal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_module, "LONGEST_WAIT", 0.05)
    monkeypatch.setattr(postgres_module, "LONG_WAIT", 0.1)
    holder, waiting = journals(), journals()
    said: list[str] = []
    waiting.say = said.append
    thread = threading.Thread(target=append, args=(waiting, "late", []))
    with holder.transaction(0) as transaction:
        thread.start()
        wait_until(lambda: said, "a message")
        transaction.append(row(1))
    thread.join(LONGEST)
    assert len(said) == 1 and "the write lock was not free for" in said[0]
    assert [one.worker for one in holder.read(1)] == ["late"]


@slow
def test_what_is_acknowledged_survives_a_crash_of_the_server(
    new_postgres: Callable[..., Server],
) -> None:
    server = new_postgres(wal_writer_delay="10s", wal_writer_flush_after="1GB")
    with closing(PostgresJournal(fresh_url(server))) as journal:
        journal.prepare()
        for number in range(1, 30):  # the first ones wake the server's own writer
            write(journal, row(number))
        server.kill()
        server.start()
        with pytest.raises(pb.errors.StorageError):
            journal.read(0)
        assert journal.read(0) == [row(number) for number in range(1, 30)]


@slow
def test_what_another_has_not_synced_yet_is_synced_before_it_is_confirmed(
    new_postgres: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = new_postgres(wal_writer_delay="10s", wal_writer_flush_after="1GB")
    with closing(PostgresJournal(fresh_url(server))) as journal:
        journal.prepare()
        with monkeypatch.context() as patch:
            patch.setattr(postgres_module, "_SYNC", "SELECT 1")
            for number in range(1, 30):
                write(journal, row(number))
        with journal.transaction(29) as transaction:
            transaction.confirmed = True
        server.kill()
        server.start()
        with pytest.raises(pb.errors.StorageError):
            journal.read(0)
        assert len(journal.read(0)) == 29


def test_a_server_without_connections_says_what_to_do(
    new_postgres: Callable[..., Server],
) -> None:
    server = new_postgres(max_connections=4, superuser_reserved_connections=0)
    with ExitStack() as taken:
        for _ in range(4):
            taken.enter_context(closing(psycopg.connect(server.url())))
        with pytest.raises(pb.errors.StorageError) as caught:
            PostgresJournal(fresh_url(server)).exists()
    for word in ("max_connections", "PgBouncer", "fewer workers"):
        assert word in str(caught.value)


@pytest.fixture
def pooler(postgres: Server) -> Iterator[Callable[[str, int], Pooler]]:
    """A function that starts PgBouncer in a mode, with a number of connections to the server."""
    if reason := lacking_pooler():
        pytest.skip(reason)
    started: list[Pooler] = []

    def start(mode: str, connections: int) -> Pooler:
        started.append(Pooler(postgres, mode, connections))
        return started[-1]

    yield start
    for one in started:
        one.close()


@slow
@pytest.mark.parametrize("connections", [1, 3])
def test_more_workers_than_connections_work_through_a_pooler(
    pooler: Callable[[str, int], Pooler], connections: int
) -> None:
    where, times, names = fresh_url(pooler("transaction", connections)), 10, "abcdef"
    with closing(PostgresJournal(where)) as journal, ExitStack() as running:
        journal.prepare()
        hold(journal, 1)
        processes = [
            running.enter_context(
                subprocess.Popen([sys.executable, "-c", APPEND, where, name, str(times)])
            )
            for name in names
        ]
        assert journal.beat("me", [Beat(1, 1)], LONGEST) == {1}
        assert [process.wait(LONGEST) for process in processes] == [0] * len(names)
        found = journal.read(0)
        assert [one.seq for one in found] == [*range(1, len(names) * times + 1)]
        assert sorted({one.worker for one in found}) == [*names]


def test_nothing_is_left_behind_in_a_pooled_connection(
    pooler: Callable[[str, int], Pooler], monkeypatch: pytest.MonkeyPatch
) -> None:
    where = fresh_url(pooler("transaction", 1))
    names = ("lock_timeout", "idle_in_transaction_session_timeout", "synchronous_commit")
    with closing(PostgresJournal(where)) as journal, closing(PostgresJournal(where)) as other:
        journal.prepare()
        usual = [journal._run(f"SHOW {name}") for name in names]
        write(journal, row(1))
        hold(journal, 1)
        with pytest.raises(KeyboardInterrupt), journal.transaction(1):
            raise KeyboardInterrupt
        assert [other._run(f"SHOW {name}") for name in names] == usual
        assert other._run("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [(0,)]


FROZEN = """
import os, signal, sys
from priorband.durable.open import journal_at
journal = journal_at(sys.argv[1])
with journal.transaction(0):
    print("holds the lock", flush=True)
    signal.pause()
"""


def test_a_client_of_a_pooler_that_is_killed_gives_the_lock_back(
    pooler: Callable[[str, int], Pooler],
) -> None:
    where = fresh_url(pooler("transaction", 2))
    with closing(PostgresJournal(where)) as journal:
        journal.prepare()
        command = [sys.executable, "-c", FROZEN, where]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None and holder.stdout.readline()
            os.kill(holder.pid, signal.SIGKILL)
        write(journal, row(1))
        assert journal.read(0) == [row(1)]


def test_a_pooler_in_statement_mode_is_refused(pooler: Callable[[str, int], Pooler]) -> None:
    where = fresh_url(pooler("statement", 1))
    with pytest.raises(pb.errors.FormatError, match="pool_mode = transaction"):
        pb.open_study(where, pb.Space({"x": pb.Float(0, 1)}), method="random")
