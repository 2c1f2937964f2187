r"""The filter: a typed expression that picks trials, such as `lr < 1e-3 and origin = prior`.

    expression  or-part { "or" or-part }
    or-part     and-part { "and" and-part }
    and-part    "not" and-part | "(" expression ")" | comparison | word
    comparison  column operator value | column "in" "(" value { "," value } ")"
    operator    = == != < <= > >= ~ (contains, without regard to case)
    value       number | word | "text" | 'text' | none

A column is a name of the table or of a parameter; `config.x` is always the parameter. A name with
other characters is written in backticks. A word by itself looks for it in all columns of words. A
cell that is missing passes no comparison, except with `none`.

The page filters by itself (`static/filter.js`). This is for analyses that are computed here.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from priorband.dashboard.binary_columns import TableColumn
from priorband.errors import ArgumentError

Mask = NDArray[np.bool_]

LONGEST = 2000
"""Characters of a filter."""
DEEPEST = 50
"""How deep parentheses and `not` may be nested."""
_TOKEN = re.compile(
    r"""\s*(?:(?P<name>`[^`]*`)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<operator><=|>=|==|!=|[=<>~(),])|(?P<word>[^\s=<>!~(),`"']+))""",
    re.DOTALL,
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPERATORS = (*_COMPARE, "==", "~")


class _Token(NamedTuple):
    kind: str
    text: str


class _Value(NamedTuple):
    text: str
    number: float | None
    is_none: bool


def filter_mask(text: str, columns: Sequence[TableColumn]) -> Mask:
    """Which rows of a table pass a filter; all rows if it is empty.

    Raises:
        ArgumentError: if the filter cannot be read, or names a column that is not there.
    """
    rows = len(columns[0].data) if columns else 0
    if len(text) > LONGEST:
        raise ArgumentError(f"`filter` must have at most {LONGEST} characters, got {len(text)}.")
    if not text.strip():
        return np.ones(rows, bool)
    return _Filter([*_tokens(text)], columns, rows).mask()


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while text[position:].strip():
        found = _TOKEN.match(text, position)
        if found is None:
            raise _mistake(f"unexpected {text[position:].strip()[0]}")
        position = found.end()
        kind = str(found.lastgroup)
        raw = found[kind]
        if kind == "text":
            raw = re.sub(r"\\(.)", r"\1", raw[1:-1], flags=re.DOTALL)
        yield _Token(kind, raw[1:-1] if kind == "name" else raw)


def _mistake(message: str) -> ArgumentError:
    return ArgumentError(f"`filter` cannot be read: {message}.")


@final
class _Filter:
    """Reads the tokens once, and computes masks as it goes."""

    def __init__(self, tokens: list[_Token], columns: Sequence[TableColumn], rows: int) -> None:
        self._tokens, self._next = tokens, 0
        self._columns, self._rows = columns, rows
        self._depth = 0

    def mask(self) -> Mask:
        found = self._either()
        if self._peek().kind != "end":
            raise _mistake(f"expected `and` or `or` before {self._peek().text}")
        return found

    def _peek(self, offset: int = 0) -> _Token:
        place = self._next + offset
        return self._tokens[place] if place < len(self._tokens) else _Token("end", "")

    def _take(self) -> _Token:
        self._next += 1
        return self._peek(-1)

    def _is_word(self, word: str) -> bool:
        return self._peek().kind == "word" and self._peek().text.lower() == word

    def _is_operator(self, text: str, offset: int = 0) -> bool:
        return self._peek(offset) == ("operator", text)

    def _expect(self, text: str) -> None:
        if not self._is_operator(text):
            raise _mistake(f"expected {text}")
        self._take()

    def _either(self) -> Mask:
        found = self._both()
        while self._is_word("or"):
            self._take()
            found = found | self._both()
        return found

    def _both(self) -> Mask:
        found = self._one()
        while self._is_word("and"):
            self._take()
            found = found & self._one()
        return found

    def _one(self) -> Mask:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _mistake("it is nested too deep")
        try:
            if self._is_word("not"):
                self._take()
                return ~self._one()
            if self._is_operator("("):
                self._take()
                found = self._either()
                self._expect(")")
                return found
            return self._test()
        finally:
            self._depth -= 1

    def _test(self) -> Mask:
        subject = self._take()
        if subject.kind == "end":
            raise _mistake("something is missing at the end")
        if subject.kind == "operator" or self._is_joining(subject):
            raise _mistake(f"expected a column before {subject.text}")
        sign = self._peek()
        if sign.kind == "operator" and sign.text in _OPERATORS:
            self._take()
            name = "=" if sign.text == "==" else sign.text
            return _compared(self._column(subject.text), name, self._value())
        if self._is_word("in") and self._is_operator("(", 1):
            self._next += 2
            return self._among(self._column(subject.text))
        return self._search(subject.text)

    def _is_joining(self, token: _Token) -> bool:
        return token.kind == "word" and token.text.lower() in ("and", "or")

    def _among(self, column: TableColumn) -> Mask:
        found = _compared(column, "=", self._value())
        while self._is_operator(","):
            self._take()
            found = found | _compared(column, "=", self._value())
        self._expect(")")
        return found

    def _value(self) -> _Value:
        token = self._take()
        if token.kind in ("operator", "end"):
            raise _mistake("expected a value")
        plain = token.kind == "word"
        is_none = plain and token.text.lower() == "none"
        is_number = plain and not is_none and _NUMBER.fullmatch(token.text) is not None
        return _Value(token.text, float(token.text) if is_number else None, is_none)

    def _column(self, name: str) -> TableColumn:
        """The column that a name means: of the table first, then a parameter, then a metric."""
        tests: tuple[Callable[[TableColumn], bool], ...] = (
            lambda one: one.name == name,
            lambda one: one.label == name and one.group == "config",
            lambda one: one.label == name,
            lambda one: one.label.lower() == name.lower(),
        )
        for test in tests:
            for column in self._columns:
                if test(column):
                    return column
        raise _mistake(f"there is no column {name}")

    def _search(self, text: str) -> Mask:
        found = np.zeros(self._rows, bool)
        for column in self._columns:
            if column.words is not None:
                found |= _word_mask(column, lambda word: text.lower() in word.lower())
        return found


def _missing(column: TableColumn) -> Mask:
    found: Mask = np.isnan(column.data) if column.type[0] == "f" else column.data < 0
    return found


def _word_mask(column: TableColumn, test: Callable[[str], bool]) -> Mask:
    """Words are tested once each, not once for each row."""
    passes = np.array([*map(test, column.words or ()), False], bool)
    found: Mask = passes[np.where(_missing(column), len(passes) - 1, column.data)]
    return found


def _compared(column: TableColumn, sign: str, value: _Value) -> Mask:
    missing = _missing(column)
    if value.is_none:
        if sign not in ("=", "!="):
            raise _mistake("none can only be compared with = and !=")
        return missing if sign == "=" else ~missing
    if column.words is not None:
        return _word_mask(column, lambda word: _passes(word, sign, value))
    if sign == "~":
        texts = np.array([value.text in _shown(number) for number in column.data.tolist()], bool)
        return texts & ~missing
    if value.number is None:
        raise _mistake(f"{column.label} is compared with a number, not {value.text}")
    found: Mask = _COMPARE[sign](column.data, value.number) & ~missing
    return found


def _passes(word: str, sign: str, value: _Value) -> bool:
    lower, wanted = word.lower(), value.text.lower()
    if sign == "~":
        return wanted in lower
    if sign in ("=", "!="):
        return (lower == wanted) == (sign == "=")
    if value.number is not None and _NUMBER.fullmatch(word):
        return bool(_COMPARE[sign](float(word), value.number))
    return bool(_COMPARE[sign](lower, wanted))


def _shown(number: float) -> str:
    """A number as JavaScript writes it, for whole numbers and usual fractions."""
    return str(int(number)) if float(number).is_integer() else repr(number)
