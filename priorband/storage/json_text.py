"""The text of stored data: JSON in plain ASCII, with a limit on its length."""

import json
from typing import Any

from priorband.errors import FormatError

LONGEST = 4_000_000  # characters; a longer text was not written by this library


def to_json(data: dict[str, Any]) -> str:
    """Return `data` as JSON in plain ASCII, without NaN and infinities."""
    text = _encode(data)
    if len(text) > LONGEST:
        raise FormatError(
            f"A record of {len(text)} characters is too long: up to {LONGEST} are allowed."
        )
    return text


def from_json(text: str) -> dict[str, Any]:
    """Return the object that `text` stands for, or raise `FormatError`."""
    if len(text) > LONGEST:
        raise FormatError(f"it has {len(text)} characters, {LONGEST} are allowed")
    try:
        data, end = _decode(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"it is not JSON ({error})") from None
    if type(data) is not dict or end != len(text):
        raise FormatError("it is not a JSON object")
    return data


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not allowed")


_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_decode = json.JSONDecoder(parse_constant=_no_constant).raw_decode
