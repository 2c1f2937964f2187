"""Samplers made of other samplers: a random mixture, and one sampler after another."""

from collections.abc import Iterable, Sequence
from typing import Any, final

from priorband.conditions import Condition
from priorband.errors import MethodError
from priorband.numeric import real
from priorband.samplers.base import (
    Chances,
    Draw,
    MixtureWeights,
    Sampler,
    require_callable,
    require_sampler,
)
from priorband.state import State
from priorband.streams import Generator, aside
from priorband.values import derived, frozen, settle


@final
@frozen
class Fixed:
    """Weights of a `Mix` that never change.

    Args:
        probabilities: One probability for each sampler of the mixture. They must sum to 1.

    Raises:
        MethodError: If a probability is negative, or they do not sum to 1.

    Example:
        >>> Fixed((0.25, 0.75)).probabilities
        (0.25, 0.75)
    """

    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        stated: Any = self.probabilities
        numbers = [real(p) for p in stated] if isinstance(stated, Iterable) else []
        valid = [number for number in numbers if number is not None and number >= 0]
        if not numbers or len(valid) < len(numbers) or abs(sum(valid) - 1.0) > 1e-9:
            raise MethodError(
                f"`probabilities` must be numbers of at least 0 that sum to 1, got {stated!r}."
            )
        settle(self, probabilities=tuple(valid))

    def __call__(self, state: State, rung: int) -> Chances:
        del state, rung
        return self


@final
@frozen
class Mix:
    """A random mixture: each draw comes from one of several samplers.

    The choice does not use the generator that the samplers draw from. The chosen sampler therefore
    draws exactly what it would draw alone.

    Args:
        samplers: The samplers.
        weights: The probability of each sampler: `Fixed`, or a function of the state and the rung
            such as `Ensemble`.

    Raises:
        MethodError: If there are no samplers, or the number of probabilities is different.

    Example:
        >>> from priorband.samplers import FromPrior, FromUniform
        >>> mostly_prior = Mix([FromUniform(), FromPrior()], Fixed((0.2, 0.8)))
    """

    samplers: Sequence[Sampler]
    weights: MixtureWeights
    height: int = derived()
    """How deeply mixtures are nested. It keeps the choices of nested mixtures independent."""

    def __post_init__(self) -> None:
        if not isinstance(self.samplers, Sequence) or not self.samplers:
            raise MethodError(f"`samplers` must be a list of samplers, got {self.samplers!r}.")
        for part in self.samplers:
            require_sampler("samplers", part)
        require_callable("weights", self.weights)
        fixed = self.weights.probabilities if isinstance(self.weights, Fixed) else self.samplers
        if len(fixed) != len(self.samplers):
            raise MethodError(
                f"A mixture needs one probability for each sampler, got {len(self.samplers)} "
                f"samplers and {fixed!r}."
            )
        settle(self, samplers=tuple(self.samplers), height=1 + max(map(_height, self.samplers)))

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Choose a sampler, and return its draw with the probabilities of the choice."""
        chances = self.weights(state, rung)
        draw = self._choose(chances.probabilities, rng).sample(state, rung, rng)
        return draw if draw.chances is not None else Draw(draw.config, draw.origin, chances)

    def _choose(self, probabilities: tuple[float, ...], rng: Generator) -> Sampler:
        if 1.0 in probabilities:
            return self.samplers[probabilities.index(1.0)]
        u = aside(rng, f"mix{self.height}.") * sum(probabilities)
        for index, probability in enumerate(probabilities):
            if u < probability:
                return self.samplers[index]
            u -= probability
        return self.samplers[probabilities.index(max(probabilities))]  # only after rounding


@final
@frozen
class Staged:
    """One sampler while a condition is false, another while it is true.

    Args:
        first: The sampler to start with.
        then: The sampler to use once the condition is true.
        until: The condition: a function of the state such as `Spent(10)`.

    Raises:
        MethodError: If a part is not a sampler or a condition.

    Example:
        >>> from priorband.conditions import Trained
        >>> from priorband.samplers import FromPrior, GPSearch
        >>> sampler = Staged(FromPrior(), GPSearch("full"), until=Trained(10))
    """

    first: Sampler
    then: Sampler
    until: Condition

    def __post_init__(self) -> None:
        require_sampler("first", self.first)
        require_sampler("then", self.then)
        require_callable("until", self.until)

    @property
    def height(self) -> int:
        """How deeply mixtures are nested."""
        return max(_height(self.first), _height(self.then))

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Return a draw of the sampler in use."""
        return self.stage(state).sample(state, rung, rng)

    def stage(self, state: State) -> Sampler:
        """Return the sampler in use."""
        return self.then if self.until(state) else self.first


def _height(sampler: Sampler) -> int:
    height: int = getattr(sampler, "height", 0)
    return height
