"""Samplers that do not use results: uniform, from the prior, the prior's mode."""

from typing import final

from priorband.samplers.base import Draw
from priorband.state import State
from priorband.streams import Generator
from priorband.values import frozen


@final
@frozen
class FromUniform:
    """Uniform draws from the space. Their origin is "uniform".

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.schedulers import FullFidelity
        >>> random_search = Optimizer(FullFidelity(), FromUniform())
    """

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Return a uniform draw."""
        del rung
        return Draw(state.space.config(state.space.uniform(1, rng)[0].tolist()), "uniform")


@final
@frozen
class FromPrior:
    """Draws from the prior. Their origin is "prior".

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.schedulers import Hyperband
        >>> method = Optimizer(Hyperband(), FromPrior())
    """

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Return a draw from the prior."""
        del rung
        return Draw(state.space.decode(state.prior.sample(rng)), "prior")


@final
@frozen
class PriorMode:
    """Always the mode of the prior: the configuration that you expect to be best.

    Its origin is "mode".

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.samplers import FromPrior
        >>> from priorband.schedulers import Hyperband
        >>> method = Optimizer(Hyperband(), FromPrior(), opening=PriorMode())
    """

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Return the mode of the prior."""
        del rung, rng
        return Draw(state.prior.mode, "mode")
