"""What a sampler gives: a configuration, who invented it, and with which chances."""

from collections.abc import Callable
from typing import Protocol, final

from priorband.errors import MethodError
from priorband.space.config import Config
from priorband.state import State
from priorband.streams import Generator
from priorband.values import frozen

MODEL = "model"
"""The origin of what a model proposed, whichever it is."""


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


def require_callable(name: str, part: object) -> None:
    """Refuse a class or a word where a function, or an instance that can be called, belongs."""
    if isinstance(part, type) or not callable(part):
        raise MethodError(f"`{name}` must be a function of the state, got {part!r}.")


def require_sampler(name: str, part: object) -> None:
    """Refuse what is no sampler, when a method is made of it."""
    if isinstance(part, type) or not hasattr(part, "sample"):
        raise MethodError(
            f"`{name}` must have a method `sample`, got {part!r}. Take one such as FromPrior()."
        )


class Sampler(Protocol):
    """What to evaluate on a rung.

    One that hands its generator on to a mixture may have a `height`, the mixture's: mixtures around
    it then leave that mixture's choices as they would be alone.
    """

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """A configuration for the rung, from the state and the generator alone."""
