"""A grid of equally spaced numbers, for parameters with a `step`.

Each value has a cell of [0, 1], and all cells have the same width.
"""

import math
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.errors import ConfigError, SpaceError
from priorband.numeric import real
from priorband.values import derived, frozen, settle

_ROUNDING = 1e-9  # how far from the grid a value may be, relative to itself or the step
_MOST = 2**52


@final
@frozen
class ValueGrid:
    """The numbers low, low + step, and so on up to high.

    >>> grid = ValueGrid(0.0, 1.0, 0.1)
    >>> grid.count, grid.value(3), grid.encode(0.3)
    (11, 0.3, 0.3181818181818182)
    """

    low: float
    high: float
    step: float
    count: int = derived()
    _digits: int = derived()

    def __post_init__(self) -> None:
        numbers = (self.low, self.step)
        settle(self, count=1, _digits=max(map(_decimals, numbers)))
        steps = (self.high - self.low) / self.step
        if not steps < _MOST:
            raise SpaceError(f"`step` is too small for the range, got {self.step!r}.")
        if abs(self.value(round(steps)) - self.high) > self._tolerance(self.high):
            below, above = (self.value(count) for count in (math.floor(steps), math.ceil(steps)))
            nearest = f"{below!r} or {above!r}" if below > self.low else f"{above!r}"
            raise SpaceError(
                f"`high` must be `low` plus a multiple of `step`, got low={self.low!r}, "
                f"high={self.high!r} and step={self.step!r}. Use high={nearest}."
            )
        settle(self, count=round(steps) + 1, high=self.value(round(steps)))

    def value(self, index: int) -> float:
        """The value with an index, without the error of floating-point sums."""
        return round(self.low + index * self.step, self._digits)

    def index(self, value: Any) -> int:
        """The index of a value, or `ConfigError` if it is not on the grid."""
        number = real(value)
        index = -1 if number is None else self._nearest(number)
        fits = number is not None and 0 <= index < self.count
        if not fits or abs(self.value(index) - number) > self._tolerance(number):  # type: ignore[operator, arg-type]  # it is a number if it fits
            raise ConfigError(
                f"must be one of {self.low!r}, {self.value(1)!r}, ..., {self.high!r} "
                f"(step {self.step!r}), got {value!r}"
            )
        return index

    def indices(self, low: float, high: float) -> range:
        """The indices of the values from `low` to `high`."""
        first = math.ceil((low - self.low) / self.step - _ROUNDING)
        last = math.floor((high - self.low) / self.step + _ROUNDING)
        return range(max(first, 0), min(last, self.count - 1) + 1)

    def contains(self, column: NDArray[Any]) -> bool:
        """Whether all numbers of an array are on the grid."""
        places = (column - self.low) / self.step
        near = np.abs(places - np.rint(places)) <= 0.25
        return bool(np.all(near & (column >= self.low) & (column <= self.high)))

    def encode(self, value: Any) -> float:
        """The middle of a value's cell."""
        return (self.index(value) + 0.5) / self.count

    def decode(self, code: float) -> float:
        """The value whose cell contains the position."""
        return self.value(min(max(int(code * self.count), 0), self.count - 1))

    def centred(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The middle of the cell that contains each position."""
        return (np.clip(np.floor(codes * self.count), 0, self.count - 1) + 0.5) / self.count

    def _nearest(self, number: float) -> int:
        place = (number - self.low) / self.step
        return round(place) if abs(place) < _MOST else -1

    def _tolerance(self, number: float) -> float:
        return min(_ROUNDING * max(abs(number), self.step), self.step / 4)


def checked_grid(low: float, high: float, log: bool, step: Any) -> ValueGrid:
    """The grid of a parameter with a `step`, or `SpaceError`."""
    number = real(step)
    if number is None or number <= 0:
        raise SpaceError(f"`step` must be a positive number, got {step!r}.")
    if log:
        raise SpaceError(
            "`step` and `log=True` do not go together: steps are equally spaced. Drop one, or list "
            "the values in an Ordinal."
        )
    if isinstance(low, int):
        if number != int(number):
            raise SpaceError(f"`step` must be a whole number for an Integer, got {step!r}.")
        return ValueGrid(low, high, int(number))
    return ValueGrid(low, high, number)


def _decimals(number: float) -> int:
    """How many digits after the point a number is written with.

    >>> _decimals(0.25), _decimals(5), _decimals(1e-07)
    (2, 0, 7)
    """
    digits, _, exponent = repr(number).partition("e")
    fraction = digits.partition(".")[2].rstrip("0")
    return max(len(fraction) - int(exponent or 0), 0)
