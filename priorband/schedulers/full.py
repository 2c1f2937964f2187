"""The scheduler without low fidelities: every trial is a full training."""

from collections.abc import Iterable
from typing import final

from priorband.schedulers.base import Sample
from priorband.state import State
from priorband.streams import RandomSource
from priorband.trial import Slot
from priorband.values import frozen


@final
@frozen
class FullFidelity:
    """Every trial is a new configuration at the highest fidelity, as in random search.

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.samplers import FromUniform
        >>> random_search = Optimizer(FullFidelity(), FromUniform())
    """

    def next(self, state: State, rng: RandomSource) -> Sample:
        """Return a new trial on the highest rung."""
        del rng
        return Sample(Slot(0, state.ladder.top))

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        """Return an empty set: nothing is ever promoted."""
        del state, trials
        return set()
