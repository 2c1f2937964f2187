"""Verifying that records are what was written, by their seals.

Each record's seal follows from the record and from the seal before it. After a record whose seal
does not match, verification continues with the seal that is stored with it. So each bad record is
found, and the records after it are not blamed for it.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, final

from priorband.repair.scan import Finding, Scan
from priorband.storage import sql
from priorband.storage.high_water import HEAD_NAME
from priorband.storage.journal import Row, sealed
from priorband.values import frozen

Status = Literal["proven", "unproven", "bad seal", "bad"]
"""How sure it is that a record is what was written.

- "proven": its seal follows from the record before.
- "unproven": the record before is missing, so its seal cannot be checked.
- "bad seal": only the stored seal is wrong. The seal of the next record, or the head file, confirms
  the rest.
- "bad": the record is not what was written.
"""

_CHANGED = "is not what was written"
_MISTYPED = "has a column of the wrong type"
_BAD_NUMBER = "has a number that no record has"
_BAD_SEAL = "has another checksum than was written; all else in it is intact"


@final
@frozen
class Verification:
    """The records that are intact, and what is wrong with the others."""

    rows: tuple[Row, ...]
    """The intact records, in order."""
    lost: tuple[Finding, ...]
    """Records that are missing, or are not what was written."""
    doubts: tuple[Finding, ...]
    """Other problems, which cost no record."""


class _CheckedRow(NamedTuple):
    row: Row
    status: Status
    expected_seal: int


def verified(scan: Scan) -> Verification:
    """Verify the records that a scan has read."""
    head_number, head_seal = scan.head or (0, 0)
    checked: list[_CheckedRow] = []
    for number in sorted(scan.rows):
        if number >= 1:
            _check_next(checked, scan.rows[number])
    if checked and checked[-1].status == "bad":
        head_confirms = (checked[-1].row.seq, checked[-1].expected_seal) == (head_number, head_seal)
        if head_number and head_confirms:
            _mark_bad_seal(checked)
    if scan.head is not None:
        checked = [
            _doubted(item, checked[index + 1 : index + 2], head_number)
            for index, item in enumerate(checked)
        ]
    rows = tuple(item.row for item in checked if item.status != "bad")
    last = max([head_number, *(row.seq for row in rows[-1:])])
    problems = {item.row.seq: _CHANGED for item in checked if item.status == "bad"}
    problems |= dict.fromkeys(scan.mistyped, _MISTYPED)
    problems |= dict.fromkeys(scan.too_large - scan.rows.keys(), sql.TOO_LARGE)
    problems |= dict.fromkeys((number for number in scan.rows if number < 1), _BAD_NUMBER)
    return Verification(
        rows,
        tuple(_lost(problems, {row.seq for row in rows} - scan.mistyped, last)),
        (*_bad_seals(checked), *_head_mismatch(checked, head_number, head_seal)),
    )


def _check_next(checked: list[_CheckedRow], candidates: Sequence[Row]) -> None:
    """Check the next number's candidates, and append the best one.

    If its seal fits the seal that the last record should have had, then only the seal of that last
    record was wrong.
    """
    before = checked[-1] if checked else None
    number = candidates[0].seq
    if number != (before.row.seq if before else 0) + 1:
        checked.append(_CheckedRow(candidates[0], "unproven", candidates[0].seal))
        return
    stored, expected = (before.row.seal, before.expected_seal) if before else (0, 0)
    for row in candidates:
        if sealed(stored, row) == row.seal:
            checked.append(_CheckedRow(row, "proven", row.seal))
            return
        if sealed(expected, row) == row.seal:
            _mark_bad_seal(checked)
            checked.append(_CheckedRow(row, "proven", row.seal))
            return
    checked.append(_CheckedRow(candidates[0], "bad", sealed(stored, candidates[0])))


def _mark_bad_seal(checked: list[_CheckedRow]) -> None:
    checked[-1] = checked[-1]._replace(status="bad seal")


def _doubted(item: _CheckedRow, following: Sequence[_CheckedRow], head_number: int) -> _CheckedRow:
    """Call an unproven record bad if it is later than the head and no later record confirms it."""
    confirmed = any(
        other.row.seq == item.row.seq + 1 and other.status == "proven" for other in following
    )
    doubtful = item.status == "unproven" and item.row.seq > head_number and not confirmed
    return item._replace(status="bad") if doubtful else item


def _lost(problems: dict[int, str], intact: set[int], last: int) -> Iterator[Finding]:
    """The records that are bad, and those that are missing in between, by number."""
    before = 0
    for number in [*sorted(problems.keys() | intact), last + 1]:
        if before + 1 < number <= last + 1:
            yield _missing(before + 1, number - 1)
        if number in problems:
            yield Finding(f"record {number}", problems[number])
        before = max(before, min(number, last))


def _missing(first: int, last: int) -> Finding:
    if first == last:
        return Finding(f"record {first}", "is missing")
    return Finding(f"records {first} to {last}", "are missing")


def _bad_seals(checked: Sequence[_CheckedRow]) -> Iterator[Finding]:
    for item in checked:
        if item.status == "bad seal":
            yield Finding(f"record {item.row.seq}", _BAD_SEAL)


def _head_mismatch(
    checked: Sequence[_CheckedRow], head_number: int, head_seal: int
) -> Iterator[Finding]:
    """A finding if the head file names a record with another seal than it has or should have."""
    for row, status, expected_seal in checked:
        wrong = head_seal not in (row.seal, expected_seal)
        if row.seq == head_number and status != "bad" and wrong:
            yield Finding(HEAD_NAME, f"says that record {row.seq} was another one")
