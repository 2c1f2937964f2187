"""Beliefs as a person states them, in the parameter's own values.

A belief becomes a density once it is put on a parameter, and that is where it is checked. Widths
are fractions of the parameter's (log) range.

| confidence | width of a number's normal | weight of a category against each other |
|------------|----------------------------|-----------------------------------------|
| "low"      | 0.5                        | 2                                       |
| "medium"   | 0.25                       | 4                                       |
| "high"     | 0.125                      | 6                                       |
"""

from collections.abc import Mapping
from typing import Any, Protocol, final

from priorband.errors import ConfigError, SpaceError, suggestion
from priorband.space.base import Parameter
from priorband.space.densities import (
    BetaDensity,
    Blend,
    Choices,
    Density,
    Flat,
    TruncatedNormal,
    favouring,
    normalised_steps,
)
from priorband.space.numeric import real
from priorband.values import frozen

SIGMAS = {"low": 0.5, "medium": 0.25, "high": 0.125}
WEIGHTS = {"low": 2.0, "medium": 4.0, "high": 6.0}


class Belief(Protocol):
    """What a person thinks of one parameter."""

    def on(self, parameter: Parameter) -> Density:
        """The density over the parameter's encoded values."""


def _positive(name: str, value: Any, words: Mapping[str, float]) -> float:
    if isinstance(value, str):
        if value not in words:
            raise SpaceError(f"Unknown {name} {value!r}. {suggestion(value, words)}")
        return words[value]
    number = real(value)
    if number is None or number <= 0:
        raise SpaceError(f"`{name}` must be a positive number, got {value!r}.")
    return number


def _ordered(parameter: Parameter, belief: object) -> None:
    if parameter.size is not None:
        raise SpaceError(
            f"{belief!r} needs values with an order, got {parameter!r}. "
            "For a categorical name the choice believed best, or give Weights."
        )


def _code(parameter: Parameter, value: Any) -> float:
    try:
        return parameter.encode(value)
    except ConfigError as error:
        raise SpaceError(f"The prior {error}.") from None


@final
@frozen
class Normal:
    """The best value is near `centre`: a normal cut to the range.

    `sigma` is its width as a fraction of the (log) range, or a confidence word.

    >>> Normal(0.2, sigma=0.1)
    Normal(centre=0.2, sigma=0.1)
    """

    centre: Any
    sigma: float | str = "medium"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", _positive("sigma", self.sigma, SIGMAS))

    def on(self, parameter: Parameter) -> Density:
        """A truncated normal at the centre's position."""
        _ordered(parameter, self)
        sigma = _positive("sigma", self.sigma, SIGMAS)
        return TruncatedNormal(_code(parameter, self.centre), sigma)


@final
@frozen
class Uniform:
    """No belief: every value is as likely as any other."""

    def on(self, parameter: Parameter) -> Density:
        """Flat over positions, or equal probabilities of the choices."""
        if parameter.size is None:
            return Flat()
        return Choices((1.0 / parameter.size,) * parameter.size)


