"""Records: what a study writes down, as text that JSON can carry.

    created    the problem, the format and the study's id; always the first
    budget     what may be used; the last one counts
    queued     a configuration that a person wants tried
    asked      a trial was handed out to its first attempt, or a result is imported
    adopted    a trial whose attempt had ended was handed out again
    returned   an attempt ended and left its trial to the next: lost, pre-empted, to be retried
    told       a trial ended with a loss
    failed     a trial ended without one
    remark     something that changes nothing, such as a result that came second

Each has a number, a time in the storage's clock and a worker's name, which no decision reads.
"""

import json
import math
import sys
from typing import Any, NamedTuple

from priorband.errors import FormatError

_LARGEST = sys.float_info.max
LONGEST = 4_000_000  # characters of a body; a longer one was not written by us


class Entry(NamedTuple):
    """A record to be written."""

    kind: str
    trial: int | None
    body: dict[str, Any]


def text(body: dict[str, Any]) -> str:
    """A body as it is stored: JSON in plain ASCII, without NaN and infinities."""
    stored = _encode(body)
    if len(stored) > LONGEST:
        raise FormatError(
            f"A record of {len(stored)} characters is too long: up to {LONGEST} are allowed."
        )
    return stored


def body(stored: str) -> dict[str, Any]:
    """A body from its text."""
    if len(stored) > LONGEST:
        raise FormatError(f"it has {len(stored)} characters, {LONGEST} are allowed")
    try:
        data, end = _decode(stored)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"it is not JSON ({error})") from None
    if type(data) is not dict or end != len(stored):
        raise FormatError("it is not a JSON object")
    return data


def member(of: dict[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:
    """A value that a body must have, of a type that it must be of."""
    found = of.get(name)
    if type(found) not in (kind if isinstance(kind, tuple) else (kind,)):
        raise FormatError(f"`{name}` is {found!r:.60}")
    return found


def number(of: dict[str, Any], name: str, least: float = -math.inf) -> float:
    """A finite number that a body must have."""
    found: float = member(of, name, (float, int))
    if not abs(found) <= _LARGEST or found < least:
        raise FormatError(f"`{name}` is {found!r:.60}")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not allowed")


_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_decode = json.JSONDecoder(parse_constant=_no_constant).raw_decode
