"""What is left of a study in PostgreSQL."""

import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

from priorband.errors import FormatError, StorageError
from priorband.repair.scan import COLUMNS, Scan, gather
from priorband.storage import sql
from priorband.storage.journal import FORMAT
from priorband.storage.postgres_url import brief, connect, driver, shown, split

if TYPE_CHECKING:
    import psycopg

_COMMENT = (
    "SELECT obj_description(to_regnamespace(%s), 'pg_namespace') "
    "WHERE to_regnamespace(%s) IS NOT NULL"
)
_FIELDS = (
    "SELECT table_name, column_name, data_type FROM information_schema.columns "
    "WHERE table_schema = %s"
)
_TYPES = {"BIGINT": "bigint", "TEXT": "text", "DOUBLE": "double precision"}


def scan_database(url: str) -> Scan:
    """What is left of a study at a URL."""
    address, name = split(url)
    found, where = Scan(), shown(url)
    try:
        with closing(connect(address)) as connection:
            _read(connection, f"priorband {name}", found, where)
    except driver().Error as error:
        raise StorageError(f"{where} is out of reach ({brief(error)}).") from error
    return found


def _read(connection: "psycopg.Connection", schema: str, found: Scan, where: str) -> None:
    def ask(text: str, *values: Any) -> Any:
        run: Any = connection.execute
        return run(text, values or None).fetchall()

    comment = ask(_COMMENT, f'"{schema}"', f'"{schema}"')
    fields = {tuple(field) for field in ask(_FIELDS, schema)}
    _judge(comment, fields, schema, found)
    parts = (_read_records, _read_leases) if _expected() <= fields else ()
    for part in parts:
        try:
            part(ask, schema, found)
        except driver().Error as error:
            if connection.closed:
                raise
            found.find(f'schema "{schema}"', f"cannot be read in full: {brief(error)}")
    if not found.rows and (not fields or not found.findings):
        raise FormatError(f"There is no study in {where}. Mend the URL.")


def _judge(comment: Any, fields: set[Any], schema: str, found: Scan) -> None:
    said = str(comment[0][0]) if comment else ""
    match = re.fullmatch(r"priorband format (\d{1,9})", said)
    found.version = int(match[1]) if match else 0
    if found.version != FORMAT:
        found.find(f'schema "{schema}"', f"says {said!r:.60} of its format, not {FORMAT}")
    if fields != _expected():
        found.find(f'schema "{schema}"', "has other tables than a study's")


def _read_records(ask: Any, schema: str, found: Scan) -> None:
    query = f'SELECT {COLUMNS} FROM "{schema}".record WHERE seq BETWEEN %s AND %s ORDER BY seq'
    [(last,)] = ask(f'SELECT max(seq) FROM "{schema}".record')
    lost = gather(lambda low, high: ask(query, low, high), last or 0, found, _spoilt())
    if lost:
        found.find(f'schema "{schema}"', f"cannot be read in full: {lost}")


def _spoilt() -> tuple[type[Exception], ...]:
    """What the server says of data that it cannot make sense of."""
    errors = driver()
    return errors.InternalError, errors.DataError


def _read_leases(ask: Any, schema: str, found: Scan) -> None:
    found.take_leases(ask(sql.LEASES.format(s=f'"{schema}".')))


def _expected() -> set[tuple[str, str, str]]:
    """Tables, columns and their types, from the statements that make them."""
    found = set()
    for statement in sql.TABLES:
        table, _, columns = statement.format(s="", int="BIGINT", real="DOUBLE").partition(" (")
        for column in columns.rstrip(")").split(", "):
            name, kind = column.split()[:2]
            found.add((table.split()[-1], name, _TYPES[kind]))
    return found
