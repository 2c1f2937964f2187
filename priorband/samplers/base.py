"""The protocol of samplers, and what a sampler returns."""

from typing import Protocol, final

from priorband.errors import MethodError
from priorband.space.config import Config
from priorband.state import State
from priorband.streams import Generator
from priorband.values import frozen

MODEL = "model"
"""The origin of configurations that a model proposes, whatever the model."""


class Chances(Protocol):
    """The protocol of the probabilities with which a mixture chose one of its samplers.

    An implementation may have more attributes, such as the scores that led to the probabilities.
    """

    @property
    def probabilities(self) -> tuple[float, ...]:
        """One probability for each sampler of the mixture, in order."""


class MixtureWeights(Protocol):
    """The protocol of the weights of a `Mix`: a function of the state and the rung.

    Write a function, or a class with `__call__`, that returns an object with `probabilities`. To
    pass `priorband.testing.check_sampler`, it must depend on its arguments only, and have a
    readable `repr`: a frozen dataclass does.

    Example:
        >>> from dataclasses import dataclass
        >>> from priorband.samplers import Fixed, FromPrior, FromUniform, Mix
        >>> from priorband.testing import check_sampler
        >>> @dataclass(frozen=True)
        ... class MoreOnHighRungs:
        ...     def __call__(self, state, rung):
        ...         p_prior = rung / (rung + 1)
        ...         return Fixed((1 - p_prior, p_prior))
        >>> check_sampler(Mix([FromUniform(), FromPrior()], MoreOnHighRungs()))
    """

    def __call__(self, state: State, rung: int, /) -> Chances:
        """Return the probabilities for the next draw.

        Args:
            state: What has happened so far.
            rung: The rung on which the configuration will be evaluated.
        """


@final
@frozen
class Draw:
    """A new configuration, and how it was drawn.

    Args:
        config: The configuration. It must be in the space.
        origin: One word for how it was drawn, such as "uniform" or "prior". It is stored with the
            trial. "queued" and "imported" are reserved.
        chances: The probabilities with which a mixture chose, if one did.

    Example:
        >>> from priorband import Config
        >>> Draw(Config(lr=0.1), "uniform").origin
        'uniform'
    """

    config: Config
    origin: str
    chances: Chances | None = None


def require_callable(name: str, part: object) -> None:
    """Raise `MethodError` unless `part` is a function or an instance that can be called."""
    if isinstance(part, type) or not callable(part):
        raise MethodError(f"`{name}` must be a function of the state, got {part!r}.")


def require_sampler(name: str, part: object) -> None:
    """Raise `MethodError` unless `part` is a sampler."""
    if isinstance(part, type) or not hasattr(part, "sample"):
        raise MethodError(
            f"`{name}` must have a method `sample`, got {part!r}. "
            "Use a sampler such as FromPrior()."
        )


class Sampler(Protocol):
    """The protocol of samplers: they choose the configuration of a new trial.

    A sampler does not choose the rung: the scheduler does that. For a sampler of your own, write a
    class with the method `sample`. The result must depend on the arguments only, and all randomness
    must come from `rng`; otherwise a study cannot be replayed. `priorband.testing.check_sampler`
    checks this. It also needs a readable `repr` and equality, which a frozen dataclass has.

    A sampler that passes its generator on to a `Mix` should also have the attribute `height` of
    that `Mix`. Mixtures around it then do not change which of its samplers the inner one chooses.

    Example:
        >>> from dataclasses import dataclass
        >>> from priorband.samplers import Draw
        >>> from priorband.testing import check_sampler
        >>> @dataclass(frozen=True)
        ... class BestOfThree:
        ...     '''The most likely of three draws from the prior.'''
        ...     def sample(self, state, rung, rng):
        ...         rows = [state.prior.sample(rng) for _ in range(3)]
        ...         best = max(rows, key=lambda row: state.prior.logpdf(row[None])[0])
        ...         return Draw(state.space.decode(best), "prior")
        >>> check_sampler(BestOfThree())
    """

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Draw a configuration.

        Args:
            state: What has happened so far: the space, the prior, the rungs and all trials.
            rung: The rung on which the configuration will be evaluated; 0 is the lowest.
            rng: A numpy random generator for this trial only.

        Returns:
            The configuration and its origin.

        Raises:
            ExhaustedError: If there is no configuration left to try.
        """
