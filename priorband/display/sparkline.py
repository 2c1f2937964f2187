"""A row of numbers as a line of small bars."""

import math
from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
_ASCII = str.maketrans({**dict(zip(BARS, "_.-:=+*#", strict=True)), "→": ">", "…": "~", "·": "."})


def sparkline(values: Sequence[float], width: int) -> str:
    """Numbers as bars, the lowest of them as the lowest bar; at most `width` characters.

    If there are more numbers than that, each bar is the last number of its part. A number that is
    not finite is a space.

    >>> sparkline([1, 2, 4, 8], 10), sparkline([3, 3], 10), sparkline([], 10)
    ('▁▂▄█', '▁▁', '')
    """
    shown = thinned(values, width)
    finite = [value for value in shown if math.isfinite(value)]
    if not finite:
        return " " * len(shown)
    low, span = min(finite), max(finite) - min(finite)
    return "".join(_bar((value - low) / span if span else 0.0 * value) for value in shown)


def thinned(values: Sequence[float], count: int) -> list[float]:
    """At most `count` of the values, evenly spaced, with the last one.

    >>> thinned([1, 2, 3, 4, 5, 6], 3)
    [2, 4, 6]
    """
    total = len(values)
    if total <= count:
        return list(values)
    return [values[(part + 1) * total // count - 1] for part in range(count)]


def ascii_only(text: str) -> str:
    """The text with other characters for bars and arrows, for terminals that lack them.

    >>> ascii_only("▁█ 27→9")
    '_# 27>9'
    """
    return text.translate(_ASCII)


def _bar(share: float) -> str:
    if not math.isfinite(share):
        return " "
    return BARS[min(int(share * len(BARS)), len(BARS) - 1)]
