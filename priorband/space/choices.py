"""Parameters whose values are listed one by one: categoricals, ordinals and constants.

A categorical's choice is encoded as its index, and no two choices are closer than others. An
ordinal's choice is encoded as a position in [0, 1], like a number.
"""

from collections.abc import Hashable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.errors import ConfigError, SpaceError
from priorband.space.beliefs import Belief, check_prior
from priorband.space.confidence import Confidence
from priorband.space.when import checked_when, plain_value
from priorband.values import derived, frozen, repr_without_defaults, settle


@final
class Branches(tuple[Any, ...]):
    """The choices of a categorical, with the parameters that each of them brings along.

    `Space` declares these parameters itself, and keeps a categorical of the choices alone.
    """

    children: dict[Any, dict[str, Any]]

    def __new__(cls, branches: Mapping[Any, Any]) -> "Branches":
        """Make the choices, or raise `SpaceError` if a branch is not a dict of parameters."""
        for choice, branch in branches.items():
            if not isinstance(branch, Mapping):
                raise SpaceError(
                    f"The choice {choice!r} must come with a dict of parameters, {{}} for none, "
                    f"got {branch!r}. For choices alone, give a list."
                )
        self = super().__new__(cls, map(plain_value, branches))
        self.children = {
            choice: dict(branch) for choice, branch in zip(self, branches.values(), strict=True)
        }
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Branches) and self.children == other.children

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return super().__hash__()

    def __repr__(self) -> str:
        return repr(self.children)

    def __reduce__(self) -> tuple[type["Branches"], tuple[dict[Any, Any]]]:
        return Branches, (self.children,)


def _listed(choices: Any, positions: dict[Any, int]) -> tuple[Any, ...]:
    """The choices as a tuple, with the parameters that they bring along if there are any."""
    if isinstance(choices, Mapping):
        choices = Branches(choices)
    has_children = isinstance(choices, Branches) and any(choices.children.values())
    return choices if has_children else tuple(positions)


def _indices(choices: Any) -> dict[Any, int]:
    """Return each choice's index, or raise `SpaceError` if there are none or two are equal."""
    listed = _plain_list(choices)
    index: dict[Any, int] = {}
    for position, choice in enumerate(listed):
        try:
            first = index.setdefault(choice, position)
        except TypeError:
            raise SpaceError(
                f"`choices` must be hashable values, got {choice!r}. Use a tuple or a name for it."
            ) from None
        if first != position:
            raise SpaceError(
                f"`choices` must differ, got {listed[first]!r} and {choice!r}. Drop one of them."
            )
        if choice != choice:
            raise SpaceError(f"`choices` must be equal to themselves, got {choice!r}.")
    return index


def _plain_list(choices: Any) -> list[Any]:
    if isinstance(choices, str | bytes):
        raise SpaceError(
            f"`choices` must be a list of values, got the single text {choices!r}. Put all choices "
            f"in a list: [{choices!r}, ...]."
        )
    invalid = isinstance(choices, Set)  # its order varies
    try:
        listed = [] if invalid else [plain_value(choice) for choice in choices]
    except TypeError:
        invalid = True
    if invalid:
        raise SpaceError(
            "`choices` must be an ordered list of values, such as ['sgd', 'adam'], got "
            f"{choices!r}."
        )
    if not listed:
        raise SpaceError("`choices` is empty. Give at least one value.")
    return listed


def _index(index: dict[Any, int], value: Any) -> int:
    try:
        return index[value]
    except (KeyError, TypeError):
        allowed = ", ".join(map(repr, index))
        raise ConfigError(f"must be one of {allowed}, got {value!r}") from None


