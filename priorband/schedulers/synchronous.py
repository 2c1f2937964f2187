"""Successive halving and Hyperband: promote from a rung once all its trials have ended.

With several workers the rule is the same. While a bracket waits for its last trial, the next
bracket starts. Promotions in older brackets come before new trials.
"""

from collections.abc import Callable, Iterable
from typing import Any, final

from priorband.brackets import ready_brackets
from priorband.errors import MethodError
from priorband.ladder import Ladder
from priorband.numeric import whole
from priorband.schedulers.base import Promote, Sample, unpromoted
from priorband.state import State
from priorband.streams import RandomSource
from priorband.trial import Observation, Slot
from priorband.values import frozen, repr_without_defaults, settle


@final
@frozen
class SuccessiveHalving:
    """Successive halving: brackets that all start on the lowest rung, one after another.

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.samplers import FromUniform
        >>> method = Optimizer(SuccessiveHalving(), FromUniform())
    """

    def next(self, state: State, rng: RandomSource) -> Sample | Promote:
        """Return the promotion in the oldest bracket, or else a new trial."""
        del rng
        return _next(state, lambda bracket: 0)

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        """Return those of some ended trials that are still among the best of their rung."""
        return _promotable(state, trials)


@final
@frozen
class Hyperband:
    """Hyperband: brackets by turns, from many trials on the lowest rung to a few full trainings.

    Args:
        bases: The base rungs of the brackets, in the order in which the brackets take turns. Rungs
            that a study does not have are left out; if it has none of them, brackets start on its
            highest rung. By default all rungs, from the lowest to the highest.

    Raises:
        MethodError: If `bases` is empty or has something else than rungs, which count from 0.

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.samplers import FromUniform
        >>> method = Optimizer(Hyperband(), FromUniform())
        >>> without_the_shortest_brackets = Optimizer(Hyperband(bases=(0, 1)), FromUniform())
    """

    bases: tuple[int, ...] | None = None

    __repr__ = repr_without_defaults("bases")

    def __post_init__(self) -> None:
        if self.bases is not None:
            settle(self, bases=_checked_bases(self.bases))

    def next(self, state: State, rng: RandomSource) -> Sample | Promote:
        """Return the promotion in the oldest bracket, or else a new trial."""
        del rng
        return _next(state, lambda bracket: self._base(state.ladder, bracket))

    def _base(self, ladder: Ladder, bracket: int) -> int:
        turns = self._turns(ladder)
        return turns[bracket % len(turns)]

    def _turns(self, ladder: Ladder) -> tuple[int, ...]:
        """The base rungs of a ladder, in the order in which brackets take turns."""
        if self.bases is None:
            return tuple(range(ladder.top + 1))
        return tuple(base for base in self.bases if base <= ladder.top) or (ladder.top,)

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        """Return those of some ended trials that are still among the best of their rung."""
        return _promotable(state, trials)


def _checked_bases(bases: Any) -> tuple[int, ...]:
    listed = tuple(bases) if isinstance(bases, tuple | list) else ()
    if not listed or not all(whole(base) and base >= 0 for base in listed):
        raise MethodError(
            "`bases` must be a list of base rungs, which count from 0, such as (0, 1), got "
            f"{bases!r}. Leave it out for all of them."
        )
    return tuple(int(base) for base in listed)


def _next(state: State, new_base: Callable[[int], int]) -> Sample | Promote:
    """Return the next step; `new_base` gives the base rung of a new bracket."""
    room: Slot | None = None
    for bracket, base, winner in ready_brackets(state):
        if winner is not None:
            return Promote(winner.trial, Slot(bracket, winner.rung))
        room = room or Slot(bracket, base)
    if room is None:
        started = state.history.brackets
        room = Slot(started, new_base(started))
    return Sample(room)


def _promotable(state: State, trials: Iterable[int]) -> set[int]:
    waiting = unpromoted(state, trials)
    return {ended.trial.id for ended, slot in waiting if _may_win(state, ended, slot)}


def _may_win(state: State, ended: Observation, slot: Slot) -> bool:
    """Whether a success will be promoted if all further results on its rung are worse.

    Further results never improve its rank, so otherwise it will not be promoted. A trial that was
    retried may rank well when all places on the next rung are taken.
    """
    members, base = state.history.members(*slot), state.history.base(slot.bracket)
    places = state.ladder.brackets[base][slot.rung - base + 1]
    if state.history.members(slot.bracket, slot.rung + 1).started >= places:
        return False
    room = min(places, members.succeeded)
    return ended.ranking <= state.history.ranked_member(*slot, room - 1).ranking
