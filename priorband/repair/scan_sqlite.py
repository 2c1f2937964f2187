"""Scanning a study in a folder: its database, its log and its head file.

The files of a study that is closed are read where they are, by a connection that writes nothing. Of
one that is open, or was not closed, a private copy is read.
"""

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from priorband.errors import DamagedError, FormatError, StorageError
from priorband.repair.scan import Finding, Scan, read_rows
from priorband.repair.sqlite_pages import rows_in_pages
from priorband.storage import sql
from priorband.storage.file_state import settled_files, study_files
from priorband.storage.filesystems import lock_safety
from priorband.storage.folder_owner import TRIALS
from priorband.storage.high_water import HEAD_NAME, HighWater
from priorband.storage.journal import BASE_FORMAT, FORMAT
from priorband.storage.permissions import require_readable
from priorband.storage.private_copy import LOG_COPY_NAME, copy_study_files
from priorband.storage.sqlite_file import (
    APPLICATION_ID,
    DATABASE_NAME,
    TABLES,
    configure,
    is_too_large,
)
from priorband.storage.write_lock import LOCK_NAME

_DATABASE_FILES = [DATABASE_NAME, *(f"{DATABASE_NAME}-{end}" for end in ("wal", "shm", "journal"))]


def scan_folder(folder: Path) -> Scan:
    """Scan a study in a folder, without changing anything in it."""
    scan = Scan()
    _find_links(scan, folder)
    linked = {finding.where for finding in scan.findings}
    if linked & {*_DATABASE_FILES, HEAD_NAME}:
        return scan
    try:
        files = settled_files(folder)
        if _is_closed(folder):
            require_readable(folder)
            _scan_files(scan, folder, folder, "?mode=ro&immutable=1")
            if _is_closed(folder) and study_files(folder) == files:
                return scan
            scan = Scan()
            _find_links(scan, folder)
        with tempfile.TemporaryDirectory(prefix="priorband-") as temporary:
            copy_study_files(folder, Path(temporary))
            _scan_files(scan, Path(temporary), folder)
    except OSError as error:
        raise StorageError(f"{folder} cannot be read ({error}).") from error
    return scan


def _is_closed(folder: Path) -> bool:
    """Whether there is nothing but the database, so that no process has it open.

    On a network, an open database has no other files, either.
    """
    alone = not any(os.path.lexists(folder / name) for name in _DATABASE_FILES[1:])
    return alone and lock_safety(folder) == "local"


def _find_links(scan: Scan, folder: Path) -> None:
    """Add a finding for each of the study's own names that is neither a file nor a folder.

    What is inside of a checkpoint is up to the user, and not checked.
    """
    for name in [*_DATABASE_FILES, HEAD_NAME, LOCK_NAME, *_names_below(scan, folder, TRIALS)]:
        try:
            mode = os.lstat(folder / name).st_mode
        except OSError:
            continue
        if stat.S_ISLNK(mode):
            scan.add_finding(name, "is a link, which is never followed")
        elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            scan.add_finding(name, "is neither a file nor a folder")


def _names_below(scan: Scan, folder: Path, name: str, depth: int = 2) -> Iterator[str]:
    yield name
    path = folder / name
    if not depth or path.is_symlink() or not path.is_dir():
        return
    try:
        entries = sorted(os.listdir(path))
    except PermissionError:
        scan.not_checked.append(Finding(name, "cannot be read: permission is missing"))
        return
    for entry in entries:
        yield from _names_below(scan, folder, f"{name}/{entry}", depth - 1)


def _scan_files(scan: Scan, place: Path, folder: Path, options: str = "") -> None:
    """Scan files of the study in `folder` that are in `place`."""
    _read_head(scan, place)
    database = place / DATABASE_NAME
    log = place / LOG_COPY_NAME if place != folder else None
    has_head = (place / HEAD_NAME).exists()
    if database.exists() and (database.stat().st_size or (log and log.exists())):
        _read_database(scan, database, options)
        foreign = not scan.is_study and not has_head
        empty = scan.head == (0, 0) and not scan.findings
    else:
        scan.add_finding(DATABASE_NAME, "is empty" if database.exists() else "is missing")
        foreign, empty = not has_head, scan.head == (0, 0)
    if not scan.rows and (foreign or empty):
        raise FormatError(f"There is no study in {folder}. Check the path.")
    _read_pages(scan, database, log)


