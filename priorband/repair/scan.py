"""What is left of a study: every record that can still be read, and what is wrong with the rest.

Nothing here trusts what it finds, and nothing complains: whatever is damaged becomes a finding.
"""

import math
import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, final

from priorband.errors import DamagedError, FormatError, StorageError
from priorband.repair.snapshot import LOG_IMAGE, copied
from priorband.repair.sqlite_pages import carve
from priorband.storage import sql
from priorband.storage.high_water import NAME as HEAD_NAME
from priorband.storage.high_water import HighWater
from priorband.storage.journal import FORMAT, Row
from priorband.storage.sqlite_file import NAME, OURS, TABLES, set_up
from priorband.storage.write_lock import NAME as LOCK_NAME
from priorband.values import frozen

_MOST = 2**63 - 1
_FAILURES = 20_000  # queries; a study that is damaged in so many places is left to carving
COLUMNS = "seq, kind, trial, worker, at, body, seal"


@final
@frozen
class Finding:
    """Something that is not as it was written, and where."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where} {self.what}"


@final
class Scan:
    """Records by number, what witnesses them, and what was wrong in reading them.

    A number has several candidates where different pages hold it differently.
    """

    def __init__(self) -> None:
        self.rows: dict[int, list[Row]] = {}
        self.spoilt: set[int] = set()
        """The numbers of records with a column of the wrong type."""
        self.head: tuple[int, int] | None = None
        """The number and the seal of a record that was written; None where nothing says so."""
        self.ours = False
        self.version = FORMAT
        self.tables: set[str] = set()
        self.findings: list[Finding] = []

    def find(self, where: str, what: str) -> None:
        """Note something that is wrong, once."""
        if Finding(where, what) not in self.findings:
            self.findings.append(Finding(where, what))

    def take(self, columns: Sequence[Any]) -> bool:
        """Note a record, if its columns can be one's."""
        try:
            [row] = sql.rows([columns], "")
        except (DamagedError, TypeError):
            return False
        known = self.rows.setdefault(row.seq, [])
        if row not in known:
            known.append(row)
        return True

    def take_leases(self, found: Iterable[Any]) -> None:
        """Note which leases cannot be."""
        last = -math.inf
        for columns in found:
            trial = columns[0]
            try:
                sql.leases([columns], "")
            except DamagedError:
                self.find(f"lease of trial {trial!r:.40}", "has a column of the wrong type")
            if not (type(trial) is int and trial > last):
                self.find(f"lease of trial {trial!r:.40}", "is out of order")
                return
            last = trial


def scan_folder(folder: Path) -> Scan:
    """What is left of a study in a folder."""
    found = Scan()
    _look_for_links(folder, found)
    linked = {finding.where for finding in found.findings}
    if not linked & {NAME, f"{NAME}-wal", f"{NAME}-shm", f"{NAME}-journal", HEAD_NAME}:
        with tempfile.TemporaryDirectory(prefix="priorband-") as temporary:
            place = Path(temporary)
            try:
                copied(folder, place)
            except OSError as error:
                raise StorageError(f"{folder} cannot be read ({error}).") from error
            _read_folder(place, found, folder)
    return found


def _look_for_links(folder: Path, found: Scan) -> None:
    """A study's own names must be files and folders; what lies in checkpoints is its user's."""
    names = [NAME, f"{NAME}-wal", f"{NAME}-shm", f"{NAME}-journal", HEAD_NAME, LOCK_NAME]
    names += _below(folder, "trials")
    for name in names:
        try:
            mode = os.lstat(folder / name).st_mode
        except OSError:
            continue
        if stat.S_ISLNK(mode):
            found.find(name, "is a link, which is never followed")
        elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            found.find(name, "is neither a file nor a folder")


def _below(folder: Path, name: str, depth: int = 2) -> Iterator[str]:
    yield name
    path = folder / name
    if depth and path.is_dir() and not path.is_symlink():
        for entry in sorted(os.listdir(path)):
            yield from _below(folder, f"{name}/{entry}", depth - 1)


def _read_folder(place: Path, found: Scan, folder: Path) -> None:
    _read_head(place, found)
    database = place / NAME
    if database.exists() and (database.stat().st_size or (place / LOG_IMAGE).exists()):
        _read_database(database, found)
        foreign = not found.ours and not (place / HEAD_NAME).exists()
        nothing = found.head == (0, 0) and not found.findings
    else:
        found.find(NAME, "is empty" if database.exists() else "is missing")
        foreign, nothing = not (place / HEAD_NAME).exists(), found.head == (0, 0)
    if not found.rows and (foreign or nothing):
        raise FormatError(f"There is no study in {folder}. Mend the path.")
    _carve(place, found)


