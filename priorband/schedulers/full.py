"""No plan at all: every configuration is trained in full."""

from dataclasses import dataclass
from typing import final

from numpy.random import Generator

from priorband.schedulers.base import Sample
from priorband.state import State
from priorband.trial import Slot


@final
@dataclass(frozen=True, slots=True)
class FullFidelity:
    """Every trial is new and on the highest rung, as in random search."""

    def next(self, state: State, rng: Generator) -> Sample:
        """A sample on the highest rung."""
        del rng
        return Sample(Slot(0, state.ladder.top))