@final
@frozen
class Beta:
    """A skewed belief: a beta density over the (log) range, with its mode at (a-1)/(a+b-2).

    >>> Beta(2, 5)
    Beta(a=2.0, b=5.0)
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            value = _positive(name, getattr(self, name), {})
            if value < 1:
                raise SpaceError(
                    f"`{name}` must be at least 1, got {value!r}: below, the density has no single "
                    "peak. For a belief in both ends use a Mixture."
                )
            object.__setattr__(self, name, value)

    def on(self, parameter: Parameter) -> Density:
        """The beta density over positions."""
        _ordered(parameter, self)
        return BetaDensity(self.a, self.b)


@final
@frozen
class Weights:
    """How likely each choice is: a dict of weights, or a preferred choice and a confidence.

    >>> from priorband import Categorical
    >>> Weights("adam", confidence="high").on(Categorical(["sgd", "adam"])).probabilities
    (0.14285714285714285, 0.8571428571428571)
    """

    of: Any
    confidence: float | str = "medium"

    def on(self, parameter: Parameter) -> Density:
        """Probabilities of a categorical's choices, or a histogram over an ordinal's."""
        if not parameter.choices:
            raise SpaceError(f"Weights need choices, got {parameter!r}. Use Normal or Histogram.")
        if isinstance(self.of, Mapping):
            probabilities = _probabilities(parameter, self.of)
        else:
            weight = _positive("confidence", self.confidence, WEIGHTS)
            index = parameter.choices.index(parameter.decode(_code(parameter, self.of)))
            probabilities = favouring(index, len(parameter.choices), weight).probabilities
        return Choices(probabilities) if parameter.size else _histogram(probabilities)


def _probabilities(parameter: Parameter, weights: Mapping[Any, Any]) -> tuple[float, ...]:
    """A weight for each choice, scaled to sum to one; a choice that is left out has none."""
    for choice in weights:
        _code(parameter, choice)
    values = [weights.get(choice, 0.0) for choice in parameter.choices]
    return _scaled("Weights", values)


def _scaled(name: str, weights: Any) -> tuple[float, ...]:
    values = list(weights)
    for value in values:
        number = real(value)
        if number is None or number < 0:
            raise SpaceError(f"{name} must be numbers of at least 0, got {value!r}.")
    total = float(sum(values))
    if not total > 0:
        raise SpaceError(f"{name} must have a positive sum, got {values!r}.")
    return tuple(float(value) / total for value in values)


def _histogram(weights: tuple[float, ...]) -> Density:
    edges = tuple(i / len(weights) for i in range(len(weights) + 1))
    return normalised_steps(edges, weights)


@final
@frozen
class Histogram:
    """Weights of equal bins over the (log) range, from low to high.

    >>> from priorband import Ordinal
    >>> Histogram([1, 3, 1]).on(Ordinal(["a", "b", "c"])).mode
    0.5
    """

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _scaled("A histogram's weights", self.weights))

    def on(self, parameter: Parameter) -> Density:
        """A density that is constant within each bin."""
        _ordered(parameter, self)
        return _histogram(self.weights)


@final
@frozen
class Mixture:
    """Several beliefs at once, such as two good regions; equal weights unless given.

    >>> Mixture([Normal(1e-4, "high"), Normal(1e-2, "high")], weights=[1, 3]).weights
    (0.25, 0.75)
    """

    beliefs: tuple[Any, ...]
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "beliefs", tuple(self.beliefs))
        weights = (1.0,) * len(self.beliefs) if self.weights is None else self.weights
        object.__setattr__(self, "weights", _scaled("A mixture's weights", weights))
        if len(self.beliefs) != len(self.weights or ()):
            raise SpaceError(
                f"A mixture needs one weight for each belief, got {len(self.beliefs)} beliefs and "
                f"{len(self.weights or ())} weights."
            )

    def on(self, parameter: Parameter) -> Density:
        """The weighted densities of its beliefs."""
        weighted = [(b, w) for b, w in zip(self.beliefs, self.weights or (), strict=True) if w > 0]
        densities = [belief(stated).on(parameter) for stated, _ in weighted]
        weights = tuple(weight for _, weight in weighted)
        if parameter.size is None:
            return Blend(tuple(densities), weights)
        rows = [d.probabilities for d in densities if isinstance(d, Choices)]
        return Choices(
            tuple(
                sum(w * p for w, p in zip(weights, column, strict=True))
                for column in zip(*rows, strict=True)
            )
        )


def belief(stated: Any, confidence: Any = "medium") -> Belief:
    """What a person wrote after `prior=`, as a belief."""
    if stated is None:
        return Uniform()
    if hasattr(stated, "on"):
        return stated  # type: ignore[no-any-return]  # a user's belief is known by its method
    return Stated(stated, confidence)


@final
@frozen
class Stated:
    """A plain value or a dict of weights: its shape follows from the parameter."""

    value: Any
    confidence: Any = "medium"

    def on(self, parameter: Parameter) -> Density:
        """Weights of choices for a categorical or a dict, else a normal."""
        if parameter.size is not None or isinstance(self.value, Mapping):
            return Weights(self.value, self.confidence).on(parameter)
        return Normal(self.value, self.confidence).on(parameter)


def check_prior(parameter: Parameter) -> None:
    """Refuse a prior that does not fit its parameter, when the parameter is made."""
    belief(parameter.prior, parameter.confidence).on(parameter)
