"""Expiry: finding the trials whose workers are gone, so that others can take them over.

On the same machine a dead process is noticed at once. Elsewhere its lease must have expired, and
must be seen to have expired twice, some time apart: a clock that jumps makes all leases look old,
but a living worker renews its own before the second look.
"""

from collections.abc import Collection, Iterator, Sequence

from priorband.durable.ledger import Ledger, OpenTrial
from priorband.durable.records import FailedRecord, ReturnedRecord
from priorband.storage.heartbeat import PAUSE
from priorband.storage.identity import liveness
from priorband.storage.journal import Lease, Transaction

DOUBT = 0.25  # of a lease between the two looks: well over the time between two renewals


def expire(
    ledger: Ledger, transaction: Transaction, most: int, but: Collection[int] = ()
) -> Iterator[ReturnedRecord | FailedRecord]:
    """Drop the leases of workers that are gone, and yield the records that end their attempts.

    A trial whose attempts were lost `most` times fails; others are returned for the next attempt.
    The trials in `but` are left alone.
    """
    leases = {lease.trial: lease for lease in transaction.leases}
    known = {*but, *transaction.written_leases}
    for opened in list(ledger.running.values()):
        if opened.held and opened.trial.id not in known:
            lease = leases.get(opened.trial.id)
            reason = _why_gone(opened, lease, transaction.now)
            if reason:
                transaction.drop(opened.trial.id)
                others = ledger.active_until(transaction.leases, transaction.now, opened)
                yield _lost(opened, reason, lease, most, others)
            elif lease is not None and _newly_expired(lease, transaction.now):
                transaction.suspect(lease.trial)
    for number in leases.keys() - ledger.running.keys():
        transaction.drop(number)  # its trial has ended


def would_expire(ledger: Ledger, leases: Sequence[Lease], now: float) -> bool:
    """Whether `expire` would do something; for a process that does not hold the write lock."""
    by_trial = {lease.trial: lease for lease in leases}
    for opened in ledger.running.values():
        lease = by_trial.get(opened.trial.id)
        if opened.held and _why_gone(opened, lease, now):
            return True
    return any(_newly_expired(lease, now) for lease in leases)


def _why_gone(opened: OpenTrial, lease: Lease | None, now: float) -> str:
    """Why a worker counts as gone; empty while it may be alive."""
    who = f"worker {opened.worker}"
    if lease is None or lease.attempt != opened.attempt:
        return f"{who} left no lease"
    where = f"process {lease.owner.pid} on {lease.owner.host}"
    if liveness(lease.owner) == "dead":
        return f"{who} ({where}) has died"
    if lease.until >= now or lease.suspected is None:
        return ""
    if now - lease.suspected < lease.seconds * DOUBT:
        return ""
    silent = now - lease.until + lease.seconds
    return f"{who} ({where}) gave no sign of life for {silent:.0f} s"


def _newly_expired(lease: Lease, now: float) -> bool:
    """Whether a lease is seen for the first time to have expired."""
    return lease.until < now and lease.suspected is None


def _lost(
    opened: OpenTrial, reason: str, lease: Lease | None, most: int, others: float
) -> ReturnedRecord | FailedRecord:
    trial, attempt = opened.trial.id, opened.attempt
    if opened.failures("lost") + 1 >= most:
        earlier = [ending.reason for ending in opened.endings if ending.failure == "lost"]
        return FailedRecord(trial, attempt, "lost", "; ".join([*earlier, reason]))
    seen = None if lease is None else max(lease.until - lease.seconds, opened.since)
    if seen is not None and others - seen > PAUSE:
        seen = others
    return ReturnedRecord(trial, attempt, "lost", reason, seen)
