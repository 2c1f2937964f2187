"""What the contracts of journals share: records and leases of no meaning."""

from collections.abc import Callable

from waiting import LONGEST

from priorband.storage.identity import this_process
from priorband.storage.journal import Lease, Row, Transaction
from priorband.storage.postgres import PostgresJournal
from priorband.storage.sqlite import SqliteJournal

Journal = SqliteJournal | PostgresJournal
Open = Callable[[], Journal]


def row(number: int, trial: int | None = None, worker: str = "me", at: float = 1.5) -> Row:
    return Row(number, "remark", trial, worker, at, f'{{"text":"{number}"}}', number * 7)


def write(journal: Journal, *made: Row) -> None:
    with journal.transaction(0) as transaction:
        for one in made:
            transaction.append(one)


def lease(
    transaction: Transaction, trial: int, worker: str = "me", until: float = LONGEST
) -> Lease:
    return Lease(trial, 1, worker, this_process(), transaction.now + until, 9.0)


def hold(journal: Journal, *trials: int, worker: str = "me", until: float = LONGEST) -> None:
    with journal.transaction(0) as transaction:
        for trial in trials:
            transaction.write_lease(lease(transaction, trial, worker, until))
