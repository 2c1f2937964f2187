"""Positions in TOML: every key and value is found where the parser has read it."""

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from priorband.study_file.positions import Path, find_positions, line_and_column

TRICKY = {
    "dotted keys": "a.b.c = 1\na . \"d e\" . 'f.g' = 2\n",
    "sections": "[a]\nb = 1\n[a.c]\nd = 2\n[ x . y ]\nz = 3\n",
    "sections out of order": "[a.b.c]\nd = 1\n[a]\ne = 2\n",
    "inline tables": "a = { b = 1, c.d = [1, { e = 2 }], f = {} }\n",
    "arrays over lines": 'a = [ # one\n  "x", # , ] }\n  [1, 2,], # two\n\n  3,\n]\nb = 1\n',
    "long strings": 'a = """\none = "1"\n[b]\n\\""" """\nb = \'\'\'x = 1\n]\'\'\'\n',
    "quotes in long strings": 'c = """"q"""""\nd = 1\n',
    "strings with everything": 'a = "# [ { = \\" ,"\nb = \'\\\' # "\nc = ["]", "}", ","]\n',
    "empty strings": "a = \"\"\nb = ''\nc = \"\"\"\"\"\"\nd = ''''''\n",
    "quoted keys": '"a b" = 1\n\'c"d\' = 2\n"\\u00e9\\"" = 3\n"" = 4\n',
    "lists of tables": "[[a]]\nb = 1\n[a.c]\nd = 2\n[[a]]\nb = 3\n[[a.e]]\nf = 4\n[[a.e]]\nf = 5\n",
    "dates and numbers": "a = 1979-05-27 07:32:00 # x\nb = 1_000\nc = -inf\nd = 0xff\ne=true\n",
    "no line break at the end": "a = 1\n[b]\nc = 'x'",
    "comments and spaces": "# a = 1\n\n\t \n  b\t=\t1\t# c = 2\n",
    "other alphabets": '"ключ" = "значение"\nb = ["日本", 1]\n',
}


def leaves(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every key and every list item, with its value."""
    items: Any = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield (*path, key), value
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))


def check(text: str) -> None:
    """The text at each position must mean what the parser has found there."""
    found, parsed = find_positions(text), dict(leaves(tomllib.loads(text)))
    assert found.keys() == parsed.keys()
    for path, position in found.items():
        key, value = (text[span.start : span.end] for span in (position.key, position.value))
        if not isinstance(path[-1], int):
            assert tomllib.loads(f"{key} = 1") == {path[-1]: 1}
        if not isinstance(parsed[path], dict) and not value.startswith("[["):
            assert tomllib.loads(f"x = {value}") == {"x": parsed[path]}


@pytest.mark.parametrize("text", TRICKY.values(), ids=TRICKY)
def test_each_position_holds_what_the_parser_read(text: str) -> None:
    check(text)


def quoted(text: str) -> str:
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{escaped}"'


words = st.text(st.characters(codec="utf-8"), max_size=6)
scalars = st.one_of(
    st.integers(-99, 99).map(str),
    st.booleans().map(lambda flag: str(flag).lower()),
    words.map(quoted),
    st.sampled_from(["'#,]}'", '"""a\n"b" = 1"""', "'''x\n'''", "1e-3", "07:32:00"]),
)
gaps = st.sampled_from(["", " ", "\n", " # ] , }\n  "])


def lists(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def text(items: list[str], gap: str) -> str:
        return f"[{gap}{f'{gap},{gap}'.join(items)}{gap}]"

    return st.builds(text, st.lists(values, max_size=3), gaps)


def tables(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def text(pairs: dict[str, str]) -> str:
        return "{ " + ", ".join(f"{quoted(key)} = {item}" for key, item in pairs.items()) + " }"

    return st.dictionaries(words, values, max_size=3).map(text)


values = st.recursive(scalars, lambda inner: lists(inner) | tables(inner), max_leaves=6)
sections = st.dictionaries(words, st.dictionaries(words, values, max_size=3), max_size=3)


@settings(max_examples=examples(150), deadline=None)
@given(sections)
def test_positions_of_any_text_hold_what_the_parser_read(data: dict[str, dict[str, str]]) -> None:
    lines = []
    for name, pairs in data.items():
        lines.append(f"[ {quoted(name)} ] # {name!r}")
        lines += [f"{quoted(key)}\t= {item}" for key, item in pairs.items()]
    check("\n".join(lines))


def test_lines_and_columns_count_from_one() -> None:
    assert [line_and_column("ab\n\ncd", at) for at in (0, 1, 3, 4, 5)] == [
        (1, 1),
        (1, 2),
        (2, 1),
        (3, 1),
        (3, 2),
    ]
