"""The journal: the stored form of a study, as records and leases.

This is the place to start reading about storage. A study is stored as one journal, which holds:

- *Records*, a numbered list that is only ever appended to: the study was created, trial 7 was
  handed out, trial 7 ended with a loss of 0.25. The records are the only truth about a study. Its
  history, its running trials and its best result are computed from them, and can be computed again
  at any time.
- *Leases*, at most one for each trial: which worker holds the trial, and until when. Leases are how
  other workers notice that a worker has died. They are overwritten in place, and no decision about
  what to try next depends on them.

Three rules hold in every storage:

- One process writes at a time. `Journal.transaction` waits for the study's write lock, then writes
  all of its changes or none of them.
- Readers need no lock. They see the last committed state, and neither wait nor make others wait.
- Times are read from the storage's clock (`Journal.now`), so the clocks of workers need not agree.

`SqliteJournal` (`priorband/storage/sqlite.py`) keeps a journal in a folder, `PostgresJournal`
(`priorband/storage/postgres.py`) in a database. What the records mean is defined in
`priorband/durable`.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, final

from priorband.errors import FormatError, StorageError
from priorband.storage.identity import Owner
from priorband.storage.json_text import LONGEST
from priorband.storage.snapshot_file import Snapshot
from priorband.values import frozen

FORMAT = 4
"""The newest version of the stored format. A study with a higher version is refused."""
RETRY_FORMAT = 3
"""The version of studies in which a failed trial was retried in its old place."""
PRIOR_FORMAT = 4
"""The version of studies in which the prior was changed."""
BASE_FORMAT = 1
"""The version of studies that need nothing newer, so that older libraries can open them."""
LARGEST_ROW = LONGEST + 1_000_000
"""How many bytes a row may have: a larger one was not written by this library, and is not read."""
PAGE = 500
"""How many records `Journal.read_in_pages` reads at a time."""


class StaleError(StorageError):
    """Storage has lost records that this process has read, and that were not acknowledged.

    What is stored must be read again.
    """


class Row(NamedTuple):
    """A record as it is stored: one row of the table `record`."""

    seq: int
    """The record's number: 1, 2, 3 and so on, without gaps."""
    kind: str
    """What happened, such as "asked" or "told"."""
    trial: int | None
    """The id of the trial it is about; None if it is about the study."""
    worker: str
    """The name of the worker that wrote it."""
    at: float
    """When it was written, in seconds since 1970 by the storage's clock."""
    body: str
    """The details, as JSON text."""
    seal: int
    """A checksum of this record and of all records before it: see `sealed`."""


def sealed(before: int, row: Row) -> int:
    """The seal of a row, given the seal of the row before it (0 for the first row).

    Seals form a chain: a record that is changed, removed or reordered later does not match its
    seal, or the next one does not.
    """
    text = f"{row.seq}|{row.kind}|{row.trial}|{row.worker}|{row.at!r}|{row.body}"
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), before)


class Lease(NamedTuple):
    """A worker's right to work on a trial, until it is renewed, given back or expires."""

    trial: int
    attempt: int
    """Which attempt at the trial the worker is making, from 1."""
    worker: str
    owner: Owner
    """The worker's process, so that others on its machine can see whether it is alive."""
    until: float
    """When the lease expires, by the storage's clock."""
    seconds: float
    """How long the lease lasts when it is renewed."""
    suspected: float | None = None
    """When the lease was first seen to have expired; a renewal resets it to None."""
    step: float | None = None
    """The last step of the training that the worker reported."""
    loss: float | None = None
    """The last loss that the worker reported."""


@final
@frozen
class Beat:
    """The renewal of one lease, with the progress of its trial."""

    trial: int
    attempt: int
    step: float | None = None
    loss: float | None = None


class Post(NamedTuple):
    """A turn that another worker has posted, because it could not have the write lock."""

    poster: int
    """The worker's own number."""
    ticket: int
    """Which of the worker's posts it is."""
    body: str
    """What the worker reports and asks for, as JSON text."""


Mark = tuple[int, dict[int, Lease], set[int], int, int | None, bool]
"""How far a transaction has come: see `Transaction.mark`."""


