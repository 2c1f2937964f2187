"""What a journal promises, whichever storage it is in."""

import subprocess
import sys
import threading
from contextlib import ExitStack

import pytest
from waiting import LONGEST

import priorband as pb
from priorband.storage.journal import Beat, Row
from storage.journals import Journal, Open, hold, lease, row, write

APPEND = """
import sys
from priorband.durable.open import journal_at
from priorband.storage.journal import Row
journal, known = journal_at(sys.argv[1]), [0]
def take(rows):
    known.extend(row.seq for row in rows)
for number in range(int(sys.argv[3])):
    with journal.transaction(known[-1], take) as transaction:
        take(transaction.rows)
        next = known[-1] + 1
        transaction.append(Row(next, "remark", number, sys.argv[2], transaction.now, "{}", 0))
    known.append(next)
assert known == sorted(set(known))
journal.close()
"""


def test_there_is_no_study_before_its_first_record(journal: Journal) -> None:
    assert not journal.exists() and journal.first() is None
    assert journal.read(0) == [] and journal.leases() == []
    write(journal, row(1))
    assert journal.exists() and journal.first() == row(1)


def test_to_prepare_twice_changes_nothing(journal: Journal, opened: Open) -> None:
    write(journal, row(1))
    opened().prepare()
    assert journal.read(0) == [row(1)]


def test_records_come_in_order_and_from_any_on(journal: Journal) -> None:
    made = [row(number, number % 3) for number in range(1, 30)]
    write(journal, *made[:10])
    write(journal, *made[10:])
    for after in range(30):
        assert journal.read(after) == made[after:]
    assert journal.trial_rows(2) == made[1::3]
    with journal.transaction(27) as transaction:
        assert transaction.rows == made[27:]


@pytest.mark.parametrize("size", [1, 3, 9, 10, 500])
def test_records_come_in_pages_as_of_the_first_step(journal: Journal, size: int) -> None:
    assert list(journal.read_in_pages(size)) == []
    made = [row(number, number % 3) for number in range(1, 10)]
    write(journal, *made)
    pages = journal.read_in_pages(size)
    found = [next(pages)]
    write(journal, row(10))
    found += pages
    assert [one for page in found for one in page] == made
    assert {len(page) for page in found[:-1]} <= {size} and 1 <= len(found[-1]) <= size


def test_records_are_found_by_their_numbers(journal: Journal) -> None:
    made = [row(number) for number in range(1, 10)]
    write(journal, *made)
    assert journal.read_numbered([9, 2, 5, 77]) == [made[1], made[4], made[8]]
    assert journal.read_numbered([]) == []


@pytest.mark.parametrize("at", [1.0, 1e9 + 1 / 3, 5e-324, -1.5])
@pytest.mark.parametrize("trial", [None, 0, 2**63 - 1, -1])
def test_a_record_comes_back_as_it_was(journal: Journal, at: float, trial: int | None) -> None:
    made = row(1, trial, "a'b\"c;--\n€ \U0001f600 <b>", at)
    write(journal, made)
    [found] = journal.read(0)
    assert found == made and [type(item) for item in found] == [type(item) for item in made]


def test_processes_that_write_at_once_take_turns(journal: Journal, where: str) -> None:
    times, workers = 25, ("a", "b", "c", "d")
    with ExitStack() as running:
        processes = [
            running.enter_context(
                subprocess.Popen([sys.executable, "-c", APPEND, where, worker, str(times)])
            )
            for worker in workers
        ]
        assert [process.wait(LONGEST) for process in processes] == [0, 0, 0, 0]
    found = journal.read(0)
    assert [one.seq for one in found] == [*range(1, 4 * times + 1)]
    for worker in workers:
        assert [one.trial for one in found if one.worker == worker] == [*range(times)]
    assert [one.at for one in found] == sorted(one.at for one in found)