@final
@frozen
class Categorical:
    """One of several values that have no order.

    Args:
        choices: The allowed values. They must be hashable, and all different. Or a dict: the
            parameters that are active with each choice, by name, such as
            `{"sgd": {"momentum": Float(0, 1)}, "adam": {}}`. A space lists them after this one.
        prior: The choice that you expect to be best, a dict of weights by choice, a belief such
            as `Weights`, or None if you have no expectation.
        confidence: How sure you are of a `prior` that is one choice: "low", "medium", "high", or
            how many times as likely it is as each other choice.
        when: The values of other parameters under which this one is active, such as
            `{"optimizer": "sgd"}`. A value, a list of values, or `at_least`, `at_most` or `between`
            for each; all must hold. None if it is always active.

    Raises:
        SpaceError: If there are no choices, two are equal, or the prior is not one of them.

    Example:
        >>> Categorical(["sgd", "adam"], prior="adam").encode("adam")
        1.0
        >>> from priorband import Float, Space
        >>> optimizer = Categorical({"sgd": {"momentum": Float(0, 1)}, "adam": {}})
        >>> Space({"optimizer": optimizer}).searched["momentum"].when
        {'optimizer': 'sgd'}
    """

    choices: Sequence[Any]
    prior: Hashable | Mapping[Any, float] | Belief = None
    confidence: Confidence = "medium"
    when: Mapping[str, Any] | None = None
    _positions: dict[Any, int] = derived()

    if TYPE_CHECKING:

        def __init__(
            self,
            choices: Sequence[Any] | Mapping[Any, Mapping[str, Any]],
            prior: Hashable | Mapping[Any, float] | Belief = None,
            confidence: Confidence = "medium",
            when: Mapping[str, Any] | None = None,
        ) -> None: ...

    __repr__ = repr_without_defaults("when")

    def __post_init__(self) -> None:
        positions = _indices(self.choices)
        settle(
            self,
            choices=_listed(self.choices, positions),
            _positions=positions,
            when=checked_when(self.when),
        )
        check_prior(self)

    @property
    def size(self) -> int | None:
        """The number of choices."""
        return len(self.choices)

    def check(self, value: Any) -> Any:
        """Return the choice as it was listed, or raise `ConfigError` if there is no such choice."""
        return self.choices[_index(self._positions, value)]

    def encode(self, value: Any) -> float:
        """Return the choice's index."""
        return float(_index(self._positions, value))

    def decode(self, code: float) -> Any:
        """Return the choice with this index."""
        return self.choices[int(code)]

    def centred(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the indices unchanged."""
        return codes


@final
@frozen
class Ordinal:
    """One of several values that have an order, so that neighbours are similar.

    Args:
        choices: The allowed values in order. They must be hashable, all different, and at least
            two.
        prior: The choice that you expect to be best, a dict of weights by choice, a belief such
            as `Histogram`, or None if you have no expectation.
        confidence: How sure you are of a `prior` that is one choice: "low", "medium", "high", or
            the width of a normal as a fraction of the range.
        when: The values of other parameters under which this one is active, such as
            `{"optimizer": "sgd"}`. A value, a list of values, or `at_least`, `at_most` or `between`
            for each; all must hold. None if it is always active.

    Raises:
        SpaceError: If there are fewer than two choices, two are equal, or the prior is not one of
            them.

    Example:
        >>> depth = Ordinal([2, 4, 8, 16], prior=4)
        >>> depth.encode(4), depth.decode(0.99)
        (0.375, 16)
    """

    choices: Sequence[Any]
    prior: Hashable | Mapping[Any, float] | Belief = None
    confidence: Confidence = "medium"
    when: Mapping[str, Any] | None = None
    _positions: dict[Any, int] = derived()

    __repr__ = repr_without_defaults("when")

    def __post_init__(self) -> None:
        if isinstance(self.choices, Mapping):
            raise SpaceError(
                f"`choices` must be an ordered list of values, got {self.choices!r}. Only "
                "Categorical takes a dict; use `when` for parameters that depend on an ordinal."
            )
        positions = _indices(self.choices)
        settle(self, choices=tuple(positions), _positions=positions, when=checked_when(self.when))
        if len(self.choices) < 2:
            raise SpaceError(
                f"`choices` of an ordinal must be at least two, got {list(self.choices)!r}. "
                "For a single value use Constant."
            )
        check_prior(self)

    @property
    def size(self) -> int | None:
        """None: values have an order."""
        return None

    def check(self, value: Any) -> Any:
        """Return the choice as it was listed, or raise `ConfigError` if there is no such choice."""
        return self.choices[_index(self._positions, value)]

    def encode(self, value: Any) -> float:
        """Return the middle of the choice's cell; all cells of [0, 1] have the same width."""
        return (_index(self._positions, value) + 0.5) / len(self.choices)

    def decode(self, code: float) -> Any:
        """Return the choice whose cell contains the position."""
        return self.choices[min(int(code * len(self.choices)), len(self.choices) - 1)]

    def centred(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the middle of the cell that contains each position."""
        count = len(self.choices)
        return (np.minimum(np.floor(codes * count), count - 1) + 0.5) / count


@final
@frozen
class Constant:
    """A fixed value: it is part of every configuration and is not searched.

    Args:
        value: The value. It must be hashable.
        prior: Not allowed: a constant has no prior. It must be None.
        when: The values of other parameters under which this one is active, such as
            `{"optimizer": "sgd"}`. A value, a list of values, or `at_least`, `at_most` or `between`
            for each; all must hold. None if it is always active.

    Raises:
        SpaceError: If the value is not hashable, or a prior is given.

    Example:
        >>> from priorband import Float, Space
        >>> Space({"lr": Float(0, 1), "classes": Constant(10)}).decode([0.5])
        {'lr': 0.5, 'classes': 10}
    """

    value: Hashable
    prior: object = None
    when: Mapping[str, Any] | None = None

    __repr__ = repr_without_defaults("when")

    def __post_init__(self) -> None:
        settle(self, when=checked_when(self.when))
        try:
            same = bool(self.value == self.value) and hash(self.value) == hash(self.value)
        except (TypeError, ValueError):
            same = False
        if not same:
            raise SpaceError(
                f"`value` of a constant must be hashable and equal to itself, got {self.value!r}. "
                "Use a tuple or a name for it."
            )
        if self.prior is not None:
            raise SpaceError(
                f"A constant takes no prior: its value is always {self.value!r}, "
                f"got prior={self.prior!r}. Drop the prior, or use another kind of parameter."
            )
