"""Activity: for how long workers were at work on a study, for the `hours` of its budget.

The records say when trials began and ended, by the storage's clock. Two things can make that time
longer than the work. The leases show the first: if all have expired, no worker was there, since the
machine slept or was off, or since the clock jumped. A process that finds this when it is about to
write a record writes a remark before it, which says until when workers were active. The second is
a record with a wrong time. Of two records of one worker, both have the time of the same clock. So
no more is counted between them than that clock says.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

from priorband.durable.records import RemarkRecord, member
from priorband.errors import FormatError
from priorband.numeric import real
from priorband.storage.heartbeat import PAUSE
from priorband.storage.journal import Lease, Row

if TYPE_CHECKING:
    from priorband.durable.ledger import OpenTrial

WORKERS = 64
"""For how many workers, those that wrote last, the time of the last record is remembered."""
ACTIVE_UNTIL = "active_until"
"""The detail of a remark that says until when workers were active, before a pause."""


def active_until(running: Collection["OpenTrial"], leases: Sequence[Lease], now: float) -> float:
    """Until when some worker is known to have been active, by the leases on running trials.

    A worker whose lease has expired was last active when it renewed the lease. One that holds a
    trial for a given time, and not for as long as a process runs, is active until then.
    """
    by_trial = {lease.trial: lease for lease in leases}
    times = [-math.inf]
    for opened in running:
        lease = by_trial.get(opened.trial.id)
        if opened.held and lease is not None and lease.attempt == opened.attempt:
            renewed = lease.until - lease.seconds if lease.owner.pid else lease.until
            times.append(now if lease.until >= now else renewed)
    return max(times)


def pause_remark(until: float, now: float) -> RemarkRecord | None:
    """The remark that no worker was active for some time; None if that was short."""
    if now - until <= PAUSE:
        return None
    text = f"no worker was active for {now - until:.0f} s"
    return RemarkRecord(None, text, details={ACTIVE_UNTIL: until})


def end_of_activity(record: RemarkRecord) -> float | None:
    """Until when workers were active, if that is what a remark says."""
    return real(record.details.get(ACTIVE_UNTIL))


@final
class ActiveTime:
    """The seconds during which at least one worker held a trial, by the records."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.last = 0.0
        """The time of the last record."""
        self.busy = False
        """Whether some worker held a trial after the last record."""
        self._known: dict[str, tuple[float, float]] = {}
        """By worker: the time of its last record, and the seconds that were counted by then."""

    def count(self, row: Row, until: float | None, busy: bool) -> None:
        """Count the time from the record before to this one, or only `until` a time in between.

        `busy` says whether some worker holds a trial from now on.
        """
        if self.busy:
            at = row.at if until is None else min(row.at, until)
            self.seconds += max(at - self.last, 0.0)
        before = self._known.pop(row.worker, None)
        if before is not None and row.at >= before[0]:
            self._count_at_most(before[1] + (row.at - before[0]))
        self._known[row.worker] = row.at, self.seconds
        if len(self._known) > WORKERS:
            del self._known[next(iter(self._known))]
        self.last = row.at  # also when the clock was set back
        self.busy = busy

    def _count_at_most(self, seconds: float) -> None:
        """Take back what was counted beyond a number of seconds."""
        if self.seconds > seconds:
            self.seconds = seconds
            for worker, (at, counted) in self._known.items():
                self._known[worker] = at, min(counted, seconds)

    def until(self, now: float) -> float:
        """The seconds, if some worker is still active at a time after the last record."""
        return self.seconds + (max(now - self.last, 0.0) if self.busy else 0.0)

    def to_data(self) -> dict[str, Any]:
        """This as data that JSON holds."""
        known = [[worker, *about] for worker, about in self._known.items()]
        return {"seconds": self.seconds, "last": self.last, "busy": self.busy, "workers": known}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> "ActiveTime":
        """What `to_data` described, or a `FormatError`."""
        active = ActiveTime()
        active.seconds, active.last = member(data, "seconds", float), member(data, "last", float)
        active.busy = member(data, "busy", bool)
        for worker, at, seconds in member(data, "workers", list):
            if type(worker) is not str or not _finite(at, seconds):
                raise FormatError("the time of a worker's last record is not valid")
            active._known[worker] = at, seconds
        if not _finite(active.seconds, active.last) or len(active._known) > WORKERS:
            raise FormatError("the time that was counted is not valid")
        return active


def _finite(*numbers: Any) -> bool:
    return all(type(number) is float and math.isfinite(number) for number in numbers)
