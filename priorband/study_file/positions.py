"""Where each key and each value of a TOML text is: the parser of the standard library does not say.

`find_positions` is for text that `tomllib` has accepted. It finds where things begin and end, and
leaves what they mean to the parser.
"""

import re
import tomllib
from typing import Any, final

from priorband.values import frozen

Path = tuple[str | int, ...]
"""The keys and the indices of list items that lead to a value."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
_LONG_BASIC = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}(?!")', re.DOTALL)
_LONG_LITERAL = re.compile(r"'''.*?'{3,5}(?!')", re.DOTALL)
_OTHER = re.compile(r"[^,\]}#\n]+")
_SPACE = re.compile(r"[ \t]*")
_SPACE_AND_LINES = re.compile(r"(?:[ \t\n]|#[^\n]*)*")


@final
@frozen
class TextSpan:
    """A part of a text, from one offset up to another."""

    start: int
    end: int


@final
@frozen
class KeyPosition:
    """Where a key and its value are. An item of a list has no key, a table has one per header."""

    key: TextSpan
    value: TextSpan


def find_positions(text: str) -> dict[Path, KeyPosition]:
    r"""Where each key and each value of a TOML text is.

    >>> found = find_positions('a.b = [1, 22]\n[c]\nd = "x"')
    >>> found["a", "b", 1].value, found["c", "d"].key
    (TextSpan(start=10, end=12), TextSpan(start=18, end=19))
    """
    return _Scanner(text).document()


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    r"""The line and the column of an offset, both from 1.

    >>> line_and_column("ab\ncd", 4)
    (2, 2)
    """
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


@final
class _Scanner:
    """Goes through a text once, and remembers where it is."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Path, KeyPosition] = {}
        self.lists_of_tables: dict[Path, int] = {}
        """How many `[[headers]]` each list has had so far."""

    def document(self) -> dict[Path, KeyPosition]:
        """Read all of it."""
        table: Path = ()
        self._skip(_SPACE_AND_LINES)
        while self.at < len(self.text):
            if self._sees("["):
                table = self._header()
            else:
                self._pair(table)
            self._skip(_SPACE_AND_LINES)
        return self.found

    def _header(self) -> Path:
        """Read `[a.b]` or `[[a.b]]`; the path of the table that it begins."""
        start, is_list = self.at, self._sees("[[")
        self.at += 2 if is_list else 1
        keys = self._keys()
        self._skip(_SPACE)
        self.at += 2 if is_list else 1
        header = TextSpan(start, self.at)
        path: Path = ()
        for number, (name, span) in enumerate(keys, start=1):
            path = (*path, name)
            self._keep(path, KeyPosition(span, header))
            if is_list and number == len(keys):
                count = self.lists_of_tables.get(path, 0)
                self.lists_of_tables[path] = count + 1
                path = (*path, count)
                self.found[path] = KeyPosition(span, header)
            elif path in self.lists_of_tables:  # [list.table] belongs to the last of the list
                path = (*path, self.lists_of_tables[path] - 1)
        return path

    def _pair(self, table: Path) -> None:
        """Read `a.b = value`."""
        keys = self._keys()
        self._skip(_SPACE)
        self.at += 1  # the equals sign
        self._skip(_SPACE)
        value = self._value((*table, *(name for name, _ in keys)))
        path = table
        for name, span in keys:
            path = (*path, name)
            self._keep(path, KeyPosition(span, value))

    def _keep(self, path: Path, entry: KeyPosition) -> None:
        """Note where a key is, unless it is a table that was named before."""
        self.found.setdefault(path, entry)

    def _keys(self) -> list[tuple[str, TextSpan]]:
        """Read a key, or several with dots between them."""
        keys = []
        while True:
            self._skip(_SPACE)
            start, quoted = self.at, self._sees('"', "'")
            pattern = _BARE_KEY
            if quoted:
                pattern = _BASIC if self._sees('"') else _LITERAL
            raw = self._skip(pattern)
            keys.append((_text_of(raw) if quoted else raw, TextSpan(start, self.at)))
            self._skip(_SPACE)
            if not self._sees("."):
                return keys
            self.at += 1

    def _value(self, path: Path) -> TextSpan:
        start = self.at
        if self._sees("["):
            self._list(path)
        elif self._sees("{"):
            self._inline_table(path)
        elif self._sees('"""'):
            self._skip(_LONG_BASIC)
        elif self._sees("'''"):
            self._skip(_LONG_LITERAL)
        elif self._sees('"', "'"):
            self._skip(_BASIC if self._sees('"') else _LITERAL)
        else:
            raw = self._skip(_OTHER)
            self.at -= len(raw) - len(raw.rstrip())
        return TextSpan(start, self.at)

    def _list(self, path: Path) -> None:
        self.at += 1
        number = 0
        self._skip(_SPACE_AND_LINES)
        while not self._sees("]"):
            value = self._value((*path, number))
            self.found[*path, number] = KeyPosition(value, value)
            number += 1
            self._skip_comma()
        self.at += 1

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        self._skip(_SPACE_AND_LINES)
        while not self._sees("}"):
            self._pair(path)
            self._skip_comma()
        self.at += 1

    def _skip_comma(self) -> None:
        self._skip(_SPACE_AND_LINES)
        if self._sees(","):
            self.at += 1
        self._skip(_SPACE_AND_LINES)

    def _sees(self, *beginnings: str) -> bool:
        return self.text.startswith(beginnings, self.at)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        """Go past what matches, and return it."""
        match = pattern.match(self.text, self.at)
        if match is None:
            raise ValueError(f"This is not TOML at {self.at}: {self.text[self.at :][:20]!r}.")
        self.at = match.end()
        return match[0]


def _text_of(quoted: str) -> str:
    """The text that a quoted key stands for."""
    data: dict[str, Any] = tomllib.loads(f"key = {quoted}")
    return str(data["key"])
