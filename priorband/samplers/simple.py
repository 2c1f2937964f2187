"""Samplers that look at no result: uniform, from the prior, the prior's mode."""

from typing import final

from priorband.samplers.base import Draw
from priorband.state import State
from priorband.streams import Generator
from priorband.values import frozen


@final
@frozen
class FromUniform:
    """Every configuration is as likely as any other."""

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """A uniform draw."""
        del rung
        return Draw(state.space.config(state.space.uniform(1, rng)[0].tolist()), "uniform")


@final
@frozen
class FromPrior:
    """As the expert believes."""

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """A draw from the prior."""
        del rung
        return Draw(state.space.decode(state.prior.sample(rng)), "prior")


@final
@frozen
class PriorMode:
    """What the expert would try first."""

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """The prior's mode, always."""
        del rung, rng
        return Draw(state.prior.mode, "mode")
