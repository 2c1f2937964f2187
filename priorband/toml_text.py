"""Values and comments as TOML text."""

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from priorband.errors import FormatError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}
_WIDTH = 80


def toml_key(name: str) -> str:
    """A key, quoted where it must be.

    >>> toml_key("learning-rate"), toml_key("optimizer.lr")
    ('learning-rate', '"optimizer.lr"')
    """
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A value on one line.

    >>> toml_value({"float": [1e-5, 0.1], "log": True})
    '{ float = [1e-5, 0.1], log = true }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return f'"{"".join(map(_escaped, value))}"'
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(toml_value, value))}]"
    raise FormatError(f"TOML cannot hold {value!r}, only text, numbers, true, false and lists.")


def _number(value: float) -> str:
    """A float as people write it: `1e-5`, not `1e-05`."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return re.sub(
        r"e([+-]?)0*(\d)", lambda found: f"e{found[1].replace('+', '')}{found[2]}", repr(value)
    )


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if "\ud800" <= character <= "\udfff":
        return "\\uFFFD"  # half of a pair, which no file can hold
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def toml_list(items: Sequence[str], key: str) -> str:
    """`key = [...]`, on several lines if it does not fit one."""
    line = f"{key} = {toml_value(items)}"
    if len(line) <= _WIDTH:
        return line
    rows, row = list[str](), ""
    for item in map(toml_value, items):
        if row and len(row) + len(item) + 6 > _WIDTH:
            rows.append(row)
            row = ""
        row += f"{' ' if row else ''}{item},"
    body = "\n".join(f"  {row}" for row in [*rows, row])
    return f"{key} = [\n{body}\n]"


def comment(text: str, indent: str = "") -> str:
    """Text as comment lines, of at most 80 columns; control characters become escapes."""
    safe = "".join(c if c.isprintable() else _escaped(c) for c in text)
    safe = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in safe)
    lines = textwrap.wrap(
        safe, _WIDTH - 2 - len(indent), break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(f"# {indent}{line}" for line in lines)
