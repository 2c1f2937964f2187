"""What is left of a damaged study: the records that can still be read, and what is wrong.

Scanning trusts nothing that it reads, and raises no error for damage: damage becomes a `Finding`.
How a storage is read is in `scan_sqlite.py` and `scan_postgres.py`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, final

from priorband.errors import DamagedError
from priorband.storage import sql
from priorband.storage.journal import Row
from priorband.values import frozen

_MAX_NUMBER = 2**63 - 1
_MAX_FAILED_QUERIES = 20_000  # with more, the rest is left to reading single pages


@final
@frozen
class Finding:
    """Something that is wrong with a study, and where."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where} {self.what}"


@final
class Scan:
    """What a scan of a study has read, and what was wrong."""

    def __init__(self) -> None:
        self.rows: dict[int, list[Row]] = {}
        """Records by number. A number has several if pages of the file disagree about it."""
        self.mistyped: set[int] = set()
        """The numbers of records with a column of the wrong type."""
        self.too_large: set[int] = set()
        """The numbers of records that have too many bytes to be read."""
        self.head: tuple[int, int] | None = None
        """The last record's number and seal, from the head file; None if that is not known."""
        self.is_study = False
        """Whether the file says that it is a study."""
        self.version = 0
        """The version of the format that the storage says; 0 if that is not known."""
        self.tables: set[str] = set()
        """The statements that created the tables."""
        self.findings: list[Finding] = []
        self.not_checked: list[Finding] = []
        """What could not be looked at, as permission is missing. It may be in order."""

    def add_finding(self, where: str, what: str) -> None:
        """Note something that is wrong, unless it was noted before."""
        if Finding(where, what) not in self.findings:
            self.findings.append(Finding(where, what))

    def add_row(self, columns: Sequence[Any]) -> bool:
        """Add a record; return False if its columns have wrong types."""
        try:
            [row] = sql.checked_rows([columns], "")
        except (DamagedError, TypeError):
            return False
        candidates = self.rows.setdefault(row.seq, [])
        if row not in candidates:
            candidates.append(row)
        return True

    def check_leases(self, results: Iterable[Any]) -> None:
        """Add a finding for each lease with wrong types; stop at one that is out of order."""
        last = -math.inf
        for columns in results:
            trial = columns[0]
            try:
                sql.checked_leases([columns], "")
            except DamagedError:
                self.add_finding(f"lease of trial {trial!r:.40}", "has a column of the wrong type")
            if not (type(trial) is int and trial > last):
                self.add_finding(f"lease of trial {trial!r:.40}", "is out of order")
                return
            last = trial


RangeQuery = Callable[[int, int], Iterable[Any]]
"""A query for the records with numbers from one to another, both included, in order."""


def read_rows(
    scan: Scan,
    query: RangeQuery,
    last: int,
    expected_errors: tuple[type[Exception], ...],
    is_too_large: Callable[[Exception], bool] = lambda error: False,
) -> str:
    """Add all records that a query can read to a scan; return the first error, or "".

    Where a range of numbers up to `last` cannot be read, it is split into halves, again and again,
    so that only the unreadable records are missed. `is_too_large` says whether an error is about
    the size of a record.
    """
    errors: tuple[type[Exception], ...] = (*expected_errors, OverflowError, ValueError)
    ranges = [(last + 1, _MAX_NUMBER), (1, last), (-_MAX_NUMBER - 1, 0)]
    failures = list[str]()
    while ranges and len(failures) < _MAX_FAILED_QUERIES:
        low, high = ranges.pop()
        try:
            for columns in query(low, high):
                if not (type(columns[0]) is int and low <= columns[0]):
                    raise ValueError("records are out of order")
                low = columns[0] + 1
                if not scan.add_row(columns):
                    scan.mistyped.add(columns[0])
        except errors as error:
            if low == high and is_too_large(error):
                scan.too_large.add(low)
                continue
            failures.append("" if is_too_large(error) else str(error))
            if 1 <= low < high <= last:
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]
    return next(filter(None, failures), "")