@final
class Transaction:
    """The state of a study while this process holds the write lock, and the changes to write.

    Changes are collected here and written together when the `with` block of `Journal.transaction`
    ends. If the block raises an exception, nothing is written.
    """

    __slots__ = (
        "answer",
        "answers",
        "appended",
        "confirmed",
        "dropped",
        "now",
        "posts",
        "rows",
        "suspected",
        "version",
        "written_leases",
        "_leases",
    )

    def __init__(
        self, now: float, rows: list[Row], leases: list[Lease] | Callable[[], list[Lease]]
    ) -> None:
        self.now = now
        """The storage's clock when the transaction began."""
        self.rows = rows
        """The records that this process has not read before."""
        self._leases = leases
        self.appended: list[Row] = []
        """The records to write."""
        self.written_leases: dict[int, Lease] = {}
        """The leases to write, by trial."""
        self.dropped: set[int] = set()
        """The trials whose leases are to be deleted."""
        self.suspected: list[int] = []
        """The trials whose leases were seen to have expired."""
        self.version: int | None = None
        """The version of the format to store, if the study's first record needs it."""
        self.confirmed = False
        """Whether to sync the storage even if there is nothing to write.

        Set it before telling a caller that an existing record is safe: another process may have
        written that record and not synced it yet.
        """
        self.answer: str | None = None
        """What another worker has answered to the turn that this process has posted.

        If there is an answer, this process does not hold the write lock, and writes nothing.
        """
        self.posts: list[Post] = []
        """The turns that other workers have posted."""
        self.answers: dict[Post, str] = {}
        """The answers to them, to write."""

    @property
    def leases(self) -> list[Lease]:
        """All leases, sorted by trial; read when they are first needed."""
        if not isinstance(self._leases, list):
            self._leases = self._leases()
        return self._leases

    def append(self, row: Row) -> None:
        """Add a record."""
        self.appended.append(row)

    def write_lease(self, lease: Lease) -> None:
        """Write a lease, replacing any other lease on its trial."""
        self.written_leases[lease.trial] = lease

    def drop(self, trial: int) -> None:
        """Delete the lease on a trial, if there is one."""
        self.dropped.add(trial)
        self.written_leases.pop(trial, None)

    def set_version(self, version: int) -> None:
        """Store the version of the format, together with the first record that needs it."""
        self.version = version if version != BASE_FORMAT else None

    def suspect(self, trial: int) -> None:
        """Note that the lease on a trial has expired, unless that was noted before."""
        self.suspected.append(trial)

    def mark(self) -> Mark:
        """How far the transaction has come, for `return_to`."""
        leases, dropped = dict(self.written_leases), set(self.dropped)
        ends = len(self.appended), leases, dropped, len(self.suspected)
        return *ends, self.version, self.confirmed

    def return_to(self, mark: Mark) -> None:
        """Forget the changes since a mark."""
        appended, self.written_leases, self.dropped, suspected, self.version, confirmed = mark
        del self.appended[appended:], self.suspected[suspected:]
        self.confirmed = confirmed

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        changes = self.appended or self.written_leases or self.dropped or self.suspected
        return not (changes or self.answers)


Meanwhile = Callable[[list[Row]], object]
"""A function that is called with records that others wrote while this process waited."""


class Journal(Protocol):
    """The storage of one study."""

    say: Callable[[str], None]
    """Called with messages for people, such as that the write lock was not free for long."""
    waiting: Callable[[], None]
    """Called from time to time while the write lock is not free; may raise, to stop waiting."""

    @property
    def where(self) -> str:
        """The study's folder or URL for messages, without the password."""

    def read(self, after: int) -> list[Row]:
        """The records with numbers above `after`, in order. Needs no lock."""

    def read_in_pages(self, size: int = PAGE) -> Iterator[list[Row]]:
        """The records up to the last one at the first step, in order, at most `size` at a time.

        Needs no lock. Each page is a short read of its own: a slow reader holds up nobody.
        """

    def read_numbered(self, numbers: Sequence[int]) -> list[Row]:
        """The records with these numbers, in order. Needs no lock."""

    def first(self) -> Row | None:
        """The record that created the study; None if there is no study."""

    @property
    def read_only(self) -> bool:
        """Whether nothing may be written."""

    def snapshot(self) -> Snapshot | None:
        """The stored snapshot; None if there is none that can be read."""

    def snapshot_seq(self) -> int:
        """The number of the last record of the stored snapshot; 0 if there is none."""

    def write_snapshot(self, data: bytes, replace: bool) -> None:
        """Store a snapshot, unless there is one of more records and `replace` is false.

        An error is ignored: a study does without a snapshot.
        """

    def trial_rows(self, trial: int) -> list[Row]:
        """The records of one trial, in order."""

    def leases(self) -> list[Lease]:
        """The leases: which worker holds which trial. Needs no lock."""

    def transaction(
        self,
        after: int,
        meanwhile: Meanwhile = list,
        leases: bool = True,
        post: Callable[[], str] | None = None,
    ) -> AbstractContextManager[Transaction]:
        """Wait for the write lock, and write the transaction's changes when the block ends.

            with journal.transaction(after=last_seen) as transaction:
                ...  # take in transaction.rows
                transaction.append(row)

        `after` is the number of the last record that the caller knows. While it waits, records
        that others write are passed to `meanwhile`; `transaction.rows` then holds only the records
        after those. So reading takes place before the lock is held, and the lock is held briefly.
        `leases` says whether the transaction's leases will be needed, so that they may be read at
        once.

        `post` returns what the caller wants to do, as text. With it, storage may let the process
        that holds the write lock do that: then the transaction has an `answer`. If it has none, the
        caller holds the write lock, and should answer the transaction's `posts`.
        """

    def has_posts(self) -> bool:
        """Whether workers wait for answers to turns that they have posted. Needs no lock."""

    def beat(self, worker: str, beats: Sequence[Beat], seconds: float) -> set[int]:
        """Renew a worker's leases for `seconds`; the trials that it still holds.

        A trial that is missing from the result was ended, or taken over by another worker.
        """

    def now(self) -> float:
        """The storage's clock, in seconds since 1970."""

    def close(self) -> None:
        """Close files and connections. A later call to another method opens them again."""


def refuse_version(version: int, where: str) -> None:
    """Raise `FormatError` for a study that a newer version of the library wrote."""
    raise FormatError(
        f"{where} has format {version}, this library reads up to {FORMAT}. "
        "Install a newer priorband to open it."
    )


def refuse_to_write(journal: Journal) -> None:
    """Raise `StorageError` if a journal was opened to be read only."""
    if journal.read_only:
        raise StorageError(
            f"{journal.where} was opened with read_only=True, so nothing is written to it. Open it "
            "without read_only to change it."
        )
