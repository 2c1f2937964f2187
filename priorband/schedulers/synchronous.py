"""Successive halving and Hyperband: a rung is promoted from once all its members have ended.

With several workers the rule is the same. While a bracket waits for its last member the next
begins, and the promotions of older brackets come before anything new.
"""

from collections.abc import Callable, Iterable
from typing import final

from priorband.brackets import ready_brackets
from priorband.schedulers.base import Promote, Sample, unpromoted
from priorband.state import State
from priorband.streams import Random
from priorband.trial import Observation, Slot
from priorband.values import frozen


@final
@frozen
class SuccessiveHalving:
    """The most aggressive bracket, again and again."""

    def next(self, state: State, rng: Random) -> Sample | Promote:
        """The oldest promotion there is, else a sample into the newest bracket."""
        del rng
        return _next(state, lambda bracket: 0)

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        """Which of these ended trials a later decision may still promote: the best of a slot."""
        return _promotable(state, trials)


@final
@frozen
class Hyperband:
    """Brackets in turn, from the most aggressive to full trainings only."""

    def next(self, state: State, rng: Random) -> Sample | Promote:
        """The oldest promotion there is, else a sample into the newest bracket."""
        del rng
        rungs = state.ladder.top + 1
        return _next(state, lambda bracket: bracket % rungs)

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        """Which of these ended trials a later decision may still promote: the best of a slot."""
        return _promotable(state, trials)


def _next(state: State, new_base: Callable[[int], int]) -> Sample | Promote:
    """The next step; `new_base` gives the base rung of a bracket that has to be started."""
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
    """Whether a success is a winner should all members still to come be worse; none lifts it."""
    members, base = state.history.members(*slot), state.history.base(slot.bracket)
    room = min(state.ladder.brackets[base][slot.rung - base + 1], members.succeeded)
    return ended.ranking <= state.history.ranked_member(*slot, room - 1).ranking
