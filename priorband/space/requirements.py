"""Requirements: conditions of `when` resolved against the parent that they name.

A condition is decided on values. For encoded rows it is decided on codes: on an ordered parameter
it becomes intervals of codes whose ends are exact, so that both always agree.
"""

import math
import struct
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.errors import ConfigError, SpaceError
from priorband.numeric import real
from priorband.space.base import Parameter
from priorband.space.choices import Constant
from priorband.space.parameters import Float, Integer
from priorband.space.value_grid import ValueGrid
from priorband.space.when import Bounds, Values, condition_text

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Interval = tuple[float, float]

_FEW_CHOICES = 4  # up to here, comparisons are faster than a table


@final
class Requirement:
    """One condition on one parent, resolved: tests for a value, for a code and for a column.

    The mark of an inactive parent fulfils no condition.
    """

    __slots__ = ("allowed", "column", "cuts", "holds", "holds_code", "mask", "parent", "stored")

    def __init__(self, parent: str, column: int, allowed: "Allowed") -> None:
        self.parent = parent
        self.column = column
        """The parent's column; -1 for a constant."""
        self.allowed = allowed
        self.holds: Callable[[Any], bool] = allowed.value_test()
        self.cuts: tuple[Cut, ...] = ()
        if column >= 0:
            self.holds_code, self.mask = allowed.code_tests()
            self.stored = allowed.stored_test()
            self.cuts = allowed.cuts()


@final
class Cut:
    """A code from which on the values of a float fulfil one bound of a condition.

    Encoding a value and decoding it may differ in the last bit. A value at a bound must not end
    up on the other side of it.
    """

    __slots__ = ("code", "reached")

    def __init__(self, code: float, reached: Callable[[Any], bool]) -> None:
        self.code = code
        self.reached = reached

    def moved(self, value: float, code: float) -> float:
        """The code of a value, moved to the side of the bound on which the value is."""
        reached = self.reached(value)
        if reached == (code >= self.code):
            return code
        return self.code if reached else math.nextafter(self.code, -math.inf)


@final
class Allowed:
    """The values of one parent that fulfil a condition.

    They are indices of listed choices, or closed intervals of numbers.
    """

    __slots__ = ("indices", "intervals", "parameter")

    def __init__(
        self,
        parameter: Parameter | Constant,
        indices: frozenset[int] = frozenset(),
        intervals: tuple[Interval, ...] = (),
    ) -> None:
        self.parameter = parameter
        self.indices = indices
        self.intervals = intervals

    def __bool__(self) -> bool:
        return bool(self.indices or self.intervals)

    def __and__(self, other: "Allowed") -> "Allowed":
        pairs = [(one, two) for one in self.intervals for two in other.intervals]
        both = ((max(a[0], b[0]), min(a[1], b[1])) for a, b in pairs)
        intervals = tuple((low, high) for low, high in both if low <= high)
        return Allowed(self.parameter, self.indices & other.indices, intervals)

    def value_test(self) -> Callable[[Any], bool]:
        """Whether a value of the parent is allowed."""
        parameter = self.parameter
        if isinstance(parameter, Constant):
            return lambda value: True
        if parameter.choices:
            return frozenset(parameter.choices[i] for i in self.indices).__contains__
        if len(self.intervals) > 1:
            return _in_any(self.intervals)
        ((low, high),) = self.intervals
        return lambda value: bool(low <= value <= high)

    def code_tests(self) -> tuple[Callable[[float], bool], Callable[[Array], Mask]]:
        """Whether a code of the parent stands for an allowed value, and the same for a column."""
        parameter = self.parameter
        assert not isinstance(parameter, Constant), "a constant has no code"
        if parameter.size is not None:
            table = np.zeros(parameter.size + 1, bool)  # the last is for the mark
            table[list(self.indices)] = True
            codes = frozenset(map(float, self.indices))
            if len(codes) <= _FEW_CHOICES:
                return codes.__contains__, lambda column: _one_of(codes, column)
            return codes.__contains__, lambda column: _looked_up(table, column)
        intervals = self._code_intervals(parameter)
        if len(intervals) > 1:
            return _in_any(intervals), lambda column: _in_any_column(intervals, column)
        ((low, high),) = intervals
        return (lambda code: low <= code <= high), _interval_mask(low, high)

    def stored_test(self) -> Callable[[NDArray[Any]], Mask]:
        """Whether each entry of a column of values is allowed; choices are stored as indices."""
        parameter = self.parameter
        assert not isinstance(parameter, Constant), "a constant is not stored"
        if not parameter.choices:
            return lambda column: _in_any_column(self.intervals, column)
        table = np.zeros(len(parameter.choices) + 1, bool)  # the last is for the mark, -1
        table[list(self.indices)] = True
        return lambda column: table[column]

    def _code_intervals(self, parameter: Parameter) -> tuple[Interval, ...]:
        if not parameter.choices:
            ends = self.intervals
            read: Callable[[float], Any] = parameter.decode
        else:
            ranks = {choice: index for index, choice in enumerate(parameter.choices)}
            ends = runs(self.indices)
            read = lambda code: ranks[parameter.decode(code)]  # noqa: E731  # as short as it gets
        return tuple(
            (first_code(read, low.__le__), _below(first_code(read, high.__lt__)))
            for low, high in ends
        )

    def cuts(self) -> tuple[Cut, ...]:
        """Where the codes of a continuous parent begin and cease to be allowed."""
        parameter = self.parameter
        if not _rounds(parameter):
            return ()
        assert not isinstance(parameter, Constant), "a constant has no code"
        tests = [test for low, high in self.intervals for test in (low.__le__, high.__lt__)]
        cuts = (Cut(first_code(parameter.decode, test), test) for test in tests)
        return tuple(cut for cut in cuts if math.isfinite(cut.code))


