"""What a sampler gives: a configuration, who invented it, and with which chances."""

from collections.abc import Callable
from typing import Protocol, final

from priorband.space.config import Config
from priorband.state import State
from priorband.streams import Generator
from priorband.values import frozen


class Chances(Protocol):
    """The probabilities with which a mixture chose, and whatever else explains them."""

    @property
    def probabilities(self) -> tuple[float, ...]:
        """One for each part of the mixture."""


Weights = Callable[[State, int], Chances]


@final
@frozen
class Draw:
    """A configuration and where it came from."""

    config: Config
    origin: str
    chances: Chances | None = None


class Sampler(Protocol):
    """What to evaluate on a rung."""

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """A configuration for the rung, from the state and the generator alone."""
