"""Reaping: finding the trials whose workers are gone, so that others can take them over.

On one machine a dead process is seen at once. Elsewhere its lease must have run out, and must be
seen to have run out twice, a while apart: a clock that jumps makes all leases look old, but a
living worker renews its own before the second look.
"""

from collections.abc import Iterator

from priorband.durable.ledger import Ledger, OpenTrial
from priorband.storage.identity import fate
from priorband.storage.journal import Lease, Transaction
from priorband.storage.json_text import Entry

DOUBT = 0.25  # of a lease between two looks: well over the time between two beats


def reap(ledger: Ledger, transaction: Transaction, most: int) -> Iterator[Entry]:
    """The records that give back, or fail, trials whose attempts are over; leases are dropped."""
    leases = {lease.trial: lease for lease in transaction.leases}
    for opened in list(ledger.running.values()):
        if opened.held and opened.trial.id not in transaction.claimed:
            lease = leases.get(opened.trial.id)
            why = _why_gone(opened, lease, transaction)
            if why:
                transaction.drop(opened.trial.id)
                yield _lost(opened, why, lease, most)
    for number in leases.keys() - ledger.running.keys():
        transaction.drop(number)  # its trial has ended


def _why_gone(opened: OpenTrial, lease: Lease | None, transaction: Transaction) -> str:
    who = f"worker {opened.worker}"
    if lease is None or lease.attempt != opened.attempt:
        return f"{who} left no lease"
    where = f"process {lease.owner.pid} on {lease.owner.host}"
    if fate(lease.owner) == "dead":
        return f"{who} ({where}) has died"
    if lease.until >= transaction.now:
        return ""
    if lease.suspected is None:
        transaction.suspect(lease.trial)
        return ""
    if transaction.now - lease.suspected < lease.seconds * DOUBT:
        return ""
    silent = transaction.now - lease.until + lease.seconds
    return f"{who} ({where}) gave no sign of life for {silent:.0f} s"


def _lost(opened: OpenTrial, why: str, lease: Lease | None, most: int) -> Entry:
    ended = {"attempt": opened.attempt, "kind": "lost", "reason": why}
    if opened.ended("lost") + 1 >= most:
        earlier = [ending.reason for ending in opened.endings if ending.kind == "lost"]
        ended["reason"] = "; ".join([*earlier, why])
        return Entry("failed", opened.trial.id, ended)
    if lease is not None:
        ended["seen"] = max(lease.until - lease.seconds, opened.since)
    return Entry("returned", opened.trial.id, ended)
