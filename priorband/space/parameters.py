"""Parameters: what one hyperparameter may be, and how its values map to the unit interval.

Numbers are encoded as a position in [0, 1], a category as its index. Each integer owns
a cell of the interval, so that a uniform position gives every one its share.
"""

import math
from collections.abc import Iterable, Sequence, Set
from typing import Any, final

from priorband.errors import ConfigError, SpaceError
from priorband.space.beliefs import check_prior
from priorband.space.numeric import real
from priorband.values import derived, frozen


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


def _ordered(low: float, high: float, log: bool, least: float) -> None:
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
        if not math.isfinite(end - start):
            raise SpaceError(f"The range from {low!r} to {high!r} is too wide for a float.")
        for name, value in (
            ("low", low),
            ("high", high),
            ("_start", start),
            ("_span", end - start),
        ):
            object.__setattr__(self, name, value)
        check_prior(self)

    @property
    def choices(self) -> Sequence[Any]:
        """None are listed."""
        return ()

    @property
    def size(self) -> int | None:
        """None: values have an order."""
        return None

    def encode(self, value: Any) -> float:
        """The position of a value, on the log scale when `log`."""
        number = _inside(value, self.low, self.high, "a number")
        position = ((math.log(number) if self.log else number) - self._start) / self._span
        return min(max(position, 0.0), 1.0)

    def decode(self, code: float) -> float:
        """The value at a position; rounding never leaves the bounds."""
        value = self._start + code * self._span
        return min(max(math.exp(value) if self.log else value, self.low), self.high)


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
        start, end = low - 0.5, high + 0.5
        if self.log:
            start, end = math.log(start), math.log(end)
        for name, value in (
            ("low", low),
            ("high", high),
            ("_start", start),
            ("_span", end - start),
        ):
            object.__setattr__(self, name, value)
        check_prior(self)

    @property
    def choices(self) -> Sequence[Any]:
        """None are listed."""
        return ()

    @property
    def size(self) -> int | None:
        """None: values have an order."""
        return None

    def encode(self, value: Any) -> float:
        """The position of an integer within its cell, on the log scale when `log`."""
        number = _inside(value, self.low, self.high, "a whole number")
        if number != int(number):
            raise ConfigError(f"must be a whole number, got {value!r}")
        return ((math.log(number) if self.log else number) - self._start) / self._span

    def decode(self, code: float) -> int:
        """The integer whose cell holds the position."""
        value = self._start + code * self._span
        return min(
            max(math.floor((math.exp(value) if self.log else value) + 0.5), self.low), self.high
        )


def _distinct(choices: Any) -> dict[Any, int]:
    """Each choice's index, after checking that there are some and that no two are equal."""
    if isinstance(choices, str | bytes | Set) or not isinstance(choices, Iterable):
        raise SpaceError(f"`choices` must be a list of values in an order, got {choices!r}.")
    listed = list(choices)
    if not listed:
        raise SpaceError("`choices` is empty. Give at least one value.")
    index: dict[Any, int] = {}
    for position, choice in enumerate(listed):
        try:
            first = index.setdefault(choice, position)
        except TypeError:
            raise SpaceError(
                f"Choices must be hashable, got {choice!r}. Use a tuple or a name for it."
            ) from None
        if first != position:
            raise SpaceError(f"Choices must differ, got {listed[first]!r} and {choice!r}.")
        if choice != choice:
            raise SpaceError(f"A choice must equal itself, got {choice!r}.")
    return index


def _index(index: dict[Any, int], value: Any) -> int:
    try:
        return index[value]
    except (KeyError, TypeError):
        known = ", ".join(map(repr, index))
        raise ConfigError(f"must be one of {known}, got {value!r}") from None


@final
@frozen
class Categorical:
    """One of several values without an order.

    `prior` is the choice believed best (`confidence` says how sure one is), or a dict of weights.

    >>> Categorical(["sgd", "adam"], prior="adam").encode("adam")
    1.0
    """

    choices: Sequence[Any]
    prior: Any = None
    confidence: Any = "medium"
    _positions: dict[Any, int] = derived()

    def __post_init__(self) -> None:
        object.__setattr__(self, "_positions", _distinct(self.choices))
        object.__setattr__(self, "choices", tuple(self._positions))
        check_prior(self)

    @property
    def size(self) -> int | None:
        """How many choices there are."""
        return len(self.choices)

    def encode(self, value: Any) -> float:
        """The choice's index."""
        return float(_index(self._positions, value))

    def decode(self, code: float) -> Any:
        """The choice with that index."""
        return self.choices[int(code)]


@final
@frozen
class Ordinal:
    """One of several values in the order given: neighbours are alike.

    >>> depth = Ordinal([2, 4, 8, 16], prior=4)
    >>> depth.encode(4), depth.decode(0.99)
    (0.375, 16)
    """

    choices: Sequence[Any]
    prior: Any = None
    confidence: Any = "medium"
    _positions: dict[Any, int] = derived()

    def __post_init__(self) -> None:
        object.__setattr__(self, "_positions", _distinct(self.choices))
        object.__setattr__(self, "choices", tuple(self._positions))
        if len(self.choices) < 2:
            raise SpaceError(
                f"An ordinal needs at least two choices, got {list(self.choices)!r}. "
                "For a single value use Constant."
            )
        check_prior(self)

    @property
    def size(self) -> int | None:
        """None: values have an order."""
        return None

    def encode(self, value: Any) -> float:
        """The middle of the choice's cell: the unit interval is cut into equal ones."""
        return (_index(self._positions, value) + 0.5) / len(self.choices)

    def decode(self, code: float) -> Any:
        """The choice whose cell holds the position."""
        return self.choices[min(int(code * len(self.choices)), len(self.choices) - 1)]


@final
@frozen
class Constant:
    """A value that every configuration has and that no method touches."""

    value: Any
    prior: Any = None

    def __post_init__(self) -> None:
        try:
            hash(self.value)
        except TypeError:
            raise SpaceError(
                f"A constant must be hashable, got {self.value!r}. Use a tuple or a name for it."
            ) from None
        if self.prior is not None:
            raise SpaceError(
                f"A constant takes no prior: its value is always {self.value!r}, "
                f"got prior={self.prior!r}. Drop the prior, or use another kind of parameter."
            )
