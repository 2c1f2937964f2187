"""Scanning a study in PostgreSQL."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from priorband.errors import FormatError, StorageError
from priorband.repair.scan import Scan, read_rows
from priorband.storage import sql
from priorband.storage.addresses import shown, split
from priorband.storage.journal import BASE_FORMAT, FORMAT
from priorband.storage.postgres import DERIVED_TABLES, dialect
from priorband.storage.postgres_url import brief, connect, driver

if TYPE_CHECKING:
    import psycopg

_SCHEMA_COMMENT = (
    "SELECT obj_description(to_regnamespace(%s), 'pg_namespace') "
    "WHERE to_regnamespace(%s) IS NOT NULL"
)
_SCHEMA_COLUMNS = (
    "SELECT table_name, column_name, data_type FROM information_schema.columns "
    "WHERE table_schema = %s"
)
_TYPE_NAMES = {"BIGINT": "bigint", "TEXT": "text", "DOUBLE": "double precision"}


def scan_database(url: str) -> Scan:
    """Scan a study at a URL."""
    server_url, name = split(url)
    scan, where = Scan(), shown(url)
    try:
        with closing(connect(server_url)) as connection:
            _scan_schema(scan, connection, f"priorband {name}", where)
    except driver().Error as error:
        raise StorageError(f"{where} cannot be reached ({brief(error)}).") from error
    return scan


def _scan_schema(scan: Scan, connection: "psycopg.Connection", schema: str, where: str) -> None:
    def query(text: str, *values: Any) -> Any:
        run: Any = connection.execute
        return run(text, values or None).fetchall()

    comments = query(_SCHEMA_COMMENT, f'"{schema}"', f'"{schema}"')
    columns = {tuple(column) for column in query(_SCHEMA_COLUMNS, schema)}
    _check_schema(scan, comments, columns, schema)
    steps = (_read_records, _read_leases) if _expected_columns() <= columns else ()
    for step in steps:
        try:
            step(scan, query, schema)
        except driver().Error as error:
            if connection.closed:
                raise
            scan.add_finding(f'schema "{schema}"', f"cannot be read in full: {brief(error)}")
    if not scan.rows and (not columns or not scan.findings):
        raise FormatError(f"There is no study at {where}. Check the URL.")


def _check_schema(scan: Scan, comments: Any, columns: set[Any], schema: str) -> None:
    comment = str(comments[0][0]) if comments else ""
    match = re.fullmatch(r"priorband format (\d{1,9})", comment)
    scan.version = int(match[1]) if match else 0
    if not BASE_FORMAT <= scan.version <= FORMAT:
        scan.add_finding(
            f'schema "{schema}"',
            f"has the comment {comment!r:.60} instead of 'priorband format {BASE_FORMAT}', or of a "
            f"format up to {FORMAT}",
        )
    if {column for column in columns if column[0] not in DERIVED_TABLES} != _expected_columns():
        scan.add_finding(f'schema "{schema}"', "has other tables than a study")


def _read_records(scan: Scan, query: Any, schema: str) -> None:
    values = sql.RECORD_VALUES.format(**dialect(""))
    text = f'SELECT {values} FROM "{schema}".record WHERE seq BETWEEN %s AND %s ORDER BY seq'

    def rows(low: int, high: int) -> Iterator[Any]:
        for columns in query(text, low, high):
            if None in (columns[1], columns[3], columns[5]):
                scan.too_large.add(columns[0])
            else:
                yield columns

    [(last,)] = query(f'SELECT max(seq) FROM "{schema}".record')
    problem = read_rows(scan, rows, last or 0, _data_errors())
    if problem:
        scan.add_finding(f'schema "{schema}"', f"cannot be read in full: {problem}")


def _data_errors() -> tuple[type[Exception], ...]:
    """The errors that the server raises for data that it cannot read."""
    psycopg = driver()
    return psycopg.InternalError, psycopg.DataError


def _read_leases(scan: Scan, query: Any, schema: str) -> None:
    scan.check_leases(query(sql.SELECT_LEASES.format(**dialect(f'"{schema}".'))))


def _expected_columns() -> set[tuple[str, str, str]]:
    """The tables, columns and types of a study, from the statements that create the tables."""
    expected = set()
    for statement in sql.TABLES:
        table, _, columns = statement.format(s="", int="BIGINT", real="DOUBLE").partition(" (")
        for column in columns.rstrip(")").split(", "):
            name, type_name = column.split()[:2]
            expected.add((table.split()[-1], name, _TYPE_NAMES[type_name]))
    return expected
