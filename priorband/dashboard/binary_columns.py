"""Columns of numbers and words as bytes, which a browser reads as typed arrays without parsing.

The form, all little-endian: four bytes with the length of the header; the header, JSON in UTF-8;
then the blocks, each at a multiple of eight bytes. The header is an
object with `about` (anything) and `columns`, a list of objects:

    name    the column's name, unique in the table
    label   what people call it
    group   "trial", "config" or "metric"
    type    "f8", "f4", "i4" or "u1": the type of each number in the block
    offset  where the block begins, from the end of the header
    length  how many numbers it has
    words   only for columns of words: each number is an index into this list, -1 is none

A missing number is NaN in a column of floats, and -1 in one of whole numbers.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.values import frozen

ALIGNMENT = 8
TYPES: dict[str, "np.dtype[Any]"] = {
    name: np.dtype(f"<{name}") for name in ("f8", "f4", "i4", "u1")
}


@final
@frozen
class TableColumn:
    """A column of numbers, or of words as indexes into a list."""

    name: str
    label: str
    group: str
    type: str
    data: NDArray[Any]
    words: tuple[str, ...] | None = None
    more: Mapping[str, Any] | None = None
    """What else the header says about it, such as the bounds of a parameter."""


def packed_columns(columns: Sequence[TableColumn], about: Mapping[str, Any]) -> bytes:
    """Columns and what there is to say about them, in the form above.

    >>> column = TableColumn("value", "value", "trial", "f8", np.array([0.5]))
    >>> len(packed_columns([column], {"rows": 1})) % 8
    0
    """
    blocks = [np.ascontiguousarray(one.data, TYPES[one.type]).tobytes() for one in columns]
    blocks = [block + bytes(-len(block) % ALIGNMENT) for block in blocks]
    offsets = [0, *accumulate(map(len, blocks))]
    header = _header(columns, offsets, about)
    header += b" " * (-(4 + len(header)) % ALIGNMENT)
    return b"".join([len(header).to_bytes(4, "little"), header, *blocks])


def _header(
    columns: Sequence[TableColumn], offsets: Sequence[int], about: Mapping[str, Any]
) -> bytes:
    described = [
        {
            **(one.more or {}),
            **{"name": one.name, "label": one.label, "group": one.group, "type": one.type},
            **{"offset": offset, "length": len(one.data)},
            **({} if one.words is None else {"words": list(one.words)}),
        }
        for one, offset in zip(columns, offsets, strict=False)
    ]
    data = {"about": dict(about), "columns": described}
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()
