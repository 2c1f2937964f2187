"""No plan at all: every configuration is trained in full."""

from typing import final

from priorband.schedulers.base import Sample
from priorband.state import State
from priorband.streams import Random
from priorband.trial import Slot
from priorband.values import frozen


@final
@frozen
class FullFidelity:
    """Every trial is new and on the highest rung, as in random search."""

    def next(self, state: State, rng: Random) -> Sample:
        """A sample on the highest rung."""
        del rng
        return Sample(Slot(0, state.ladder.top))