def test_a_writer_waits_for_another_and_then_knows_what_it_wrote(opened: Open) -> None:
    one, other = opened(), opened()
    seen: list[list[Row]] = []
    waiting = threading.Event()

    def write_too() -> None:
        meanwhile: list[Row] = []
        waiting.set()
        with other.transaction(0, meanwhile.extend) as transaction:
            seen.append(meanwhile + transaction.rows)
            transaction.append(row(2))

    thread = threading.Thread(target=write_too)
    with one.transaction(0) as transaction:
        thread.start()
        assert waiting.wait(LONGEST) and not seen
        transaction.append(row(1))
    thread.join(LONGEST)
    assert seen == [[row(1)]]
    assert one.read(0) == [row(1), row(2)]


def test_an_exception_leaves_nothing_behind(journal: Journal, opened: Open) -> None:
    write(journal, row(1))
    hold(journal, 3)
    before = journal.leases()

    def interrupted() -> None:
        with journal.transaction(0) as transaction:
            transaction.append(row(2))
            transaction.write_lease(lease(transaction, 4))
            transaction.drop(3)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    for one in (journal, opened()):
        assert one.read(0) == [row(1)] and one.leases() == before
    write(journal, row(2))


def test_a_number_is_given_once(journal: Journal) -> None:
    write(journal, row(1), row(2))
    with pytest.raises(pb.errors.StorageError, match="another process"):
        write(journal, row(3), row(2))
    assert journal.read(0) == [row(1), row(2)]
    write(journal, row(3))


def test_readers_see_the_last_state_and_do_not_wait(opened: Open) -> None:
    writer, reader = opened(), opened()
    write(writer, row(1))
    hold(writer, 3)
    before = reader.leases()
    with writer.transaction(0) as transaction:
        transaction.append(row(2))
        transaction.drop(3)
        assert reader.read(0) == [row(1)] == writer.read(0)
        assert reader.leases() == before
        assert reader.first() == row(1) and reader.trial_rows(7) == [] and reader.exists()
    assert reader.read(1) == [row(2)] and reader.leases() == []


def test_the_clock_is_the_storages(opened: Open) -> None:
    one, other = opened(), opened()
    before = one.now()
    with other.transaction(0) as transaction:
        assert before <= transaction.now
    assert transaction.now <= one.now()


def test_a_lease_is_written_with_its_record_and_replaced_by_the_next(
    journal: Journal, opened: Open
) -> None:
    with journal.transaction(0) as transaction:
        transaction.append(row(1))
        claimed = [lease(transaction, trial) for trial in (5, 2)]
        for one in claimed:
            transaction.write_lease(one)
    assert opened().leases() == [claimed[1], claimed[0]]
    with journal.transaction(1) as transaction:
        assert transaction.leases == [claimed[1], claimed[0]]
        again = lease(transaction, 5, "you")._replace(attempt=2, step=3.5, loss=0.25)
        transaction.write_lease(again)
        transaction.drop(2)
    assert opened().leases() == [again]


def test_a_beat_renews_what_is_held_and_says_what_is(journal: Journal) -> None:
    hold(journal, 1, 2, 3)
    hold(journal, 4, worker="you")
    before = {one.trial: one for one in journal.leases()}
    with journal.transaction(0) as transaction:
        transaction.drop(2)
    beats = [Beat(1, 1, 7, 0.5), Beat(2, 1), Beat(3, 2), Beat(4, 1), Beat(9, 1)]
    assert journal.beat("me", beats, 10 * LONGEST) == {1}
    after = {one.trial: one for one in journal.leases()}
    assert after[1].until > before[1].until + LONGEST
    assert (after[1].step, after[1].loss) == (7, 0.5)
    assert (after[3], after[4]) == (before[3], before[4])


def test_a_lease_that_ran_out_is_suspected_until_it_is_renewed(
    journal: Journal, opened: Open
) -> None:
    hold(journal, 1, 2, until=-1)
    hold(journal, 3, worker="you")
    assert [one.suspected for one in journal.leases()] == [None] * 3
    with journal.transaction(0) as transaction:
        transaction.suspect(1)
        first = transaction.now
    assert [one.suspected for one in journal.leases()] == [first, None, None]
    opened().beat("you", [Beat(3, 1)], LONGEST)
    found = [one.suspected for one in journal.leases()]
    assert found[0] == first and found[1] is not None and found[2] is None
    assert journal.beat("me", [Beat(1, 1), Beat(2, 1)], LONGEST) == {1, 2}
    assert [one.suspected for one in journal.leases()] == [None] * 3
