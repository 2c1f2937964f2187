"""The SQL that SQLite and PostgreSQL share: one table of records, one of leases.

In the texts, `{s}` stands for the schema with its dot, `{int}` and `{real}` for the names of 64-bit
types, and `%s` for a value. `{worker}` and the names of other columns with text stand for their
values, or for NULL if a text is too large to be sent: see `dialect`.
"""

import math
from collections.abc import Iterable, Sequence
from types import NoneType
from typing import Any

from priorband.errors import DamagedError
from priorband.storage.high_water import salvage_hint
from priorband.storage.identity import Owner
from priorband.storage.journal import LARGEST_ROW, Beat, Lease, Row, Transaction

TABLES = (
    "CREATE TABLE {s}record (seq {int} PRIMARY KEY, kind TEXT NOT NULL, trial {int}, "
    "worker TEXT NOT NULL, at {real} NOT NULL, body TEXT NOT NULL, seal {int} NOT NULL)",
    "CREATE TABLE {s}lease (trial {int} PRIMARY KEY, attempt {int} NOT NULL, "
    "worker TEXT NOT NULL, host TEXT NOT NULL, machine TEXT NOT NULL, place TEXT NOT NULL, "
    "pid {int} NOT NULL, started TEXT NOT NULL, until {real} NOT NULL, seconds {real} NOT NULL, "
    "suspected {real}, step {real}, loss {real})",
)
RECORD_COLUMNS = "seq, kind, trial, worker, at, body, seal"
RECORD_VALUES = "seq, {kind}, trial, {worker}, at, {body}, seal"
_LEASE_COLUMNS = (
    "trial, attempt, worker, host, machine, place, pid, started, until, seconds, suspected, "
    "step, loss"
)
_LEASE_VALUES = (
    "trial, attempt, {worker}, {host}, {machine}, {place}, pid, {started}, until, seconds, "
    "suspected, step, loss"
)
_TEXTS = ("kind", "worker", "body", "host", "machine", "place", "started")
SELECT_RECORDS = f"SELECT {RECORD_VALUES} FROM {{s}}record WHERE seq > %s ORDER BY seq"
SELECT_PAGE = (
    f"SELECT {RECORD_VALUES} FROM {{s}}record WHERE seq > %s AND seq <= %s ORDER BY seq LIMIT %s"
)
SELECT_NUMBERED_RECORDS = (
    f"SELECT {RECORD_VALUES} FROM {{s}}record WHERE seq IN ({{{{numbers}}}}) ORDER BY seq"
)
SELECT_LAST_NUMBER = "SELECT seq FROM {s}record ORDER BY seq DESC LIMIT 1"
SELECT_TRIAL_RECORDS = f"SELECT {RECORD_VALUES} FROM {{s}}record WHERE trial = %s ORDER BY seq"
SELECT_FIRST_RECORD = f"SELECT {RECORD_VALUES} FROM {{s}}record ORDER BY seq LIMIT 1"
SELECT_LEASES = f"SELECT {_LEASE_VALUES} FROM {{s}}lease ORDER BY trial"
INSERT_RECORD = f"INSERT INTO {{s}}record ({RECORD_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s)"
INSERT_LEASE = (
    f"INSERT INTO {{s}}lease ({_LEASE_COLUMNS}) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_CHANGED = (f"{name} = excluded.{name}" for name in _LEASE_COLUMNS.split(", ")[1:])
WRITE_LEASE = f"{INSERT_LEASE} ON CONFLICT (trial) DO UPDATE SET {', '.join(_CHANGED)}"
DELETE_LEASE = "DELETE FROM {s}lease WHERE trial = %s"
SUSPECT_LEASE = "UPDATE {s}lease SET suspected = %s WHERE trial = %s AND suspected IS NULL"
SUSPECT_EXPIRED_LEASES = "UPDATE {s}lease SET suspected = %s WHERE until < %s AND suspected IS NULL"
RENEW_LEASE = (
    "UPDATE {s}lease SET until = %s, suspected = NULL, step = %s, loss = %s "
    "WHERE trial = %s AND attempt = %s AND worker = %s"
)
STATEMENTS = (
    *(SELECT_RECORDS, SELECT_PAGE, SELECT_NUMBERED_RECORDS, SELECT_LAST_NUMBER),
    *(SELECT_TRIAL_RECORDS, SELECT_FIRST_RECORD, SELECT_LEASES),
    *(INSERT_RECORD, INSERT_LEASE, WRITE_LEASE, DELETE_LEASE),
    *(SUSPECT_LEASE, SUSPECT_EXPIRED_LEASES, RENEW_LEASE),
)

_RECORD_TYPES = {(int, str, trial, str, float, str, int) for trial in (int, NoneType)}
_LEASE_TYPES = (int, int, str, str, str, str, int, str, float, float)

TOO_LARGE = f"has more than {LARGEST_ROW} bytes, so it is not read"

Statement = tuple[str, tuple[Any, ...]]
"""One of `STATEMENTS`, and its values."""


def dialect(schema: str, integer: str, real: str, text: str = "{}") -> dict[str, str]:
    """What stands for the names in the texts; `text` is a template for a column with text."""
    values = {name: text.format(name) for name in _TEXTS}
    return {"s": schema, "int": integer, "real": real, **values}


def write_statements(transaction: Transaction) -> list[Statement]:
    """The statements that write a transaction's changes."""
    statements: list[Statement] = [(INSERT_RECORD, tuple(row)) for row in transaction.appended]
    statements += [(DELETE_LEASE, (trial,)) for trial in sorted(transaction.dropped)]
    written = transaction.written_leases.values()
    statements += [(WRITE_LEASE, _lease_values(lease)) for lease in written]
    statements += [(SUSPECT_LEASE, (transaction.now, trial)) for trial in transaction.suspected]
    return statements


def write_statements_together(transaction: Transaction) -> list[Statement]:
    """The same as `write_statements` in as few statements as possible.

    A server needs longer to read a statement than to insert a row.
    """
    statements: list[Statement] = []
    leases = list(transaction.written_leases.values())
    old = sorted(transaction.dropped | transaction.written_leases.keys())
    if transaction.appended:
        statements.append(_for_rows(INSERT_RECORD, [tuple(row) for row in transaction.appended]))
    if old:
        statements.append((DELETE_LEASE.replace("= %s", _in(old)), ()))
    if leases:
        statements.append(_for_rows(INSERT_LEASE, [_lease_values(lease) for lease in leases]))
    if transaction.suspected:
        text = SUSPECT_LEASE.replace("trial = %s", f"trial {_in(transaction.suspected)}")
        statements.append((text, (transaction.now,)))
    return statements


def _in(numbers: Iterable[int]) -> str:
    return f"IN ({', '.join(map(str, map(int, numbers)))})"


def _for_rows(insert: str, rows: Sequence[tuple[Any, ...]]) -> Statement:
    """The statement that inserts several rows."""
    text, row = insert.split(" VALUES ")
    values = tuple(value for values in rows for value in values)
    return f"{text} VALUES {', '.join([row] * len(rows))}", values


def renewal_statement(worker: str, beat: Beat, until: float) -> Statement:
    """The statement that renews a lease; it changes no row if the worker has lost the lease."""
    return RENEW_LEASE, (until, beat.step, beat.loss, beat.trial, beat.attempt, worker)


def numbered(statement: str, numbers: Iterable[int]) -> str:
    """`SELECT_NUMBERED_RECORDS` for some records."""
    return statement.replace("{numbers}", ",".join(map(str, map(int, numbers))) or "NULL")


def check_page(rows: list[Row], where: str, after: int) -> None:
    """Raise `DamagedError` unless there is a record, and the first one comes after `after`."""
    if not rows or rows[0].seq <= after:
        problem = f"{rows[0].seq} is out of order" if rows else f"{after + 1} is missing"
        raise DamagedError(f"{where} is damaged: record {problem}. {salvage_hint(where)}")


def last_number(results: Sequence[Any], where: str) -> int:
    """The result of `SELECT_LAST_NUMBER`; 0 if there are no records."""
    if not results:
        return 0
    [[number]] = results
    if type(number) is not int:
        raise DamagedError(
            f"{where} is damaged: record {number!r:.40} has a column of the wrong type. "
            f"{salvage_hint(where)}"
        )
    return number


def checked_rows(results: Iterable[Any], where: str) -> list[Row]:
    """Records from a query's results; raise `DamagedError` for wrong types or a wrong order.

    Results are read one by one, and the first bad one ends it: a malicious file can make a query
    repeat the same page forever.
    """
    rows: list[Row] = []
    for columns in results:
        row = Row._make(columns)
        if _lacks_text(row):
            problem = f"lacks a text, or has one of more than {LARGEST_ROW} bytes"
        elif not _well_typed(row):
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


def _lacks_text(row: Row) -> bool:
    """Whether a text is missing, as one does that is too large to be sent."""
    return row.body is None or row.kind is None or row.worker is None


def _well_typed(row: Row) -> bool:
    return tuple(map(type, row)) in _RECORD_TYPES and abs(row.at) < math.inf


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
