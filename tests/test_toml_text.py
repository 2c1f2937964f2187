"""What is written as TOML is read back as the same value."""

import tomllib
from typing import Any

import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from priorband.errors import FormatError
from priorband.toml_text import comment, toml_key, toml_list, toml_value

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.one_of(
    TEXT, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=8
)


@settings(max_examples=examples(200))
@given(key=TEXT, value=VALUES)
def test_every_value_comes_back_from_the_parser(key: str, value: Any) -> None:
    text = f"{toml_key(key)} = {toml_value(value)}\n"
    assert tomllib.loads(text) == {key: value}


@settings(max_examples=examples(100))
@given(items=st.lists(TEXT, min_size=1))
def test_a_list_of_words_comes_back_from_the_parser(items: list[str]) -> None:
    assert tomllib.loads(toml_list(items, "command")) == {"command": items}


@settings(max_examples=examples(100))
@given(text=st.text())
def test_a_comment_is_never_more_than_a_comment(text: str) -> None:
    made = comment(text)
    assert tomllib.loads(f"{made}\na = 1\n") == {"a": 1}
    made.encode()


def test_half_of_a_surrogate_pair_becomes_a_replacement_character() -> None:
    assert tomllib.loads(f"a = {toml_value(chr(0xD800))}") == {"a": "\ufffd"}


@pytest.mark.parametrize(
    ("number", "text"),
    [(1e-5, "1e-5"), (1e16, "1e16"), (0.001, "0.001"), (1.5e-10, "1.5e-10"), (2.0, "2.0")],
)
def test_numbers_are_written_as_people_write_them(number: float, text: str) -> None:
    assert toml_value(number) == text


def test_what_toml_cannot_hold_is_refused() -> None:
    with pytest.raises(FormatError, match="TOML cannot hold None"):
        toml_value(None)


def test_a_long_list_is_wrapped_at_80_columns() -> None:
    words = [f"--option-{number}" for number in range(20)]
    assert max(map(len, toml_list(words, "command").splitlines())) <= 80
