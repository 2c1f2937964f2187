"""Numeric parameters: their allowed values, and how these are encoded.

A number is encoded as a position in [0, 1]. Each integer has a cell of that interval, so that a
uniform position gives every integer its fair share.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.errors import ConfigError, SpaceError
from priorband.numeric import real, unquoted
from priorband.space.beliefs import Belief, check_prior
from priorband.space.confidence import Confidence
from priorband.space.value_grid import ValueGrid, checked_grid
from priorband.space.when import checked_when
from priorband.values import derived, frozen, repr_without_defaults, settle


def _finite_number(name: str, value: object) -> float:
    number = real(value)
    if number is None:
        raise SpaceError(f"`{name}` must be a finite number, got {value!r}.{unquoted(value)}")
    return number


def _whole_number(name: str, value: Any) -> int:
    number = real(value)
    if number is None or number != int(number):
        hint = unquoted(value) if number is None else " Use Float for numbers with decimals."
        raise SpaceError(f"`{name}` must be a whole number, got {value!r}.{hint}")
    return int(value)  # not of `number`: a float would round large integers


def _check_range(low: float, high: float, log: object, least: float) -> None:
    """Raise `SpaceError` unless low < high and, on a log scale, low >= least."""
    if not isinstance(log, bool):
        raise SpaceError(f"`log` must be True or False, got {log!r}.")
    if not low < high:
        raise SpaceError(
            f"`low` must be below `high`, got low={low!r} and high={high!r}."
            + (" For a single value use Constant." if low == high else " Swap them.")
        )
    if log and low < least:
        raise SpaceError(
            f"A log scale needs `low` {'above 0' if least < 1 else 'of at least 1'}, got {low!r}. "
            "Raise `low`, or drop `log=True`."
        )


def _number_in_range(value: object, low: float, high: float, kind: str) -> float:
    number = real(value)
    if number is None or not low <= number <= high:
        raise ConfigError(f"must be {kind} in [{low!r}, {high!r}], got {value!r}")
    return number


@final
@frozen
class Float:
    """A real number between two bounds, both included.

    Args:
        low: The smallest allowed value.
        high: The largest allowed value.
        log: Whether to search on a log scale. `low` must then be above 0.
        prior: The value that you expect to be best, a belief such as `Normal(0.2, sigma=0.1)`, or
            None if you have no expectation.
        confidence: How sure you are of a `prior` that is a plain value: "low", "medium", "high",
            or the width of a normal as a fraction of the (log) range.
        step: The distance between allowed values: `low`, `low` + `step`, and so on up to `high`,
            each as likely as the others without a prior. None for all values. Not with `log`.
        when: The values of other parameters under which this one is active, such as
            `{"optimizer": "sgd"}`. A value, a list of values, or `at_least`, `at_most` or `between`
            for each; all must hold. None if it is always active.

    Raises:
        SpaceError: If the bounds are not finite numbers with low < high, or the prior is not
            within them.

    Example:
        >>> lr = Float(1e-4, 1e-1, log=True, prior=1e-3)
        >>> round(lr.encode(1e-3), 6), round(lr.decode(0.5), 6)
        (0.333333, 0.003162)
        >>> Float(0, 1, step=0.25).decode(0.7)
        0.75
    """

    low: float
    high: float
    log: bool = False
    prior: float | Belief | None = None
    confidence: Confidence = "medium"
    step: float | None = None
    when: Mapping[str, Any] | None = None
    grid: ValueGrid | None = derived()
    """The allowed values if there is a step; None if all within the bounds are allowed."""
    _start: float = derived()
    _span: float = derived()

    __repr__ = repr_without_defaults("step", "when")

    def __post_init__(self) -> None:
        low, high = _finite_number("low", self.low), _finite_number("high", self.high)
        _check_range(low, high, self.log, least=math.ulp(0.0))
        start, end = (math.log(low), math.log(high)) if self.log else (low, high)
        if not 0 < end - start < math.inf:
            size = "narrow" if end == start else "wide"
            raise SpaceError(f"The range from {low!r} to {high!r} is too {size} for a float.")
        settle(self, low=low, high=high, _start=start, _span=end - start)
        settle(self, grid=self._checked_grid(), when=checked_when(self.when))
        check_prior(self)

    def _checked_grid(self) -> ValueGrid | None:
        if self.step is None:
            return None
        grid = checked_grid(self.low, self.high, self.log, self.step)
        settle(self, step=grid.step, high=grid.high)
        return grid

    @property
    def choices(self) -> Sequence[Any]:
        """Empty: the values are not listed one by one."""
        return ()

    @property
    def size(self) -> int | None:
        """None: values have an order."""
        return None

    def check(self, value: Any) -> float:
        """Return the value as a float, or raise `ConfigError` if it is not allowed."""
        if self.grid is not None:
            return self.grid.value(self.grid.index(value))
        return _number_in_range(value, self.low, self.high, "a number")

    def encode(self, value: Any) -> float:
        """Return the position of a value in [0, 1], on the log scale if `log` is set."""
        if self.grid is not None:
            return self.grid.encode(value)
        number = self.check(value)
        position = ((math.log(number) if self.log else number) - self._start) / self._span
        return min(max(position, 0.0), 1.0)

    def decode(self, code: float) -> float:
        """Return the value at a position; it is within the bounds despite rounding."""
        if code <= 0.0:
            return self.low
        if code >= 1.0:
            return self.high
        if self.grid is not None:
            return self.grid.decode(code)
        value = self._start + code * self._span
        return min(max(math.exp(value) if self.log else value, self.low), self.high)

    def centred(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the codes unchanged: without steps, every position is a value of its own."""
        return codes if self.grid is None else self.grid.centred(codes)


