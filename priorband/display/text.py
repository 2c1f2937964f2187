"""Text for people: numbers, times and configurations, safe to print on any terminal.

What users and machines are called, and what their errors say, may hold anything. Here it loses its
power over a terminal: characters that are not printable are written as escapes.
"""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

_STEPS = ((90, 1, "s"), (90 * 60, 60, "min"), (36 * 3600, 3600, "h"))


def printable(text: object) -> str:
    """A text on one line, in which nothing moves a cursor, changes a colour or turns around.

    >>> print(printable("a\\x1b[31mb\\n"))
    a\\x1b[31mb\\n
    """
    made = str(text)
    if made.isprintable():
        return made
    return "".join(c if c.isprintable() else _escaped(c) for c in made)


def paragraphs(text: object) -> str:
    """The same, but lines stay lines."""
    return "\n".join(printable(line.rstrip("\r")) for line in str(text).split("\n"))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def value_text(value: float | None) -> str:
    """A loss or a value, to five digits.

    >>> value_text(0.0312345), value_text(None)
    ('0.031234', '')
    """
    return "" if value is None else f"{value:.5g}"


def amount(number: float) -> str:
    """How much of something there is, in few digits.

    >>> amount(4.333), amount(12), amount(0.0123), amount(12345.6)
    ('4.3', '12', '0.012', '12346')
    """
    if 0 < abs(number) < 1:
        return f"{number:.2g}"
    return f"{number:.1f}".removesuffix(".0") if abs(number) < 1000 else f"{number:.0f}"


def level(number: float) -> str:
    """A step or a fidelity: whole numbers as they are.

    >>> level(81.0), level(0.33333)
    ('81', '0.3333')
    """
    return str(int(number)) if float(number).is_integer() else f"{number:.4g}"


def clock(seconds: float) -> str:
    """A time that has passed, as a stop watch shows it.

    >>> clock(7), clock(3723), clock(93600)
    ('0:07', '1:02:03', '1 d 2 h')
    """
    whole = max(int(seconds), 0)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days} d {hours} h"
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def about(seconds: float) -> str:
    """A time to come, which nobody knows exactly.

    >>> about(42), about(700), about(20_000), about(9e5)
    ('42 s', '12 min', '6 h', '10 days')
    """
    for most, unit, name in _STEPS:
        if seconds < most:
            return f"{round(seconds / unit)} {name}"
    return f"{round(seconds / 86400)} days"


def moment(at: float) -> str:
    """A time of the storage's clock, in UTC, as ISO 8601 has it.

    >>> moment(0.5)
    '1970-01-01T00:00:00.500000+00:00'
    """
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError, OSError):  # a year that no calendar has
        return ""


def config_lines(config: Mapping[str, Any]) -> Iterable[str]:
    """A configuration, one aligned line a setting.

    >>> print(*config_lines({"lr": 0.1, "optimizer": "adam"}), sep="\\n")
    lr         0.1
    optimizer  'adam'
    """
    names = {name: printable(name) for name in config}
    width = max(map(len, names.values()), default=0)
    return (f"{names[name]:<{width}}  {printable(repr(config[name]))}" for name in config)


def jsonable(value: Any) -> Any:
    """A setting or a metric as JSON has it; what JSON has no form for becomes text.

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
