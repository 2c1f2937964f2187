"""Checks for numbers that a user passes."""

import math
from numbers import Integral, Real
from typing import Any, TypeGuard, TypeVar

S = TypeVar("S", bound=str)


def real(value: Any) -> float | None:
    """A finite real number as a float, numpy scalars included; None for anything else."""
    if type(value) is float:  # the usual case: asking an abstract class takes ten times as long
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def unquoted(value: Any) -> str:
    """What to do about a number that was given as text; empty for anything else.

    >>> unquoted("0.1"), unquoted("low")
    (' Write it without quotes: 0.1.', '')
    """
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return ""
    return f" Write it without quotes: {value.strip()}." if math.isfinite(number) else ""


def whole(value: Any) -> bool:
    """Whether a value is an integer, numpy integers included; booleans are not."""
    if type(value) is int:  # the usual case: asking an abstract class takes ten times as long
        return True
    return isinstance(value, Integral) and not isinstance(value, bool)


def one_of(value: Any, allowed: tuple[S, ...]) -> TypeGuard[S]:
    """Whether a value is one of some words; an array, which cannot be compared, is not."""
    return isinstance(value, str) and value in allowed
