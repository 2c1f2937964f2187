"""Parameters whose values are listed one by one: categoricals, ordinals and constants.

A category is encoded as its index and has no geometry; an ordinal is a position, like a number.
"""

from collections.abc import Sequence, Set
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.errors import ConfigError, SpaceError
from priorband.space.beliefs import check_prior
from priorband.values import derived, frozen, settle


def _distinct(choices: Any) -> dict[Any, int]:
    """Each choice's index, after checking that there are some and that no two are equal."""
    wrong = isinstance(choices, str | bytes | Set)
    try:
        listed = [] if wrong else [_plain(choice) for choice in choices]
    except TypeError:
        wrong = True
    if wrong:
        raise SpaceError(f"`choices` must be a list of values in an order, got {choices!r}.")
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


def _plain(choice: Any) -> Any:
    """A choice without numpy around it, as a file would give it back."""
    return choice.item() if isinstance(choice, np.generic) else choice


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
        positions = _distinct(self.choices)
        settle(self, choices=tuple(positions), _positions=positions)
        check_prior(self)

    @property
    def size(self) -> int | None:
        """How many choices there are."""
        return len(self.choices)

    def check(self, value: Any) -> Any:
        """The choice as it was listed."""
        return self.choices[_index(self._positions, value)]

    def encode(self, value: Any) -> float:
        """The choice's index."""
        return float(_index(self._positions, value))

    def decode(self, code: float) -> Any:
        """The choice with that index."""
        return self.choices[int(code)]

    def centred(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The indices themselves."""
        return codes


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
        positions = _distinct(self.choices)
        settle(self, choices=tuple(positions), _positions=positions)
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

    def check(self, value: Any) -> Any:
        """The choice as it was listed."""
        return self.choices[_index(self._positions, value)]

    def encode(self, value: Any) -> float:
        """The middle of the choice's cell: the unit interval is cut into equal ones."""
        return (_index(self._positions, value) + 0.5) / len(self.choices)

    def decode(self, code: float) -> Any:
        """The choice whose cell holds the position."""
        return self.choices[min(int(code * len(self.choices)), len(self.choices) - 1)]

    def centred(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The centre of each position's cell."""
        count = len(self.choices)
        return (np.minimum(np.floor(codes * count), count - 1) + 0.5) / count


@final
@frozen
class Constant:
    """A value that every configuration has and that no method touches."""

    value: Any
    prior: Any = None

    def __post_init__(self) -> None:
        try:
            same = bool(self.value == self.value) and hash(self.value) == hash(self.value)
        except (TypeError, ValueError):
            same = False
        if not same:
            raise SpaceError(
                f"A constant must be hashable and equal itself, got {self.value!r}. "
                "Use a tuple or a name for it."
            )
        if self.prior is not None:
            raise SpaceError(
                f"A constant takes no prior: its value is always {self.value!r}, "
                f"got prior={self.prior!r}. Drop the prior, or use another kind of parameter."
            )