@final
@frozen
class Integer:
    """A whole number between two bounds, both included.

    Args:
        low: The smallest allowed value.
        high: The largest allowed value.
        log: Whether to search on a log scale. `low` must then be at least 1.
        prior: The value that you expect to be best, a belief such as `Normal(64, sigma=0.1)`, or
            None if you have no expectation.
        confidence: How sure you are of a `prior` that is a plain value: "low", "medium", "high",
            or the width of a normal as a fraction of the (log) range.
        step: The distance between allowed values: `low`, `low` + `step`, and so on up to `high`,
            each as likely as the others without a prior. None for all values. Not with `log`.
        when: The values of other parameters under which this one is active, such as
            `{"optimizer": "sgd"}`. A value, a list of values, or `at_least`, `at_most` or `between`
            for each; all must hold. None if it is always active.

    Raises:
        SpaceError: If the bounds are not whole numbers with low < high, or the prior is not a
            whole number within them.

    Example:
        >>> batch = Integer(16, 512, log=True)
        >>> batch.decode(0.0), batch.decode(0.5), batch.decode(1.0)
        (16, 89, 512)
        >>> Integer(16, 512, step=16).decode(0.5)
        272
    """

    low: int
    high: int
    log: bool = False
    prior: float | Belief | None = None
    confidence: Confidence = "medium"
    step: int | None = None
    when: Mapping[str, Any] | None = None
    grid: ValueGrid | None = derived()
    """The allowed values if there is a step; None if all within the bounds are allowed."""
    _start: float = derived()
    _span: float = derived()

    __repr__ = repr_without_defaults("step", "when")

    def __post_init__(self) -> None:
        low, high = _whole_number("low", self.low), _whole_number("high", self.high)
        _check_range(low, high, self.log, least=1)
        if max(-low, high) > 2**52:
            raise SpaceError(
                f"The range is too wide: integers must be between -2**52 and 2**52, got "
                f"low={low!r} and high={high!r}. Search an exponent, or use Float."
            )
        start, end = low - 0.5, high + 0.5
        if self.log:
            start, end = math.log(start), math.log(end)
        settle(self, low=low, high=high, _start=start, _span=end - start)
        settle(self, grid=self._checked_grid(), when=checked_when(self.when))
        check_prior(self)

    def _checked_grid(self) -> ValueGrid | None:
        if self.step is None:
            return None
        grid = checked_grid(self.low, self.high, self.log, self.step)
        if grid.step == 1:
            settle(self, step=None)
            return None
        settle(self, step=grid.step, high=grid.high)
        return grid

    @property
    def choices(self) -> Sequence[Any]:
        """Empty: the values are not listed one by one."""
        return ()

    @property
    def size(self) -> int | None:
        """None: values have an order."""
        return None

    def check(self, value: Any) -> int:
        """Return the value as an int, or raise `ConfigError` if it is not allowed."""
        if self.grid is not None:
            return int(self.grid.value(self.grid.index(value)))
        number = _number_in_range(value, self.low, self.high, "a whole number")
        if number != int(number):
            raise ConfigError(f"must be a whole number, got {value!r}")
        return int(number)

    def encode(self, value: Any) -> float:
        """Return the position of an integer in [0, 1], on the log scale if `log` is set."""
        if self.grid is not None:
            return self.grid.encode(value)
        number = self.check(value)
        return ((math.log(number) if self.log else number) - self._start) / self._span

    def decode(self, code: float) -> int:
        """Return the integer whose cell contains the position."""
        if self.grid is not None:
            return int(self.grid.decode(code))
        value = self._start + code * self._span
        return min(
            max(math.floor((math.exp(value) if self.log else value) + 0.5), self.low), self.high
        )

    def centred(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the position of the integer whose cell contains each position."""
        if self.grid is not None:
            return self.grid.centred(codes)
        values = self._start + codes * self._span
        whole = np.floor((np.exp(values) if self.log else values) + 0.5)
        whole = np.clip(whole, self.low, self.high)
        return ((np.log(whole) if self.log else whole) - self._start) / self._span
