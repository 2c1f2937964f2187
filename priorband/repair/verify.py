"""The proof that records are what was written: each one's seal follows from the one before.

After a record that does not, the proof goes on from the seal that is stored with it, so that each
bad record is found, and none that merely follows one.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, final

from priorband.repair.scan import Finding, Scan
from priorband.storage.high_water import NAME as HEAD_NAME
from priorband.storage.journal import Row, sealed
from priorband.values import frozen

Standing = Literal["proven", "unproven", "resealed", "bad"]

_SAID = "is not what was written"
_SPOILT = "has a column of the wrong type"
_ODD = "has a number that no record has"
_RESEALED = "has another checksum than was written; all else in it is intact"


@final
@frozen
class Verification:
    """The records that stand, in order, and what is wrong with the others and between them."""

    rows: tuple[Row, ...]
    lost: tuple[Finding, ...]
    """Records that are missing, or are not what was written."""
    doubts: tuple[Finding, ...]
    """What else is not as it should be."""


class _Link(NamedTuple):
    row: Row
    standing: Standing
    should: int
    """The seal that the record ought to have."""


def verified(remains: Scan) -> Verification:
    """Which of the records that were found are what was written."""
    head = remains.head or (0, 0)
    links: list[_Link] = []
    for number in sorted(remains.rows):
        if number >= 1:
            links += _linked(links[-1] if links else None, remains.rows[number], links)
    if links and links[-1].standing == "bad" and links[-1].row.seq == head[0] != 0:
        _clear_if(links, links[-1].should == head[1])
    if remains.head is not None:
        links = [_doubted(link, links[i + 1 : i + 2], head[0]) for i, link in enumerate(links)]
    rows = tuple(link.row for link in links if link.standing != "bad")
    last = max([head[0], *(row.seq for row in rows[-1:])])
    said = {link.row.seq: _SAID for link in links if link.standing == "bad"}
    said |= dict.fromkeys(remains.spoilt, _SPOILT)
    said |= dict.fromkeys((number for number in remains.rows if number < 1), _ODD)
    return Verification(
        rows,
        tuple(_lost(said, {row.seq for row in rows} - remains.spoilt, last)),
        (*_resealed(links), *_witness(links, head)),
    )


def _linked(before: _Link | None, candidates: Sequence[Row], links: list[_Link]) -> list[_Link]:
    """The next link of the chain; the last one so far is cleared if only its seal was wrong."""
    number = candidates[0].seq
    if number != (before.row.seq if before else 0) + 1:
        return [_Link(candidates[0], "unproven", candidates[0].seal)]
    stored, should = (before.row.seal, before.should) if before else (0, 0)
    for row in candidates:
        if sealed(stored, row) == row.seal:
            return [_Link(row, "proven", row.seal)]
        if sealed(should, row) == row.seal:
            _clear_if(links, True)
            return [_Link(row, "proven", row.seal)]
    return [_Link(candidates[0], "bad", sealed(stored, candidates[0]))]


def _clear_if(links: list[_Link], intact: bool) -> None:
    if intact:
        links[-1] = links[-1]._replace(standing="resealed")


def _doubted(link: _Link, following: Sequence[_Link], known: int) -> _Link:
    """Beyond the last record known of, one that comes after a gap needs another to vouch for it."""
    vouched = any(n.row.seq == link.row.seq + 1 and n.standing == "proven" for n in following)
    doubtful = link.standing == "unproven" and link.row.seq > known and not vouched
    return link._replace(standing="bad") if doubtful else link


def _lost(said: dict[int, str], intact: set[int], last: int) -> Iterator[Finding]:
    """What is wrong, by number: records that are bad, and those that are missing in between."""
    before = 0
    for number in [*sorted(said.keys() | intact), last + 1]:
        if before + 1 < number <= last + 1:
            yield missing(before + 1, number - 1)
        if number in said:
            yield Finding(f"record {number}", said[number])
        before = max(before, min(number, last))


def _resealed(links: Sequence[_Link]) -> Iterator[Finding]:
    for link in links:
        if link.standing == "resealed":
            yield Finding(f"record {link.row.seq}", _RESEALED)


def missing(first: int, last: int) -> Finding:
    """The words for records that are not there."""
    if first == last:
        return Finding(f"record {first}", "is missing")
    return Finding(f"records {first} to {last}", "are missing")


def _witness(links: Sequence[_Link], head: tuple[int, int]) -> Iterator[Finding]:
    """The head must name a record as it is stored, or as it should be."""
    for row, standing, should in links:
        if row.seq == head[0] and standing != "bad" and head[1] not in (row.seal, should):
            yield Finding(HEAD_NAME, f"says that record {row.seq} was another one")