def _read_head(place: Path, found: Scan) -> None:
    if not (place / HEAD_NAME).exists():
        found.find(HEAD_NAME, "is missing, so later records may be, too")
        return
    try:
        found.head = HighWater(place).read()
    except DamagedError:
        found.find(HEAD_NAME, "is damaged, so it cannot be told whether later records are missing")


def _read_database(path: Path, found: Scan) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        parts = [_set_up, _read_schema, _read_records, _read_leases, _check_integrity]
        for part in parts:
            try:
                part(connection, found)
            except (sqlite3.Error, UnicodeError, OverflowError) as error:
                found.find(NAME, f"cannot be read in full: {error}")
                if part in (_set_up, _read_schema):
                    return


def _set_up(connection: sqlite3.Connection, found: Scan) -> None:
    del found
    set_up(connection)


def _read_schema(connection: sqlite3.Connection, found: Scan) -> None:
    ask = connection.execute
    (number,) = ask("PRAGMA application_id").fetchone()
    (found.version,) = ask("PRAGMA user_version").fetchone()
    schema = {text for (text,) in ask("SELECT sql FROM sqlite_master").fetchall()}
    found.ours = number == OURS
    if not found.ours:
        found.find(NAME, f"has the application id {number:#x}, a study's is {OURS:#x}")
    if found.version != FORMAT:
        found.find(NAME, f"has format {found.version}, this library writes {FORMAT}")
    if schema != set(TABLES):
        found.find(NAME, "has other tables than a study's")
    found.tables = schema


def _read_records(connection: sqlite3.Connection, found: Scan) -> None:
    if TABLES[0] not in found.tables:
        return
    query = f"SELECT {COLUMNS} FROM main.record WHERE seq BETWEEN ? AND ? ORDER BY seq"
    last = max(found.head[0] if found.head else 0, _largest(connection))
    errors = (sqlite3.Error,)
    lost = gather(lambda low, high: connection.execute(query, (low, high)), last, found, errors)
    if lost:
        found.find(NAME, f"cannot be read in full: {lost}")


def _read_leases(connection: sqlite3.Connection, found: Scan) -> None:
    if TABLES[1] in found.tables:
        found.take_leases(connection.execute(sql.LEASES.format(s="main.")))


def _check_integrity(connection: sqlite3.Connection, found: Scan) -> None:
    for (problem,) in connection.execute("PRAGMA integrity_check(20)").fetchall():
        if problem != "ok":
            found.find(NAME, f"fails SQLite's check: {' '.join(str(problem).split()):.200}")


def _largest(connection: sqlite3.Connection) -> int:
    try:
        found = connection.execute("SELECT max(seq) FROM main.record").fetchone()[0]
    except sqlite3.Error:
        return 0
    return found if type(found) is int else 0


Query = Callable[[int, int], Any]


def gather(query: Query, last: int, found: Scan, errors: tuple[type[Exception], ...]) -> str:
    """Take in the records of a table; around what cannot be read, in ever smaller ranges.

    Gives back what went wrong first.
    """
    expected: tuple[type[Exception], ...] = (*errors, OverflowError, ValueError)
    ranges, failures = [(-_MOST - 1, 0), (1, last), (last + 1, _MOST)][::-1], list[str]()
    while ranges and len(failures) < _FAILURES:
        low, high = ranges.pop()
        try:
            for columns in query(low, high):
                if not (type(columns[0]) is int and low <= columns[0]):
                    raise ValueError("records are out of order")
                low = columns[0] + 1
                if not found.take(columns):
                    found.spoilt.add(columns[0])
        except expected as error:
            failures.append(str(error))
            if 1 <= low < high <= last:
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]
    return failures[0] if failures else ""


def _carve(place: Path, found: Scan) -> None:
    """Records that no query finds: only those that were written, or may have been."""
    known = set(found.rows)
    last = max([found.head[0] if found.head else 0, *known], default=0)
    if found.head is not None and len([n for n in known if 1 <= n <= last]) == last:
        return
    if found.head is None and known and not any(f.where == NAME for f in found.findings):
        return
    for columns in carve(place / NAME, place / LOG_IMAGE):
        number = columns[0]
        wanted = type(number) is int and number > 0 and number not in known
        if wanted and (found.head is None or number <= last) and found.take(columns):
            found.find(NAME, "hides records from SQLite that are in its pages or its log's")
