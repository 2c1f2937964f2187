"""Clients: the workers of a study, as the one that hands out trials sees them."""

from collections.abc import Mapping
from typing import Any, NamedTuple, final

from priorband.durable.records import member, number
from priorband.errors import FormatError
from priorband.failures import FAILURE_KINDS, FailureKind
from priorband.storage.identity import Owner, this_process
from priorband.values import field_names, frozen


class OpenedWith(NamedTuple):
    """The failures in a row when a worker opened the study. These do not halt it again."""

    times: int
    since: int
    """The number of the first record of the row."""


@final
@frozen
class Client:
    """A worker, and the terms on which it takes trials."""

    worker: str
    """Its name."""
    lease: float
    """For how many seconds it may be silent before its trial goes to another."""
    attempts: Mapping[FailureKind, int]
    """After how many attempts a trial has failed, by kind of failure."""
    opened_with: OpenedWith
    elsewhere: Owner | None = None
    """Its process; None for this one, also after it was forked."""

    @property
    def owner(self) -> Owner:
        """Its process."""
        return self.elsewhere or this_process()

    def to_data(self) -> dict[str, Any]:
        """The client as data that JSON can hold."""
        owner = self.owner
        return {
            "worker": self.worker,
            "owner": [getattr(owner, name) for name in field_names(owner)],
            "lease": self.lease,
            "attempts": dict(self.attempts),
            "opened_with": list(self.opened_with),
        }

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> "Client":
        """The client that `data` stands for, or a `FormatError`: it may be anything."""
        worker, lease = member(data, "worker", str), number(data, "lease", least=0)
        owner, opened = member(data, "owner", list), member(data, "opened_with", list)
        attempts = member(data, "attempts", dict)
        if [*map(type, owner)] != [str, str, str, int, str] or [*map(type, opened)] != [int, int]:
            raise FormatError("it does not say which process it is")
        if attempts.keys() != {*FAILURE_KINDS} or {*map(type, attempts.values())} != {int}:
            raise FormatError(f"`attempts` is {attempts!r:.60}")
        return Client(worker, lease, attempts, OpenedWith(*opened), Owner(*owner))
