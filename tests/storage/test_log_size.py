"""SQLite's write-ahead log, which must not grow without end while processes stay open."""

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from amounts import slow
from waiting import LONGEST

from priorband.storage import sqlite
from priorband.storage.journal import Beat
from priorband.storage.sqlite import _NEXT_COPY, LOG_GROWTH, LONG_LOG, SqliteJournal
from priorband.storage.sqlite_file import LOG_SIZE_LIMIT
from priorband.storage.wal_sync import WalSync
from storage.journals import hold, row, write

BODY = '{"text":"' + 50_000 * "x" + '"}'
ONE_COMMIT = 200_000  # bytes, more than one of these records takes in the log

APPEND = f"""
import sys
from priorband.durable.open import journal_at
from priorband.storage.journal import Row
from priorband.storage.sqlite import LONG_LOG
from priorband.storage.write_lock import WriteLock
due, write_note = [LONG_LOG], WriteLock.write_note
def write_and_keep_note(lock, note, place):
    write_note(lock, note, place)
    if place == {_NEXT_COPY}:
        due.append(int(note.split()[1]))
WriteLock.write_note = write_and_keep_note
journal, known = journal_at(sys.argv[1]), [0]
def take(rows):
    known.extend(row.seq for row in rows)
for number in range(int(sys.argv[2])):
    with journal.transaction(known[-1], take) as transaction:
        take(transaction.rows)
        next = known[-1] + 1
        transaction.append(Row(next, "remark", number, "me", transaction.now, {BODY!r}, 0))
    known.append(next)
journal.close()
print(max(due))
"""
READ = """
import os, sys
from priorband.durable.open import journal_at
journal = journal_at(sys.argv[1], read_only=True)
last = 0
while not os.path.exists(sys.argv[2]):
    rows = journal.read(max(last - 20, 0))
    last = rows[-1].seq if rows else last
journal.close()
"""


@pytest.fixture
def journal(place: Path) -> Iterator[SqliteJournal]:
    with closing(SqliteJournal(place)) as journal:
        journal.prepare()
        yield journal


def log_size(journal: SqliteJournal) -> int:
    return (journal.folder / "study.db-wal").stat().st_size


def append(journal: SqliteJournal, first: int, last: int) -> int:
    """Write long records; the largest size of the log meanwhile."""
    largest = 0
    for number in range(first, last + 1):
        with journal.transaction(number - 1) as transaction:
            transaction.append(row(number)._replace(body=BODY))
        largest = max(largest, log_size(journal))
    return largest


def test_the_log_of_one_process_is_bounded(journal: SqliteJournal) -> None:
    assert LONG_LOG <= append(journal, 1, 300) < LONG_LOG + ONE_COMMIT
    assert (journal.folder / "study.db").stat().st_size > 8_000_000
    assert len(journal.read(0)) == 300


def test_a_log_that_a_reader_held_up_shrinks_again(journal: SqliteJournal) -> None:
    with closing(SqliteJournal(journal.folder)) as reader:
        write(journal, row(1), row(2))
        with reading(reader):
            assert append(journal, 3, 200) > LOG_SIZE_LIMIT
        append(journal, 201, 300)
        assert log_size(journal) <= LOG_SIZE_LIMIT
        assert len(reader.read(0)) == 300


def test_renewals_of_leases_do_not_make_the_log_grow(
    journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LONG_LOG", 100_000)
    hold(journal, 1)
    for number in range(100):
        assert journal.beat("me", [Beat(1, 1, number, 0.5)], LONGEST) == {1}
        assert log_size(journal) < 110_000
    [lease] = journal.leases()
    assert lease.step == 99


def test_renewals_leave_the_log_to_a_process_that_writes(
    journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LONG_LOG", 100_000)
    hold(journal, 1)
    with closing(SqliteJournal(journal.folder)) as other, other._write_lock.acquire():
        for _ in range(40):
            assert journal.beat("me", [Beat(1, 1)], LONGEST) == {1}
    assert log_size(journal) > 110_000
    journal.beat("me", [Beat(1, 1)], LONGEST)
    size = log_size(journal)
    journal.beat("me", [Beat(1, 1)], LONGEST)
    assert log_size(journal) == size  # it begins from scratch


def reading(journal: SqliteJournal) -> closing[sqlite3.Cursor]:
    """A process in the middle of reading, in the log as it is now."""
    rows = journal._connection("read").execute("SELECT * FROM record, record AS other")
    rows.fetchone()
    return closing(rows)


def test_what_a_reader_held_up_is_tried_again_when_the_log_has_grown_by_a_fifth(
    journal: SqliteJournal,
) -> None:
    tried = list[str]()
    write(journal, row(1), row(2))
    with (
        closing(SqliteJournal(journal.folder)) as other,
        closing(SqliteJournal(journal.folder)) as reader,
    ):
        with reading(reader):
            last = append_until_longer(journal, 2, LONG_LOG)
            other._connection("write, sync later").set_trace_callback(tried.append)
            last = append_until_longer(other, last, int(LOG_GROWTH * LONG_LOG) - ONE_COMMIT)
            assert not copies(tried)  # one process has tried it for all
            append(other, last + 1, last + 10)
            assert len(copies(tried)) == 1
        append(other, last + 11, last + 50)
        assert len(copies(tried)) == 2
        assert log_size(journal) == LOG_SIZE_LIMIT
        assert len(reader.read(0)) == last + 50


def append_until_longer(journal: SqliteJournal, last: int, size: int) -> int:
    """Write long records until the log has more than `size` bytes; the number of the last one."""
    while log_size(journal) <= size:
        last += 1
        append(journal, last, last)
    return last


def copies(statements: list[str]) -> list[str]:
    return [statement for statement in statements if "wal_checkpoint" in statement]


def test_a_log_that_another_process_has_copied_is_copied_at_its_usual_length_again(
    journal: SqliteJournal,
) -> None:
    write(journal, row(1), row(2))
    with closing(SqliteJournal(journal.folder)) as other:
        with reading(other):
            last = append_until_longer(journal, 2, LONG_LOG)  # and it cannot be copied back
        append(other, last + 1, last + 50)
        last += 50
    with closing(WalSync(journal.folder)) as log:
        for number in range(last + 1, last + 151):
            append(journal, number, number)
            assert not log.longer_than(LONG_LOG + ONE_COMMIT)


@slow
def test_the_log_of_many_processes_is_bounded(journal: SqliteJournal) -> None:
    """By the length at which it is copied back: `LONG_LOG`, or more if readers held it up."""
    enough, largest = journal.folder / "enough", 0
    assert journal.read(0) == []  # it creates the log
    with ExitStack() as running:

        def started(code: str, word: str) -> subprocess.Popen[str]:
            command = [sys.executable, "-c", code, str(journal.folder), word]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            return running.enter_context(process)

        readers = [started(READ, str(enough)) for _ in range(2)]
        writers = [started(APPEND, "100") for _ in range(3)]
        running.callback(enough.touch)
        while any(writer.poll() is None for writer in writers):
            largest = max(largest, log_size(journal))
            time.sleep(0.002)
        enough.touch()
        said = [process.communicate(timeout=LONGEST)[0] for process in writers + readers]
        assert [process.returncode for process in writers + readers] == [0] * 5
    assert len(journal.read(0)) == 300
    assert LONG_LOG < largest < max(map(int, said[:3])) + ONE_COMMIT
    append(journal, 301, 400)
    assert log_size(journal) <= LOG_SIZE_LIMIT
