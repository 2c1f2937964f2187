"""The filter: which rows it lets through, and what it says of a mistake."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priorband.dashboard.binary_columns import TYPES, TableColumn
from priorband.dashboard.filters import DEEPEST, LONGEST, filter_mask
from priorband.errors import ArgumentError

CASES = json.loads((Path(__file__).parent.parent / "data" / "filter_cases.json").read_text())


def table() -> list[TableColumn]:
    return [_column(one) for one in CASES["table"]]


def _column(one: dict[str, Any]) -> TableColumn:
    data = np.array([np.nan if x is None else x for x in one["data"]]).astype(TYPES[one["type"]])
    words = tuple(one["words"]) if "words" in one else None
    return TableColumn(one["name"], one["label"], one["group"], one["type"], data, words)


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["filter"])
def test_a_filter_lets_through_the_rows_that_it_describes(case: dict[str, Any]) -> None:
    assert np.flatnonzero(filter_mask(case["filter"], table())).tolist() == case["rows"]


@pytest.mark.parametrize("text", CASES["mistakes"])
def test_a_mistake_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ArgumentError, match="`filter` cannot be read: "):
        filter_mask(text, table())


def test_a_filter_is_neither_too_long_nor_too_deep() -> None:
    with pytest.raises(ArgumentError, match="at most"):
        filter_mask("x" * (LONGEST + 1), table())
    with pytest.raises(ArgumentError, match="too deep"):
        filter_mask("(" * (DEEPEST + 1) + "lr < 3" + ")" * (DEEPEST + 1), table())


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_a_mistake(text: str) -> None:
    try:
        mask = filter_mask(text, table())
    except ArgumentError:
        return
    assert mask.shape == (5,)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=1), st.floats(-9, 9))
def test_a_comparison_and_its_opposite_part_the_rows_that_have_a_value(
    values: list[float], bound: float
) -> None:
    column = TableColumn("x", "x", "config", "f8", np.array(values))
    below, above = (filter_mask(f"x {sign} {bound!r}", [column]) for sign in ("<", ">="))
    assert not (below & above).any()
    assert (below | above).tolist() == (~np.isnan(values)).tolist()
