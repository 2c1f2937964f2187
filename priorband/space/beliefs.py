"""Beliefs about one parameter, stated in the parameter's own values.

A belief does not know its parameter. Its method `on` turns it into a density over the encoded
values of a parameter, and raises `SpaceError` if the two do not fit. Widths are fractions of the
parameter's (log) range.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, final

import numpy as np

from priorband.errors import ConfigError, SpaceError
from priorband.space.base import Parameter
from priorband.space.confidence import (
    USUAL_CONFIDENCE,
    Confidence,
    normalised_weights,
    positive_number,
    sigma_of,
    weight_of,
)
from priorband.space.densities import (
    BetaDensity,
    Blend,
    Choices,
    Density,
    Flat,
    TruncatedNormal,
    normalised_steps,
    preferred_choice,
)
from priorband.values import frozen, settle


class Belief(Protocol):
    """What you believe about one parameter.

    For a belief of your own, write a class with the method `on`.

    Example:
        >>> from priorband import Float
        >>> class NearTheTop:
        ...     def on(self, parameter):
        ...         return BetaDensity(5.0, 1.0)
        >>> Float(0, 1, prior=NearTheTop()).prior.on(Float(0, 1)).mode
        1.0
    """

    def on(self, parameter: Parameter) -> Density:
        """Return the density over the parameter's encoded values.

        Raises:
            SpaceError: If the belief does not fit the parameter.
        """


def _require_order(parameter: Parameter, belief: object) -> None:
    if parameter.size is not None:
        raise SpaceError(
            f"{belief!r} needs values with an order, got {parameter!r}. "
            "For a categorical, name the choice you expect to be best, or use Weights."
        )


def _code(parameter: Parameter, value: object) -> float:
    try:
        return parameter.encode(value)
    except ConfigError as error:
        hint = "" if parameter.size is not None else " Choose another value, or widen the range."
        raise SpaceError(f"`prior` {error}.{hint}") from None


@final
@frozen
class Normal:
    """A normal around the value that you expect to be best, truncated to the range.

    Args:
        centre: The value that you expect to be best.
        sigma: The standard deviation, as a fraction of the (log) range, or one of "low" (0.5),
            "medium" (0.25) and "high" (0.125) confidence.

    Raises:
        SpaceError: If `sigma` is not a positive number or one of these words.

    Example:
        >>> Normal(0.2, sigma=0.1)
        Normal(centre=0.2, sigma=0.1)
    """

    centre: Any
    sigma: float | str = "medium"

    def __post_init__(self) -> None:
        settle(self, sigma=sigma_of("sigma", self.sigma))

    def on(self, parameter: Parameter) -> Density:
        """Return a truncated normal at the centre's position."""
        _require_order(parameter, self)
        return TruncatedNormal(_code(parameter, self.centre), sigma_of("sigma", self.sigma))


@final
@frozen
class Uniform:
    """No belief: all values are equally likely.

    Example:
        >>> from priorband import Categorical
        >>> Uniform().on(Categorical(["sgd", "adam"])).probabilities
        (0.5, 0.5)
    """

    def on(self, parameter: Parameter) -> Density:
        """Return a flat density, or equal probabilities for a categorical."""
        if parameter.size is None:
            return Flat()
        return Choices((1.0 / parameter.size,) * parameter.size)


