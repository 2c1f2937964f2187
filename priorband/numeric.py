"""Checks for numbers that a user passes."""

import math
from numbers import Integral, Real
from typing import Any


def real(value: Any) -> float | None:
    """A finite real number as a float, numpy scalars included; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def whole(value: Any) -> bool:
    """Whether a value is an integer, numpy integers included; booleans are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def one_of(value: Any, allowed: tuple[str, ...]) -> bool:
    """Whether a value is one of some texts; also where comparing it would fail, as with an array."""
    return isinstance(value, str) and value in allowed
