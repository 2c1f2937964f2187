"""Samplers made of samplers: a mixture over probability, a succession over time."""

from collections.abc import Iterable, Sequence
from typing import Any, final

from priorband.conditions import Condition
from priorband.errors import MethodError
from priorband.numeric import real
from priorband.samplers.base import (
    Chances,
    Draw,
    Sampler,
    Weights,
    require_callable,
    require_sampler,
)
from priorband.state import State
from priorband.streams import Generator, aside
from priorband.values import derived, frozen, settle


@final
@frozen
class Fixed:
    """The same probabilities at all times."""

    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        given: Any = self.probabilities
        chances = [real(p) for p in given] if isinstance(given, Iterable) else []
        known = [chance for chance in chances if chance is not None and chance >= 0]
        if not chances or len(known) < len(chances) or abs(sum(known) - 1.0) > 1e-9:
            raise MethodError(f"Probabilities must be at least 0 and sum to 1, got {given!r}.")
        settle(self, probabilities=tuple(known))

    def __call__(self, state: State, rung: int) -> Chances:
        del state, rung
        return self


@final
@frozen
class Mix:
    """One of several samplers, chosen at random with weights that may read the state.

    It chooses aside from its generator, so that the chosen part draws what it would alone.
    """

    samplers: Sequence[Sampler]
    weights: Weights
    height: int = derived()
    """How deeply mixtures are nested here; those inside choose under another label."""

    def __post_init__(self) -> None:
        if not isinstance(self.samplers, Sequence) or not self.samplers:
            raise MethodError(f"A mixture needs a list of samplers, got {self.samplers!r}.")
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
        """A draw of the chosen part, with the chances it had."""
        chances = self.weights(state, rung)
        draw = self._choose(chances.probabilities, rng).sample(state, rung, rng)
        return draw if draw.chances is not None else Draw(draw.config, draw.origin, chances)

    def _choose(self, probabilities: tuple[float, ...], rng: Generator) -> Sampler:
        if 1.0 in probabilities:
            return self.samplers[probabilities.index(1.0)]
        u = aside(rng, f"mix{self.height}.") * sum(probabilities)
        for place, probability in enumerate(probabilities):
            if u < probability:
                return self.samplers[place]
            u -= probability
        return self.samplers[probabilities.index(max(probabilities))]  # rounding at the end


@final
@frozen
class Staged:
    """One sampler until a condition holds, another from then on."""

    first: Sampler
    then: Sampler
    until: Condition

    def __post_init__(self) -> None:
        require_sampler("first", self.first)
        require_sampler("then", self.then)
        require_callable("until", self.until)

    @property
    def height(self) -> int:
        """How deeply mixtures are nested here."""
        return max(_height(self.first), _height(self.then))

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """A draw of the sampler whose time it is."""
        stage = self.then if self.until(state) else self.first
        return stage.sample(state, rung, rng)


def _height(sampler: Sampler) -> int:
    height: int = getattr(sampler, "height", 0)
    return height
