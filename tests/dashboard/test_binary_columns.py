"""Columns as bytes: what was packed is what a browser reads."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priorband.dashboard.binary_columns import TYPES, TableColumn, packed_columns


def read(data: bytes) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The header and the columns, read as the page does."""
    length = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + length])
    columns = {}
    for one in header["columns"]:
        start = 4 + length + one["offset"]
        assert start % 8 == 0, "a typed array of eight bytes must be aligned"
        found = np.frombuffer(data, TYPES[one["type"]], one["length"], start)
        columns[one["name"]] = found.tolist()
    return header, columns


@given(
    st.lists(st.floats(allow_nan=False), max_size=9),
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=9),
    st.text(max_size=30),
)
def test_what_is_packed_is_what_is_read(reals: list[float], wholes: list[int], word: str) -> None:
    columns = [
        TableColumn("r", word, "config", "f8", np.array(reals)),
        TableColumn("w", "w", "trial", "i4", np.array(wholes, np.int64), (word,)),
        TableColumn("b", "b", "trial", "u1", np.array([1, 2, 3])),
    ]
    header, found = read(packed_columns(columns, {"said": word}))
    assert found == {"r": reals, "w": wholes, "b": [1, 2, 3]}
    assert header["about"] == {"said": word}
    assert header["columns"][0]["label"] == word and header["columns"][1]["words"] == [word]


def test_a_missing_number_is_nan() -> None:
    _, found = read(packed_columns([TableColumn("x", "x", "trial", "f8", np.array([np.nan]))], {}))
    assert np.isnan(found["x"][0])


def test_what_is_said_must_be_plain() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        packed_columns([], {"x": float("nan")})
