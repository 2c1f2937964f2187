"""The SQL that both databases share: one table of records, one of leases."""

import math
from collections.abc import Iterable
from typing import Any

from priorband.errors import DamagedError
from priorband.storage.high_water import salvage_hint
from priorband.storage.identity import Owner
from priorband.storage.journal import Beat, Lease, Row, Transaction

# {s} is the schema and its dot; {int} and {real} are the names of 64-bit types.
TABLES = (
    "CREATE TABLE {s}record (seq {int} PRIMARY KEY, kind TEXT NOT NULL, trial {int}, "
    "worker TEXT NOT NULL, at {real} NOT NULL, body TEXT NOT NULL, seal {int} NOT NULL)",
    "CREATE TABLE {s}lease (trial {int} PRIMARY KEY, attempt {int} NOT NULL, "
    "worker TEXT NOT NULL, host TEXT NOT NULL, machine TEXT NOT NULL, place TEXT NOT NULL, "
    "pid {int} NOT NULL, started TEXT NOT NULL, until {real} NOT NULL, seconds {real} NOT NULL, "
    "suspected {real}, step {real}, loss {real})",
)
READ = "SELECT seq, kind, trial, worker, at, body, seal FROM {s}record WHERE seq > %s ORDER BY seq"
ABOUT = (
    "SELECT seq, kind, trial, worker, at, body, seal FROM {s}record WHERE trial = %s ORDER BY seq"
)
FIRST = "SELECT seq, kind, trial, worker, at, body, seal FROM {s}record ORDER BY seq LIMIT 1"
LEASES = (
    "SELECT trial, attempt, worker, host, machine, place, pid, started, until, seconds, "
    "suspected, step, loss FROM {s}lease ORDER BY trial"
)
APPEND = (
    "INSERT INTO {s}record (seq, kind, trial, worker, at, body, seal) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s)"
)
CLAIM = (
    "INSERT INTO {s}lease (trial, attempt, worker, host, machine, place, pid, started, until, "
    "seconds, suspected, step, loss) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
DROP = "DELETE FROM {s}lease WHERE trial = %s"
SUSPECT = "UPDATE {s}lease SET suspected = %s WHERE trial = %s AND suspected IS NULL"
SUSPECT_ALL = "UPDATE {s}lease SET suspected = %s WHERE until < %s AND suspected IS NULL"
BEAT = (
    "UPDATE {s}lease SET until = %s, suspected = NULL, step = %s, loss = %s "
    "WHERE trial = %s AND attempt = %s AND worker = %s"
)

_LEASE_TYPES = (int, int, str, str, str, str, int, str, float, float)

Statement = tuple[str, tuple[Any, ...]]


def writes(transaction: Transaction) -> list[Statement]:
    """What a transaction leaves, as statements."""
    statements: list[Statement] = [(APPEND, tuple(row)) for row in transaction.appended]
    statements += [(DROP, (trial,)) for trial in sorted(transaction.dropped)]
    for lease in transaction.claimed.values():
        statements += [(DROP, (lease.trial,)), (CLAIM, _flat(lease))]
    statements += [(SUSPECT, (transaction.now, trial)) for trial in transaction.suspected]
    return statements


def beat(worker: str, one: Beat, until: float) -> Statement:
    """The renewal of a lease."""
    return BEAT, (until, one.step, one.loss, one.trial, one.attempt, worker)


def rows(found: Iterable[Any], where: str) -> list[Row]:
    """Records as they come from the database, after checking their types and their order.

    They are taken one by one: a hostile file can repeat a page of them without end.
    """
    made: list[Row] = []
    for columns in found:
        row = Row(*columns)
        ordered = not made or made[-1].seq < row.seq if _well_typed(row) else None
        if not ordered:
            wrong = "has a column of the wrong type" if ordered is None else "is out of order"
            raise DamagedError(
                f"{where} is damaged: record {row[0]!r:.40} {wrong}. {salvage_hint(where)}"
            )
        made.append(row)
    return made


def leases(found: Iterable[Any], where: str) -> list[Lease]:
    """Leases as they come from the database, after checking their types and their order."""
    made: list[Lease] = []
    try:
        for columns in found:
            lease = _lease(columns)
            if made and lease.trial <= made[-1].trial:
                raise ValueError
            made.append(lease)
    except (TypeError, ValueError):
        raise DamagedError(
            f"{where} is damaged: a lease has a column of the wrong type, or is out of order. "
            f"{salvage_hint(where)}"
        ) from None
    return made


def _well_typed(row: Row) -> bool:
    whole = type(row.seq) is int and type(row.seal) is int
    whole = whole and type(row.at) is float and abs(row.at) < math.inf
    text = isinstance(row.kind, str) and isinstance(row.worker, str) and isinstance(row.body, str)
    return whole and text and (row.trial is None or type(row.trial) is int)


def _flat(lease: Lease) -> tuple[Any, ...]:
    owner = lease.owner
    who = (owner.host, owner.machine, owner.place, owner.pid, owner.started)
    until = (lease.until, lease.seconds, lease.suspected, lease.step, lease.loss)
    return (lease.trial, lease.attempt, lease.worker, *who, *until)


def _lease(columns: Any) -> Lease:
    trial, attempt, worker, host, machine, place, pid, started, *rest = columns
    types = tuple(map(type, columns))
    if types[:10] != _LEASE_TYPES or not {*types[10:]} <= {float, type(None)}:
        raise TypeError
    return Lease(trial, attempt, worker, Owner(host, machine, place, pid, started), *rest)
