"""The journal: an append-only list of records, and beside it who is at work on which trial.

It is the only truth about a study. Writers take turns, one transaction at a time; readers never
wait for them. Leases say which worker holds which trial until when, in the storage's own clock;
no decision reads them.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, final

from priorband.errors import FormatError
from priorband.storage.identity import Owner
from priorband.values import frozen

FORMAT = 1


class Row(NamedTuple):
    """A record as it is stored. `seal` is a checksum over it and all records before it."""

    seq: int
    kind: str
    trial: int | None
    worker: str
    at: float
    body: str
    seal: int


def sealed(before: int, row: Row) -> int:
    """The checksum of a row that follows another with that seal."""
    text = f"{row.seq}|{row.kind}|{row.trial}|{row.worker}|{row.at!r}|{row.body}"
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), before)


class Lease(NamedTuple):
    """A worker's hold on a trial, until it is renewed, given back or runs out."""

    trial: int
    attempt: int
    worker: str
    owner: Owner
    until: float
    seconds: float
    """How long a renewal lasts."""
    suspected: float | None = None
    """When it was first seen to have run out; a renewal clears it."""
    step: float | None = None
    loss: float | None = None


@final
@frozen
class Beat:
    """A sign of life from the worker on a trial, and how far it has come."""

    trial: int
    attempt: int
    step: float | None = None
    loss: float | None = None


@final
class Transaction:
    """What a writer finds when its turn has come, and what it leaves: written when it ends well."""

    __slots__ = (
        "appended",
        "claimed",
        "confirmed",
        "dropped",
        "leases",
        "now",
        "rows",
        "suspected",
    )

    def __init__(self, now: float, rows: list[Row], leases: list[Lease]) -> None:
        self.now = now
        self.rows = rows
        self.leases = leases
        self.appended: list[Row] = []
        self.claimed: dict[int, Lease] = {}
        self.dropped: set[int] = set()
        self.suspected: list[int] = []
        self.confirmed = False
        """Whether somebody is told that what was found is safe: it must then be on the disk."""

    def append(self, row: Row) -> None:
        """Add a record."""
        self.appended.append(row)

    def claim(self, lease: Lease) -> None:
        """Write a lease, in place of any other on its trial."""
        self.claimed[lease.trial] = lease

    def drop(self, trial: int) -> None:
        """End the lease on a trial, if there is one."""
        self.dropped.add(trial)
        self.claimed.pop(trial, None)

    def suspect(self, trial: int) -> None:
        """Note that a lease was seen to have run out."""
        self.suspected.append(trial)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.appended or self.claimed or self.dropped or self.suspected)


Meanwhile = Callable[[list[Row]], object]


class Journal(Protocol):
    """Storage of one study."""

    @property
    def where(self) -> str:
        """What to call it in messages; without a password."""

    def read(self, after: int) -> list[Row]:
        """The records that follow the one with that number, at once and without a lock."""

    def first(self) -> Row | None:
        """The record of the study's creation; None where there is no study."""

    def about(self, trial: int) -> list[Row]:
        """The records of one trial."""

    def leases(self) -> list[Lease]:
        """Who is at work, without a lock."""

    def transaction(
        self, after: int, meanwhile: Meanwhile = list
    ) -> AbstractContextManager[Transaction]:
        """The next turn to write, with the records that follow that number.

        Records that others write while this one waits are handed to `meanwhile` in turn; the
        transaction then holds those that follow the last.
        """

    def beat(self, worker: str, beats: Sequence[Beat], seconds: float) -> set[int]:
        """Renew leases; the trials among them that this worker still holds."""

    def now(self) -> float:
        """The storage's clock."""

    def close(self) -> None:
        """Let go of files and connections. The journal opens them again when it is used."""


def refuse_version(version: int, where: str) -> None:
    """Complain about a study that a newer library wrote."""
    raise FormatError(
        f"{where} has format {version}, this library reads up to {FORMAT}. "
        "Install a newer priorband to open it."
    )


def held(leases: Iterable[Lease], worker: str) -> set[int]:
    """The trials that a worker holds."""
    return {lease.trial for lease in leases if lease.worker == worker}
