"""Successive halving and Hyperband: a rung is promoted from once all its members have ended.

With several workers the rule is the same. While a bracket waits for its last member the next
begins, and the promotions of older brackets come before anything new.
"""

from typing import final

from priorband.brackets import Rest, Winner, ready_brackets
from priorband.schedulers.base import Promote, Sample
from priorband.state import State
from priorband.streams import Random
from priorband.trial import Slot
from priorband.values import frozen


@final
@frozen
class SuccessiveHalving:
    """The most aggressive bracket, again and again."""

    def next(self, state: State, rng: Random) -> Sample | Promote:
        """The oldest promotion there is, else a sample into the newest bracket."""
        del rng
        return _next(state, new_base=0)


@final
@frozen
class Hyperband:
    """Brackets in turn, from the most aggressive to full trainings only."""

    def next(self, state: State, rng: Random) -> Sample | Promote:
        """The oldest promotion there is, else a sample into the newest bracket."""
        del rng
        return _next(state, new_base=state.history.brackets % (state.ladder.top + 1))


def _next(state: State, new_base: int) -> Sample | Promote:
    short: Slot | None = None
    for bracket, now in ready_brackets(state):
        if isinstance(now, Winner):
            return Promote(now.trial, Slot(bracket, now.rung))
        if now is Rest.SHORT and short is None:
            short = Slot(bracket, state.history.base(bracket))
    return Sample(short or Slot(state.history.brackets, new_base))