@final
@frozen
class Beta:
    """A beta density over the (log) range, for a skewed belief. Its mode is (a-1)/(a+b-2).

    Args:
        a: The first shape parameter, at least 1. Larger values move the density up the range.
        b: The second shape parameter, at least 1. Larger values move the density down the range.

    Raises:
        SpaceError: If `a` or `b` is not a number of at least 1.

    Example:
        >>> Beta(2, 5)
        Beta(a=2.0, b=5.0)
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            value = positive_number(name, getattr(self, name))
            if value < 1:
                raise SpaceError(
                    f"`{name}` must be at least 1, got {value!r}: below 1, the density has no "
                    "single peak. For a belief in both ends of the range use a Mixture."
                )
            settle(self, **{name: value})

    def on(self, parameter: Parameter) -> Density:
        """Return the beta density over positions."""
        _require_order(parameter, self)
        return BetaDensity(self.a, self.b)


@final
@frozen
class Weights:
    """How likely each choice of a categorical or ordinal is.

    Args:
        of: A dict of weights by choice, where a choice that is left out has weight 0; or the
            choice that you expect to be best.
        confidence: How many times as likely a single choice `of` is as each other choice, or one
            of "low" (2), "medium" (4) and "high" (6) confidence. Not used with a dict.

    Example:
        >>> from priorband import Categorical
        >>> Weights("adam", confidence="high").on(Categorical(["sgd", "adam"])).probabilities
        (0.14285714285714285, 0.8571428571428571)
    """

    of: Any
    confidence: float | str = "medium"

    def on(self, parameter: Parameter) -> Density:
        """Return probabilities of a categorical's choices, or a histogram over an ordinal's."""
        if not parameter.choices:
            raise SpaceError(f"Weights need choices, got {parameter!r}. Use Normal or Histogram.")
        if isinstance(self.of, Mapping):
            probabilities = _probabilities(parameter, self.of)
        else:
            weight = weight_of("confidence", self.confidence)
            index = parameter.choices.index(parameter.decode(_code(parameter, self.of)))
            probabilities = preferred_choice(index, len(parameter.choices), weight).probabilities
        return Choices(probabilities) if parameter.size else _histogram(probabilities)


def _probabilities(parameter: Parameter, weights: Mapping[Any, Any]) -> tuple[float, ...]:
    """The probability of each choice; 0 for a choice that is left out."""
    for choice in weights:
        _code(parameter, choice)  # raises an error for a choice that does not exist
    values = [weights.get(choice, 0.0) for choice in parameter.choices]
    return normalised_weights("Weights", values)


def _histogram(weights: tuple[float, ...]) -> Density:
    edges = tuple(i / len(weights) for i in range(len(weights) + 1))
    return normalised_steps(edges, weights)


@final
@frozen
class Histogram:
    """A histogram over the (log) range, with bins of equal width.

    Args:
        weights: The weight of each bin, from the low end of the range to the high end. They are
            scaled to sum to 1.

    Raises:
        SpaceError: If there are no weights, one is negative, or all are 0.

    Example:
        >>> from priorband import Ordinal
        >>> Histogram([1, 3, 1]).on(Ordinal(["a", "b", "c"])).mode
        0.5
    """

    weights: Sequence[float]

    def __post_init__(self) -> None:
        settle(self, weights=normalised_weights("A histogram's weights", self.weights))

    def on(self, parameter: Parameter) -> Density:
        """Return a density that is constant within each bin."""
        _require_order(parameter, self)
        return _histogram(tuple(self.weights))


@final
@frozen
class Mixture:
    """A weighted mixture of beliefs, for example for two good regions.

    Args:
        beliefs: The beliefs. A plain value stands for a normal around it, a dict for `Weights`.
        weights: The weight of each belief, scaled to sum to 1. Equal weights by default.

    Raises:
        SpaceError: If there are no beliefs, or the number of weights is different.

    Example:
        >>> Mixture([Normal(1e-4, "high"), Normal(1e-2, "high")], weights=[1, 3]).weights
        (0.25, 0.75)
    """

    beliefs: Sequence[Any]
    weights: Sequence[float] = ()

    def __post_init__(self) -> None:
        if isinstance(self.beliefs, str) or not isinstance(self.beliefs, Iterable):
            raise SpaceError(f"`beliefs` must be a list of beliefs, got {self.beliefs!r}.")
        beliefs = tuple(self.beliefs)
        if not beliefs:
            raise SpaceError("A mixture needs at least one belief, got none.")
        no_weights = isinstance(self.weights, tuple) and not self.weights
        stated_weights = (1.0,) * len(beliefs) if no_weights else self.weights
        weights = normalised_weights("A mixture's weights", stated_weights)
        if len(beliefs) != len(weights):
            raise SpaceError(
                f"A mixture needs one weight for each belief, got {len(beliefs)} beliefs and "
                f"{len(weights)} weights."
            )
        settle(self, beliefs=beliefs, weights=weights)

    def on(self, parameter: Parameter) -> Density:
        """Return the weighted mixture of the beliefs' densities."""
        weighted = [(b, w) for b, w in zip(self.beliefs, self.weights, strict=True) if w > 0]
        densities = [as_belief(stated).on(parameter) for stated, _ in weighted]
        weights = tuple(weight for _, weight in weighted)
        if parameter.size is None:
            return Blend(tuple(densities), weights)
        codes = np.arange(float(parameter.size))
        chances = sum(w * np.exp(d.logpdf(codes)) for d, w in zip(densities, weights, strict=True))
        return Choices(tuple(np.asarray(chances).tolist()))


def as_belief(stated: Any, confidence: Confidence = "medium") -> Belief:
    """Return the belief that a value of `prior=` stands for.

    Args:
        stated: None, a value, a dict of weights, or a belief.
        confidence: How strongly a plain value is believed.

    Raises:
        SpaceError: If it is a class instead of an instance.
    """
    if stated is None:
        return Uniform()
    if isinstance(stated, type):
        raise SpaceError(
            f"`prior` must be a value or a belief, got the class {stated.__name__}. "
            f"Use an instance of it: {stated.__name__}(...)."
        )
    if hasattr(stated, "on"):
        return stated  # type: ignore[no-any-return]  # any object with this method is a belief
    return Stated(stated, confidence)


@final
@frozen
class Stated:
    """A plain value or a dict of weights; the parameter decides what density that means."""

    value: Any
    confidence: Confidence = "medium"

    def on(self, parameter: Parameter) -> Density:
        """Return weights of choices for a categorical or a dict, otherwise a normal."""
        if parameter.size is not None or isinstance(self.value, Mapping):
            return Weights(self.value, self.confidence).on(parameter)
        return Normal(self.value, sigma_of("confidence", self.confidence)).on(parameter)


def check_prior(parameter: Parameter) -> None:
    """Raise `SpaceError` if a parameter's prior or confidence does not fit the parameter."""
    as_belief(parameter.prior, parameter.confidence).on(parameter)
    _check_confidence(parameter)
    if parameter.prior is None and parameter.confidence != USUAL_CONFIDENCE:
        raise SpaceError(
            "`confidence` says how sure you are of a `prior`, and there is none, got "
            f"confidence={parameter.confidence!r}. Give the value that you expect to be best as "
            "`prior`, or leave `confidence` out."
        )


def _check_confidence(parameter: Parameter) -> None:
    if parameter.size is None:
        sigma_of("confidence", parameter.confidence)
    else:
        weight_of("confidence", parameter.confidence)


def stated_values(stated: Belief) -> list[Any]:
    """The values of the parameter that a belief states as expected to be best."""
    if isinstance(stated, Normal):
        return [stated.centre]
    if isinstance(stated, Mixture):
        return [value for part in stated.beliefs for value in stated_values(as_belief(part))]
    value = getattr(stated, "value", getattr(stated, "of", None))
    is_value = isinstance(stated, Stated | Weights) and not isinstance(value, Mapping)
    return [value] if is_value else []
