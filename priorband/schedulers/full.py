"""No plan at all: every configuration is trained in full."""

from collections.abc import Iterable
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

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        """Which of these ended trials a later decision may still promote: none."""
        del state, trials
        return set()
