"""Numeric parameters: what a number may be, and how its values map to the unit interval.

A number is encoded as a position in [0, 1]. Each integer owns a cell of the interval, so that a
uniform position gives every one its share.
"""

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.errors import ConfigError, SpaceError
from priorband.numeric import real
from priorband.space.beliefs import check_prior
from priorband.values import derived, frozen, settle


def _real(name: str, value: Any) -> float:
    number = real(value)
    if number is None:
        raise SpaceError(f"`{name}` must be a finite number, got {value!r}.")
    return number


def _whole(name: str, value: Any) -> int:
    number = real(value)
    if number is None or number != int(number):
        raise SpaceError(f"`{name}` must be a whole number, got {value!r}.")
    return int(value)


def _ordered(low: float, high: float, log: Any, least: float) -> None:
    if not isinstance(log, bool):
        raise SpaceError(f"`log` must be True or False, got {log!r}.")
    if not low < high:
        raise SpaceError(
            f"`low` must be below `high`, got low={low!r} and high={high!r}."
            + (" For a single value use Constant." if low == high else "")
        )
    if log and low < least:
        raise SpaceError(
            f"A log scale needs `low` {'above 0' if least < 1 else 'of at least 1'}, got {low!r}. "
            "Raise `low`, or drop `log=True`."
        )


def _inside(value: Any, low: float, high: float, kind: str) -> float:
    number = real(value)
    if number is None or not low <= number <= high:
        raise ConfigError(f"must be {kind} in [{low!r}, {high!r}], got {value!r}")
    return number


@final
@frozen
class Float:
    """A real number between two bounds, both included.

    `prior` is the value believed best, or a belief such as `Normal(0.2, sigma=0.1)`; `confidence`
    says how sure one is of a plain value: "low", "medium", "high" or a width.

    >>> lr = Float(1e-4, 1e-1, log=True, prior=1e-3)
    >>> round(lr.encode(1e-3), 6), round(lr.decode(0.5), 6)
    (0.333333, 0.003162)
    """

    low: float
    high: float
    log: bool = False
    prior: Any = None
    confidence: Any = "medium"
    _start: float = derived()
    _span: float = derived()

    def __post_init__(self) -> None:
        low, high = _real("low", self.low), _real("high", self.high)
        _ordered(low, high, self.log, least=math.ulp(0.0))
        start, end = (math.log(low), math.log(high)) if self.log else (low, high)
        if not 0 < end - start < math.inf:
            size = "narrow" if end == start else "wide"
            raise SpaceError(f"The range from {low!r} to {high!r} is too {size} for a float.")
        settle(self, low=low, high=high, _start=start, _span=end - start)
        check_prior(self)

    @property
    def choices(self) -> Sequence[Any]:
        """None are listed."""
        return ()

    @property
    def size(self) -> int | None:
        """None: values have an order."""
        return None

    def check(self, value: Any) -> float:
        """The value as a float."""
        return _inside(value, self.low, self.high, "a number")

    def encode(self, value: Any) -> float:
        """The position of a value, on the log scale when `log`."""
        number = self.check(value)
        position = ((math.log(number) if self.log else number) - self._start) / self._span
        return min(max(position, 0.0), 1.0)

    def decode(self, code: float) -> float:
        """The value at a position; rounding never leaves the bounds."""
        if code <= 0.0:
            return self.low
        if code >= 1.0:
            return self.high
        value = self._start + code * self._span
        return min(max(math.exp(value) if self.log else value, self.low), self.high)

    def centred(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The codes themselves: every position is a value of its own."""
        return codes


@final
@frozen
class Integer:
    """A whole number between two bounds, both included.

    >>> batch = Integer(16, 512, log=True)
    >>> batch.decode(0.0), batch.decode(0.5), batch.decode(1.0)
    (16, 89, 512)
    """

    low: int
    high: int
    log: bool = False
    prior: Any = None
    confidence: Any = "medium"
    _start: float = derived()
    _span: float = derived()

    def __post_init__(self) -> None:
        low, high = _whole("low", self.low), _whole("high", self.high)
        _ordered(low, high, self.log, least=1)
        if max(-low, high) > 2**52:
            raise SpaceError(
                f"Too wide a range: integers must lie within plus or minus 2**52, got low={low!r} "
                f"and high={high!r}. Search an exponent, or use Float."
            )
        start, end = low - 0.5, high + 0.5
        if self.log:
            start, end = math.log(start), math.log(end)
        settle(self, low=low, high=high, _start=start, _span=end - start)
        check_prior(self)

    @property
    def choices(self) -> Sequence[Any]:
        """None are listed."""
        return ()

    @property
    def size(self) -> int | None:
        """None: values have an order."""
        return None

    def check(self, value: Any) -> int:
        """The value as an int."""
        number = _inside(value, self.low, self.high, "a whole number")
        if number != int(number):
            raise ConfigError(f"must be a whole number, got {value!r}")
        return int(number)

    def encode(self, value: Any) -> float:
        """The position of an integer within its cell, on the log scale when `log`."""
        number = self.check(value)
        return ((math.log(number) if self.log else number) - self._start) / self._span

    def decode(self, code: float) -> int:
        """The integer whose cell holds the position."""
        value = self._start + code * self._span
        return min(
            max(math.floor((math.exp(value) if self.log else value) + 0.5), self.low), self.high
        )

    def centred(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The centre of each position's cell."""
        values = self._start + codes * self._span
        whole = np.floor((np.exp(values) if self.log else values) + 0.5)
        whole = np.clip(whole, self.low, self.high)
        return ((np.log(whole) if self.log else whole) - self._start) / self._span