def _rounds(parameter: Parameter | Constant) -> bool:
    """Whether encoding a value and decoding it may give another value."""
    if isinstance(parameter, Float | Integer) and parameter.grid:
        return False
    if isinstance(parameter, Integer):
        return max(-parameter.low, parameter.high) > 2**32
    return isinstance(parameter, Float)


def _in_any(intervals: Sequence[Interval]) -> Callable[[Any], bool]:
    return lambda value: any(low <= value <= high for low, high in intervals)


def _in_any_column(intervals: Sequence[Interval], column: NDArray[Any]) -> Mask:
    found = np.zeros(len(column), bool)
    for low, high in intervals:
        found |= (low <= column) & (column <= high)
    return found


def _interval_mask(low: float, high: float) -> Callable[[Array], Mask]:
    """A test for columns, with one comparison if one end has no bound."""
    if high == math.inf and low != -math.inf:
        return lambda column: low <= column
    if low == -math.inf and high != math.inf:
        return lambda column: column <= high
    return lambda column: (low <= column) & (column <= high)


def _one_of(codes: Iterable[float], column: Array) -> Mask:
    first, *others = codes
    found: Mask = column == first
    for code in others:
        found |= column == code
    return found


def _looked_up(table: Mask, column: Array) -> Mask:
    last = len(table) - 1
    return table[np.where(np.isnan(column), last, column).astype(np.intp)]


