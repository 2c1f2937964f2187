"""Beliefs as a person states them, in the parameter's own values.

A belief becomes a density once it is put on a parameter, and that is where it is checked. Widths
are fractions of the parameter's (log) range.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, final

import numpy as np

from priorband.errors import ConfigError, SpaceError
from priorband.space.base import Parameter
from priorband.space.confidence import positive, scaled, sigma_of, weight_of
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
from priorband.values import frozen, settle


class Belief(Protocol):
    """What a person thinks of one parameter."""

    def on(self, parameter: Parameter) -> Density:
        """The density over the parameter's encoded values."""


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
        settle(self, sigma=sigma_of("sigma", self.sigma))

    def on(self, parameter: Parameter) -> Density:
        """A truncated normal at the centre's position."""
        _ordered(parameter, self)
        return TruncatedNormal(_code(parameter, self.centre), sigma_of("sigma", self.sigma))


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
            value = positive(name, getattr(self, name))
            if value < 1:
                raise SpaceError(
                    f"`{name}` must be at least 1, got {value!r}: below, the density has no single "
                    "peak. For a belief in both ends use a Mixture."
                )
            settle(self, **{name: value})

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
            weight = weight_of("confidence", self.confidence)
            index = parameter.choices.index(parameter.decode(_code(parameter, self.of)))
            probabilities = favouring(index, len(parameter.choices), weight).probabilities
        return Choices(probabilities) if parameter.size else _histogram(probabilities)


def _probabilities(parameter: Parameter, weights: Mapping[Any, Any]) -> tuple[float, ...]:
    """A weight for each choice, scaled to sum to one; a choice that is left out has none."""
    for choice in weights:
        _code(parameter, choice)
    values = [weights.get(choice, 0.0) for choice in parameter.choices]
    return scaled("Weights", values)


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

    weights: Sequence[float]

    def __post_init__(self) -> None:
        settle(self, weights=scaled("A histogram's weights", self.weights))

    def on(self, parameter: Parameter) -> Density:
        """A density that is constant within each bin."""
        _ordered(parameter, self)
        return _histogram(tuple(self.weights))


@final
@frozen
class Mixture:
    """Several beliefs at once, such as two good regions; equal weights unless given.

    >>> Mixture([Normal(1e-4, "high"), Normal(1e-2, "high")], weights=[1, 3]).weights
    (0.25, 0.75)
    """

    beliefs: Sequence[Any]
    weights: Sequence[float] = ()

    def __post_init__(self) -> None:
        if isinstance(self.beliefs, str) or not isinstance(self.beliefs, Iterable):
            raise SpaceError(f"A mixture is made of a list of beliefs, got {self.beliefs!r}.")
        beliefs = tuple(self.beliefs)
        if not beliefs:
            raise SpaceError("A mixture needs at least one belief, got none.")
        no_weights = isinstance(self.weights, tuple) and not self.weights
        given = (1.0,) * len(beliefs) if no_weights else self.weights
        weights = scaled("A mixture's weights", given)
        if len(beliefs) != len(weights):
            raise SpaceError(
                f"A mixture needs one weight for each belief, got {len(beliefs)} beliefs and "
                f"{len(weights)} weights."
            )
        settle(self, beliefs=beliefs, weights=weights)

    def on(self, parameter: Parameter) -> Density:
        """The weighted densities of its beliefs."""
        weighted = [(b, w) for b, w in zip(self.beliefs, self.weights, strict=True) if w > 0]
        densities = [belief(stated).on(parameter) for stated, _ in weighted]
        weights = tuple(weight for _, weight in weighted)
        if parameter.size is None:
            return Blend(tuple(densities), weights)
        codes = np.arange(float(parameter.size))
        chances = sum(w * np.exp(d.logpdf(codes)) for d, w in zip(densities, weights, strict=True))
        return Choices(tuple(np.asarray(chances).tolist()))


def belief(stated: Any, confidence: Any = "medium") -> Belief:
    """What a person wrote after `prior=`, as a belief."""
    if stated is None:
        return Uniform()
    if isinstance(stated, type):
        raise SpaceError(f"The prior is the class {stated.__name__}: give an instance of it.")
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
        return Normal(self.value, sigma_of("confidence", self.confidence)).on(parameter)


def check_prior(parameter: Parameter) -> None:
    """Refuse a prior or a confidence that does not fit, when the parameter is made."""
    belief(parameter.prior, parameter.confidence).on(parameter)
    if parameter.size is None:
        sigma_of("confidence", parameter.confidence)
    else:
        weight_of("confidence", parameter.confidence)


def stated_values(stated: Belief) -> list[Any]:
    """The values of a parameter that a belief names as good."""
    if isinstance(stated, Normal):
        return [stated.centre]
    if isinstance(stated, Mixture):
        return [value for part in stated.beliefs for value in stated_values(belief(part))]
    value = getattr(stated, "value", getattr(stated, "of", None))
    named = isinstance(stated, Stated | Weights) and not isinstance(value, Mapping)
    return [value] if named else []
