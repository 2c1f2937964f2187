"""Format numbers, times and configurations as text that is safe to print on any terminal.

Names of users and machines, and error messages, may contain any character. Those that are not
printable, and so could control a terminal, are written as escapes.
"""

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

_LABEL = re.compile(r"\w+( \w+)? {2,}|\s*")
_STEPS = ((90, 1, "s"), (90 * 60, 60, "min"), (36 * 3600, 3600, "h"))


def printable(text: object) -> str:
    """The text on one line, with escapes for all characters that are not printable.

    >>> print(printable("a\\x1b[31mb\\n"))
    a\\x1b[31mb\\n
    """
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(c if c.isprintable() else _escaped(c) for c in plain)


def paragraphs(text: object) -> str:
    """The text with its line breaks kept, and escapes as in `printable`."""
    return "\n".join(printable(line.rstrip("\r")) for line in str(text).split("\n"))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def value_text(value: float | None) -> str:
    """A loss or a value with five significant digits; empty for None.

    >>> value_text(0.0312345), value_text(None)
    ('0.031234', '')
    """
    return "" if value is None else f"{value:.5g}"


def amount_text(number: float) -> str:
    """An amount, with few digits.

    >>> amount_text(4.333), amount_text(12), amount_text(0.0123), amount_text(12345.6)
    ('4.3', '12', '0.012', '12346')
    """
    if 0 < abs(number) < 1:
        return f"{number:.2g}"
    return f"{number:.1f}".removesuffix(".0") if abs(number) < 1000 else f"{number:.0f}"


def fidelity_text(number: float) -> str:
    """A fidelity or a step; whole numbers have no decimals.

    >>> fidelity_text(81.0), fidelity_text(0.33333)
    ('81', '0.3333')
    """
    return str(int(number)) if float(number).is_integer() else f"{number:.4g}"


def elapsed_text(seconds: float) -> str:
    """Elapsed time, as on a stopwatch.

    >>> elapsed_text(7), elapsed_text(3723), elapsed_text(93600)
    ('0:07', '1:02:03', '1 d 2 h')
    """
    whole = max(int(seconds), 0)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days} d {hours} h"
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def about(seconds: float) -> str:
    """An estimated duration, rounded to one unit.

    >>> about(42), about(700), about(20_000), about(9e5)
    ('42 s', '12 min', '6 h', '10 days')
    """
    for most, unit, name in _STEPS:
        if seconds < most:
            return f"{round(seconds / unit)} {name}"
    return f"{round(seconds / 86400)} days"


def moment(at: float) -> str:
    """A timestamp as ISO 8601 text in UTC; empty if no calendar has that date.

    >>> moment(0.5)
    '1970-01-01T00:00:00.500000+00:00'
    """
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError, OSError):
        return ""


def config_lines(
    config: Mapping[str, Any], parents: Mapping[str, str] = MappingProxyType({})
) -> Iterable[str]:
    """A configuration as aligned lines, one per setting.

    A setting with a parent is indented under it.

    >>> config = {"optimizer": "sgd", "lr": 0.1, "momentum": 0.9}
    >>> print(*config_lines(config, {"momentum": "optimizer"}), sep="\\n")
    optimizer   'sgd'
      momentum  0.9
    lr          0.1
    """
    names = {name: "  " * depth + printable(name) for name, depth in nested_names(config, parents)}
    width = max(map(len, names.values()), default=0)
    return (f"{names[name]:<{width}}  {printable(repr(config[name]))}" for name in names)


def nested_names(names: Iterable[str], parents: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """The names with their depths, each followed by its children."""
    children: dict[str | None, list[str]] = {}
    for name in names:
        children.setdefault(parents.get(name), []).append(name)
    waiting = [(name, 0) for name in reversed(children.get(None, []))]
    while waiting:
        name, depth = waiting.pop()
        yield name, depth
        waiting += [(child, depth + 1) for child in reversed(children.get(name, []))]


def wrapped(lines: Iterable[str], width: int) -> Iterator[str]:
    """The lines, those that are too wide broken between words and indented.

    >>> print(*wrapped(["failed   trial 4, raised: ValueError: no such thing"], 36), sep="\\n")
    failed   trial 4, raised:
               ValueError: no such thing
    >>> print(*wrapped(["went on  as trial 16, after 15 results"], 30), sep="\\n")
    went on  as trial 16, after 15
               results
    """
    for line in lines:
        hanging = _LABEL.match(line)
        indent = min(hanging.end() + 2 if hanging else 2, max(width // 2, 0))
        parts = textwrap.wrap(
            line,
            max(width, 8),
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        yield from parts if len(line) > width else [line]


def jsonable(value: Any) -> Any:
    """A setting or a metric as JSON data; values that JSON cannot express become text.

    >>> jsonable((1, None, float("inf"), 2j))
    [1, None, 'inf', '2j']
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(name): jsonable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    return jsonable(value.tolist()) if hasattr(value, "tolist") else repr(value)
