"""Mutations: records and files changed at random, by any seed the same."""

import json
import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from stored_studies import PAGE

from priorband.storage.journal import Row

KINDS = (
    *("created", "budget", "queued", "asked", "adopted", "returned", "told", "failed", "remark"),
    *("", "TOLD", "told ", "sold", "told\0", "𝔱old", "'; DROP TABLE record; --", "x" * 10_000),
)
NUMBERS = (0, -1, 1, 2, 7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 0.5, -0.0, 1e-320, 1e308)
ODD: tuple[Any, ...] = (
    *NUMBERS,
    *(10**30, 10**400, -(10**400), True, False, None, "", "0", "nan", "é\u202e", "\ud800", "\0"),
    *("x" * 5_000, [], {}, [[]], [0, 0], [0, 1], {"@": "own"}, {"@": "tuple", "items": [1]}),
    *({"@": "choice", "index": 0}, {"@": "choice", "index": -1}, {"@": "float", "value": "nan"}),
    *({"@": "When", "conditions": conditions} for conditions in ([], [["n", 3]], [["kind", []]])),
    *({"@": "dict", "items": [["at_least", end]]} for end in (2, 0.5, "a", 10**400)),
)
NAMES = ("", "@", "attempt", "config", "fidelity", "kind", "loss", "origin", "parent", "slot")
_MEMBERS = ("", "@", "attempt", "config", "parent", "slot", "loss", "step", "when")
RAW = ("NaN", "-Infinity", "1e999", "-1e999", "1" * 5_000, "[" * 2_000, '{"a":' * 2_000, "\ufeff{}")
COLUMNS: dict[str, tuple[Any, ...]] = {
    "kind": (*KINDS, b"told", 3),
    "trial": (None, 0, 1, 5, -1, 10**6, 2**62, 2**63 - 1, 1.5, "0", b"0"),
    "worker": ("", "x" * 10_000, "\n\x1b[2J", b"me", 7, "\0"),
    "at": (0.0, -1.0, 1e18, math.inf, -math.inf, "now", b"", 3),
    "seal": (0, -1, 2**32, 2**63 - 1, "seal", b"seal", 0.5),
}


def mutated_rows(genuine: Sequence[Row], random: Random) -> list[Row]:
    """Records with one to three changes; a number is never there twice."""
    found = list(genuine)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        change = random.choice((_body, _body, _body, _text, _column, _column, _order))
        change(found, random)
    return [*{row.seq: row for row in found}.values()]


def _body(found: list[Row], random: Random) -> None:
    """Change, add or take out something within a body."""
    at = random.randrange(len(found))
    try:
        data = json.loads(found[at].body)
    except (TypeError, ValueError, RecursionError):
        return
    nodes = _nodes(data)
    if not nodes:
        return
    inner, name = random.choice(nodes)
    how = random.randrange(4)
    if how == 0:
        del inner[name]
    elif how == 1 and isinstance(inner, dict):
        inner[random.choice(_MEMBERS)] = _odd(random)
    elif how == 2:
        inner[name] = random.choice(nodes)[0]  # something from elsewhere, perhaps around itself
    else:
        inner[name] = _odd(random)
    try:
        text = json.dumps(data, separators=(",", ":"))
    except (ValueError, RecursionError):  # it is around itself
        return
    found[at] = found[at]._replace(body=text)


def _nodes(data: Any) -> list[tuple[Any, Any]]:
    """Every place within plain data, as what holds it and its name there."""
    if not isinstance(data, dict | list):
        return []
    names = list(data) if isinstance(data, dict) else list(range(len(data)))
    inner = [node for name in names for node in _nodes(data[name])]
    return [(data, name) for name in names] + inner


def _odd(random: Random) -> Any:
    return json.loads(json.dumps(random.choice(ODD)))


def _text(found: list[Row], random: Random) -> None:
    """Change a body's text."""
    at = random.randrange(len(found))
    text = str(found[at].body)
    start = random.randrange(len(text) + 1)
    stop = min(start + random.choice((0, 1, 1, 5, 100)), len(text))
    inserted = random.choice(("", "", "0", '"', "{", "]", ",", "\\", "\0", *RAW))
    found[at] = found[at]._replace(body=text[:start] + inserted + text[stop:])


def _column(found: list[Row], random: Random) -> None:
    at, name = random.randrange(len(found)), random.choice(tuple(COLUMNS))
    found[at] = found[at]._replace(**{name: random.choice(COLUMNS[name])})


def _order(found: list[Row], random: Random) -> None:
    """Take out, swap, repeat or renumber records."""
    at, other = random.randrange(len(found)), random.randrange(len(found))
    how = random.randrange(4)
    if how == 0 and len(found) > 1:
        del found[at]
    elif how == 1:
        one, two = found[at], found[other]
        found[at], found[other] = two._replace(seq=one.seq), one._replace(seq=two.seq)
    elif how == 2:
        found.append(found[at]._replace(seq=found[-1].seq + 1))
    else:
        number = random.choice((0, -1, 10**6, 2**63 - 1, -(2**63), found[other].seq))
        found[at] = found[at]._replace(seq=number)


Mutation = Callable[[bytearray, Random], object]


def mutated_bytes(data: bytes, random: Random) -> bytes:
    """A file with one to three changes."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if changed:
            random.choice(_CHANGES)(changed, random)
    return bytes(changed)


def _flip(data: bytearray, random: Random) -> None:
    data[_offset(data, random)] ^= 1 << random.randrange(8)


def _set(data: bytearray, random: Random) -> None:
    data[_offset(data, random)] = random.choice(
        (0, 1, 0x0D, 0x7F, 0x80, 0xFF, random.randrange(256))
    )


def _offset(data: bytearray, random: Random) -> int:
    """Anywhere, but more often in a file's header, or in a page's."""
    reach = random.choice((len(data), 100, 100))
    page = random.randrange(len(data) // PAGE + 1) * PAGE if random.random() < 0.5 else 0
    return min(page + random.randrange(reach), len(data) - 1)


def _block(data: bytearray, random: Random) -> None:
    """Write zeros, ones, noise or another stretch of the file over a stretch of it."""
    length = random.choice((2, 4, 8, 64, 512, PAGE))
    start = random.randrange(len(data)) // length * length
    stretch = data[start : start + length]
    other = random.randrange(len(data)) // length * length
    new = random.choice(
        (bytes(length), b"\xff" * length, random.randbytes(length), data[other : other + length])
    )
    data[start : start + length] = new[: len(stretch)].ljust(len(stretch), b"\0")


def _cut(data: bytearray, random: Random) -> None:
    del data[random.choice((random.randrange(len(data)), len(data) // PAGE // 2 * PAGE)) :]


def _grow(data: bytearray, random: Random) -> None:
    data += random.choice((b"\0", random.randbytes(100), bytes(PAGE), bytes(data[:PAGE])))


def _shift(data: bytearray, random: Random) -> None:
    at = random.randrange(len(data))
    data[at:at] = random.randbytes(random.choice((1, 4, 512)))


_CHANGES: tuple[Mutation, ...] = (
    _flip,
    _flip,
    _set,
    _set,
    _block,
    _block,
    _cut,
    _grow,
    _shift,
)
