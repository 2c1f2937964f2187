"""The SQL that SQLite and PostgreSQL share: one table of records, one of leases.

In the texts, `{s}` stands for the schema with its dot, `{int}` and `{real}` for the names of 64-bit
types, and `%s` for a value.
"""

import math
from collections.abc import Iterable
from typing import Any

from priorband.errors import DamagedError
from priorband.storage.high_water import salvage_hint
from priorband.storage.identity import Owner
from priorband.storage.journal import Beat, Lease, Row, Transaction

TABLES = (
    "CREATE TABLE {s}record (seq {int} PRIMARY KEY, kind TEXT NOT NULL, trial {int}, "
    "worker TEXT NOT NULL, at {real} NOT NULL, body TEXT NOT NULL, seal {int} NOT NULL)",
    "CREATE TABLE {s}lease (trial {int} PRIMARY KEY, attempt {int} NOT NULL, "
    "worker TEXT NOT NULL, host TEXT NOT NULL, machine TEXT NOT NULL, place TEXT NOT NULL, "
    "pid {int} NOT NULL, started TEXT NOT NULL, until {real} NOT NULL, seconds {real} NOT NULL, "
    "suspected {real}, step {real}, loss {real})",
)
RECORD_COLUMNS = "seq, kind, trial, worker, at, body, seal"
_LEASE_COLUMNS = (
    "trial, attempt, worker, host, machine, place, pid, started, until, seconds, suspected, "
    "step, loss"
)
SELECT_RECORDS = f"SELECT {RECORD_COLUMNS} FROM {{s}}record WHERE seq > %s ORDER BY seq"
SELECT_RECORD = f"SELECT {RECORD_COLUMNS} FROM {{s}}record WHERE seq = %s"
SELECT_TRIAL_RECORDS = f"SELECT {RECORD_COLUMNS} FROM {{s}}record WHERE trial = %s ORDER BY seq"
SELECT_FIRST_RECORD = f"SELECT {RECORD_COLUMNS} FROM {{s}}record ORDER BY seq LIMIT 1"
SELECT_LEASES = f"SELECT {_LEASE_COLUMNS} FROM {{s}}lease ORDER BY trial"
INSERT_RECORD = f"INSERT INTO {{s}}record ({RECORD_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s)"
INSERT_LEASE = (
    f"INSERT INTO {{s}}lease ({_LEASE_COLUMNS}) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
DELETE_LEASE = "DELETE FROM {s}lease WHERE trial = %s"
SUSPECT_LEASE = "UPDATE {s}lease SET suspected = %s WHERE trial = %s AND suspected IS NULL"
SUSPECT_EXPIRED_LEASES = "UPDATE {s}lease SET suspected = %s WHERE until < %s AND suspected IS NULL"
RENEW_LEASE = (
    "UPDATE {s}lease SET until = %s, suspected = NULL, step = %s, loss = %s "
    "WHERE trial = %s AND attempt = %s AND worker = %s"
)
STATEMENTS = (
    *(SELECT_RECORDS, SELECT_RECORD, SELECT_TRIAL_RECORDS, SELECT_FIRST_RECORD, SELECT_LEASES),
    *(INSERT_RECORD, INSERT_LEASE, DELETE_LEASE),
    *(SUSPECT_LEASE, SUSPECT_EXPIRED_LEASES, RENEW_LEASE),
)

_LEASE_TYPES = (int, int, str, str, str, str, int, str, float, float)

Statement = tuple[str, tuple[Any, ...]]
"""One of `STATEMENTS`, and its values."""


def write_statements(transaction: Transaction) -> list[Statement]:
    """The statements that write a transaction's changes."""
    statements: list[Statement] = [(INSERT_RECORD, tuple(row)) for row in transaction.appended]
    statements += [(DELETE_LEASE, (trial,)) for trial in sorted(transaction.dropped)]
    for lease in transaction.written_leases.values():
        statements += [(DELETE_LEASE, (lease.trial,)), (INSERT_LEASE, _lease_values(lease))]
    statements += [(SUSPECT_LEASE, (transaction.now, trial)) for trial in transaction.suspected]
    return statements


def renewal_statement(worker: str, beat: Beat, until: float) -> Statement:
    """The statement that renews a lease; it changes no row if the worker has lost the lease."""
    return RENEW_LEASE, (until, beat.step, beat.loss, beat.trial, beat.attempt, worker)


def checked_rows(results: Iterable[Any], where: str) -> list[Row]:
    """Records from a query's results; raise `DamagedError` for wrong types or a wrong order.

    Results are read one by one, and the first bad one ends it: a malicious file can make a query
    repeat the same page forever.
    """
    rows: list[Row] = []
    for columns in results:
        row = Row(*columns)
        if not _well_typed(row):
            problem = "has a column of the wrong type"
        elif rows and rows[-1].seq >= row.seq:
            problem = "is out of order"
        else:
            rows.append(row)
            continue
        raise DamagedError(
            f"{where} is damaged: record {row[0]!r:.40} {problem}. {salvage_hint(where)}"
        )
    return rows


def checked_leases(results: Iterable[Any], where: str) -> list[Lease]:
    """Leases from a query's results; raise `DamagedError` for wrong types or a wrong order."""
    leases: list[Lease] = []
    try:
        for columns in results:
            lease = _lease(columns)
            if leases and lease.trial <= leases[-1].trial:
                raise ValueError
            leases.append(lease)
    except (TypeError, ValueError):
        raise DamagedError(
            f"{where} is damaged: a lease has a column of the wrong type, or is out of order. "
            f"{salvage_hint(where)}"
        ) from None
    return leases


def _well_typed(row: Row) -> bool:
    numbers = type(row.seq) is int and type(row.seal) is int
    numbers = numbers and type(row.at) is float and abs(row.at) < math.inf
    text = isinstance(row.kind, str) and isinstance(row.worker, str) and isinstance(row.body, str)
    return numbers and text and (row.trial is None or type(row.trial) is int)


def _lease_values(lease: Lease) -> tuple[Any, ...]:
    owner = lease.owner
    process = (owner.host, owner.machine, owner.place, owner.pid, owner.started)
    state = (lease.until, lease.seconds, lease.suspected, lease.step, lease.loss)
    return (lease.trial, lease.attempt, lease.worker, *process, *state)


def _lease(columns: Any) -> Lease:
    trial, attempt, worker, host, machine, place, pid, started, *state = columns
    types = tuple(map(type, columns))
    if types[:10] != _LEASE_TYPES or not {*types[10:]} <= {float, type(None)}:
        raise TypeError
    return Lease(trial, attempt, worker, Owner(host, machine, place, pid, started), *state)