def _read_head(scan: Scan, copy: Path) -> None:
    if not (copy / HEAD_NAME).exists():
        scan.add_finding(HEAD_NAME, "is missing, so the newest records may be missing, too")
        return
    try:
        scan.head = HighWater(copy).read()
    except DamagedError:
        scan.add_finding(HEAD_NAME, "is damaged, so the newest records may be missing")


def _read_database(scan: Scan, path: Path, options: str) -> None:
    address = f"file:{quote(os.fsencode(path))}{options}"
    with closing(sqlite3.connect(address, isolation_level=None, uri=True)) as connection:
        steps = [_configure, _read_schema, _read_records, _read_leases, _check_integrity]
        for step in steps:
            try:
                step(scan, connection)
            except (sqlite3.Error, UnicodeError, OverflowError) as error:
                scan.add_finding(DATABASE_NAME, f"cannot be read in full: {error}")
                if step in (_configure, _read_schema):
                    return


def _configure(scan: Scan, connection: sqlite3.Connection) -> None:
    del scan
    configure(connection)


def _read_schema(scan: Scan, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (scan.version,) = connection.execute("PRAGMA user_version").fetchone()
    results = connection.execute("SELECT sql FROM sqlite_master").fetchall()
    scan.tables = {text for (text,) in results}
    scan.is_study = application == APPLICATION_ID
    if not scan.is_study:
        scan.add_finding(
            DATABASE_NAME,
            f"has the application id {application:#x}, that of a study is {APPLICATION_ID:#x}",
        )
    if not BASE_FORMAT <= scan.version <= FORMAT:
        scan.add_finding(
            DATABASE_NAME, f"has format {scan.version}, this library reads up to {FORMAT}"
        )
    if scan.tables != set(TABLES):
        scan.add_finding(DATABASE_NAME, "has other tables than a study")


def _read_records(scan: Scan, connection: sqlite3.Connection) -> None:
    if TABLES[0] not in scan.tables:
        return
    text = f"SELECT {sql.RECORD_COLUMNS} FROM main.record WHERE seq BETWEEN ? AND ? ORDER BY seq"

    def rows(low: int, high: int) -> sqlite3.Cursor:
        return connection.execute(text, (low, high))

    last = max(scan.head[0] if scan.head else 0, _largest_number(connection))
    problem = read_rows(scan, rows, last, (sqlite3.Error,), is_too_large)
    if problem:
        scan.add_finding(DATABASE_NAME, f"cannot be read in full: {problem}")


def _read_leases(scan: Scan, connection: sqlite3.Connection) -> None:
    if TABLES[1] in scan.tables:
        scan.check_leases(
            connection.execute(sql.SELECT_LEASES.format(**sql.dialect("main.", "", "")))
        )


def _check_integrity(scan: Scan, connection: sqlite3.Connection) -> None:
    if scan.too_large:  # SQLite would read them
        reason = f"was not checked by SQLite, as record {min(scan.too_large)} is too large"
        scan.not_checked.append(Finding(DATABASE_NAME, reason))
        return
    for (problem,) in connection.execute("PRAGMA integrity_check(20)").fetchall():
        if problem != "ok":
            one_line = " ".join(str(problem).split())
            scan.add_finding(DATABASE_NAME, f"fails SQLite's check: {one_line:.200}")


def _largest_number(connection: sqlite3.Connection) -> int:
    try:
        number = connection.execute("SELECT max(seq) FROM main.record").fetchone()[0]
    except sqlite3.Error:
        return 0
    return number if type(number) is int else 0


def _read_pages(scan: Scan, database: Path, log: Path | None) -> None:
    """Look in the file's pages for records that no query has returned.

    If it is known which record is the last, later ones are ignored: they may never have been
    committed.
    """
    read = set(scan.rows) | scan.too_large
    last = max([scan.head[0] if scan.head else 0, *read], default=0)
    if scan.head is not None and len([n for n in read if 1 <= n <= last]) == last:
        return
    damaged = any(finding.where == DATABASE_NAME for finding in scan.findings)
    if scan.head is None and read and not damaged:
        return
    for columns in rows_in_pages(database, log):
        number = columns[0]
        wanted = type(number) is int and number > 0 and number not in read
        if not wanted or (scan.head is not None and number > last):
            continue
        if columns == (number, *[None] * (len(columns) - 1)):
            scan.too_large |= {number} if number <= last else set()
        elif scan.add_row(columns):
            scan.add_finding(DATABASE_NAME, "contains records that SQLite cannot find")
