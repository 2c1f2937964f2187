"""How sure one is: words and numbers for widths and weights.

| confidence | width of a number's normal | weight of a category against each other |
|------------|----------------------------|-----------------------------------------|
| "low"      | 0.5                        | 2                                       |
| "medium"   | 0.25                       | 4                                       |
| "high"     | 0.125                      | 6                                       |
"""

from collections.abc import Mapping
from typing import Any

from priorband.errors import SpaceError, suggestion
from priorband.numeric import real

SIGMAS = {"low": 0.5, "medium": 0.25, "high": 0.125}
WEIGHTS = {"low": 2.0, "medium": 4.0, "high": 6.0}
WIDEST = 1000.0


def positive(name: str, value: Any) -> float:
    """A positive number as it was given."""
    number = real(value)
    if number is None or number <= 0:
        raise SpaceError(f"`{name}` must be a positive number, got {value!r}.")
    return number


def sigma_of(name: str, value: Any) -> float:
    """A width as it was given, by word or number."""
    number = _worded(name, value, SIGMAS)
    if number > WIDEST:
        raise SpaceError(
            f"`{name}` must be at most {WIDEST:g}, got {value!r}. So wide a belief is none: "
            "use Uniform."
        )
    return number


def weight_of(name: str, value: Any) -> float:
    """How many times a choice weighs as much as any other, by word or number."""
    number = _worded(name, value, WEIGHTS)
    if number < 1:
        raise SpaceError(
            f"The weight of a preferred choice must be at least 1, got {value!r}. "
            "To prefer the others, give a dict of weights."
        )
    return number


def _worded(name: str, value: Any, words: Mapping[str, float]) -> float:
    if isinstance(value, str) and value not in words:
        raise SpaceError(f"Unknown {name} {value!r}. {suggestion(value, words)}")
    return words[value] if isinstance(value, str) else positive(name, value)


def scaled(name: str, weights: Any) -> tuple[float, ...]:
    """Weights as they were given, scaled to sum to one."""
    try:
        values = list(weights)
    except TypeError:
        raise SpaceError(f"{name} must be a list of numbers, got {weights!r}.") from None
    if not values:
        raise SpaceError(f"{name} must be at least one number, got none.")
    for value in values:
        number = real(value)
        if number is None or number < 0:
            raise SpaceError(f"{name} must be numbers of at least 0, got {value!r}.")
    largest = float(max(values))
    if not largest > 0:
        raise SpaceError(f"{name} must have a positive sum, got {values!r}.")
    relative = [float(value) / largest for value in values]  # the sum of the largest overflows
    return tuple(value / sum(relative) for value in relative)