def runs(numbers: Iterable[int]) -> tuple[Interval, ...]:
    """Whole numbers as intervals of consecutive ones.

    >>> runs([1, 2, 3, 7])
    ((1.0, 3.0), (7.0, 7.0))
    """
    found: list[list[float]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = float(number)
        else:
            found.append([float(number)] * 2)
    return tuple((low, high) for low, high in found)


def first_code(decode: Callable[[float], Any], reached: Callable[[Any], bool]) -> float:
    """The lowest position whose value is reached; minus or plus infinity if all are, or none.

    It is found by bisection over the floats from 0 to 1, so it is exact. Values must not fall
    with the position.

    >>> first_code(lambda code: code * 4, lambda value: value >= 1)
    0.25
    """
    if reached(decode(0.0)):
        return -math.inf
    if not reached(decode(1.0)):
        return math.inf
    low, high = 0, _bits(1.0)  # positive floats are in the order of their bits
    while high - low > 1:
        middle = (low + high) // 2
        if reached(decode(_float(middle))):
            high = middle
        else:
            low = middle
    return _float(high)


def _below(code: float) -> float:
    """The code before a code; infinity stays."""
    return math.nextafter(code, -math.inf) if math.isfinite(code) else code


def _bits(number: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits


def _float(bits: int) -> float:
    number: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return number


def resolved(parent: Parameter | Constant, condition: Any) -> Any:
    """A condition in its final form: a tuple that is no choice of the parent lists values."""
    several = isinstance(condition, tuple) and type(condition) is not Values
    if not several or condition in getattr(parent, "choices", (getattr(parent, "value", None),)):
        return condition
    different = Values(dict.fromkeys(condition))
    one = len(different) == 1 and not isinstance(different[0], tuple)
    return different[0] if one else different


def allowed(child: str, name: str, parent: Parameter | Constant, condition: Any) -> Allowed:
    """The values of a parent that fulfil a condition, or `SpaceError` if there are none."""
    try:
        found = _allowed(parent, condition)
    except ConfigError as error:
        raise SpaceError(
            f"Parameter `{child}` can never be active: its condition on `{name}` {error}."
        ) from None
    if not found:
        raise SpaceError(
            f"Parameter `{child}` can never be active: no value of `{name}` fulfils "
            f"{condition_text(name, condition)}. `{name}` is {parent!r}."
        )
    return found


def _allowed(parent: Parameter | Constant, condition: Any) -> Allowed:
    if isinstance(parent, Constant):
        return _allowed_constant(parent, condition)
    if parent.choices:
        return Allowed(parent, indices=_allowed_indices(parent, condition))
    if isinstance(condition, Bounds):
        return Allowed(parent, intervals=_numbers_between(parent, condition))
    values = condition if isinstance(condition, Values) else (condition,)
    if isinstance(parent, Float | Integer) and parent.grid:
        indices = {parent.grid.index(value) for value in values}
        return Allowed(parent, intervals=_around(parent.grid, indices))
    if isinstance(parent, Float):
        raise ConfigError(
            f"must be a range, as single values of a Float are never drawn, got {condition!r}: "
            "use at_least, at_most or between"
        )
    return Allowed(parent, intervals=runs({parent.check(value) for value in values}))


def _allowed_constant(parent: Constant, condition: Any) -> Allowed:
    if isinstance(condition, Bounds):
        raise ConfigError(
            f"must be a value, as it is the constant {parent.value!r}, got {condition!r}"
        )
    values = condition if isinstance(condition, Values) else (condition,)
    if parent.value not in values:
        raise ConfigError(f"must be {parent.value!r}, which it always is, got {condition!r}")
    return Allowed(parent, indices=frozenset({0}))


def _allowed_indices(parent: Parameter, condition: Any) -> frozenset[int]:
    positions = {choice: index for index, choice in enumerate(parent.choices)}
    if not isinstance(condition, Bounds):
        values = condition if isinstance(condition, Values) else (condition,)
        return frozenset(positions[parent.check(value)] for value in values)
    if parent.size is not None:
        raise ConfigError(
            f"must be a value or a list of values, as its choices have no order, got {condition!r}"
        )
    low = 0 if condition.low is None else positions[parent.check(condition.low)]
    high = len(positions) - 1
    high = high if condition.high is None else positions[parent.check(condition.high)]
    return frozenset(range(low, high + 1))


def _numbers_between(parent: Parameter, condition: Bounds) -> tuple[Interval, ...]:
    assert isinstance(parent, Float | Integer), "others list their choices"
    low = parent.low if condition.low is None else _number(condition.low)
    high = parent.high if condition.high is None else _number(condition.high)
    low, high = max(low, parent.low), min(high, parent.high)
    if parent.grid:
        return _around(parent.grid, parent.grid.indices(low, high))
    if isinstance(parent, Integer):
        low, high = math.ceil(low), math.floor(high)
    return ((float(low), float(high)),) if low <= high else ()


def _around(grid: ValueGrid, indices: Collection[int]) -> tuple[Interval, ...]:
    """Intervals that contain the values with these indices, also if they are slightly off."""
    near = grid.step / 4
    if isinstance(indices, range):  # too many to list
        found: tuple[Interval, ...] = ((indices[0], indices[-1]),) if indices else ()
    else:
        found = runs(indices)
    ends = [(grid.value(int(low)), grid.value(int(high))) for low, high in found]
    return tuple((low - near, high + near) for low, high in ends)


def _number(value: Any) -> float:
    if real(value) is None:
        raise ConfigError(f"must have numbers as bounds, got {value!r}")
    number: float = value
    return number
