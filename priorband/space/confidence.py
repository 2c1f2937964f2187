"""Confidence: how strongly a prior is believed, as a word or as a number.

The confidence in a number is the width of a normal, as a fraction of the (log) range. The
confidence in a choice is how many times as likely it is as each other choice.

| confidence | width of the normal | weight of the preferred choice |
|------------|---------------------|--------------------------------|
| "low"      | 0.5                 | 2                              |
| "medium"   | 0.25                | 4                              |
| "high"     | 0.125               | 6                              |
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from priorband.errors import SpaceError
from priorband.numeric import real

Confidence = float | str
"""A width or a weight, or one of the words "low", "medium" and "high"."""

SIGMAS = {"low": 0.5, "medium": 0.25, "high": 0.125}
WEIGHTS = {"low": 2.0, "medium": 4.0, "high": 6.0}
USUAL_CONFIDENCE = "medium"
"""The confidence where none is given."""
WIDEST = 1000.0
"""The largest allowed width."""


def positive_number(name: str, value: object) -> float:
    """Return a positive number as a float, or raise `SpaceError` naming the argument."""
    number = real(value)
    if number is None or number <= 0:
        raise SpaceError(f"`{name}` must be a positive number, got {value!r}.")
    return number


def sigma_of(name: str, value: object) -> float:
    """Return the width that a word or a number stands for, or raise `SpaceError`."""
    number = _number_of(name, value, SIGMAS)
    if number > WIDEST:
        raise SpaceError(
            f"`{name}` must be at most {WIDEST:g}, got {value!r}. "
            "A belief this wide is practically flat: use Uniform."
        )
    return number


def weight_of(name: str, value: object) -> float:
    """Return the weight that a word or a number stands for, or raise `SpaceError`."""
    number = _number_of(name, value, WEIGHTS)
    if number < 1:
        raise SpaceError(
            f"`{name}` in a choice is how many times as likely it is as each other one, and must "
            f"be at least 1, got {value!r}. "
            "To prefer other choices, use a dict of weights."
        )
    return number


def _number_of(name: str, value: object, words: Mapping[str, float]) -> float:
    if isinstance(value, str) and value not in words:
        close = get_close_matches(value, words, n=1, cutoff=0.5)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise SpaceError(
            f"`{name}` must be 'low', 'medium', 'high' or a positive number, got {value!r}.{hint}"
        )
    return words[value] if isinstance(value, str) else positive_number(name, value)


def normalised_weights(name: str, weights: Any) -> tuple[float, ...]:
    """Return weights scaled to sum to 1, or raise `SpaceError`."""
    try:
        values = list(weights)
    except TypeError:
        raise SpaceError(f"{name} must be a list of numbers, got {weights!r}.") from None
    if not values:
        raise SpaceError(f"{name} must contain at least one number, got none.")
    for value in values:
        number = real(value)
        if number is None or number < 0:
            raise SpaceError(f"{name} must be numbers of at least 0, got {value!r}.")
    largest = float(max(values))
    if not largest > 0:
        raise SpaceError(f"{name} must have a positive sum, got {values!r}.")
    relative = [float(value) / largest for value in values]  # the plain sum could overflow
    return tuple(value / sum(relative) for value in relative)
