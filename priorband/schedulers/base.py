"""What a scheduler can say: evaluate something new in this slot, or continue this trial there.

A scheduler always has an answer: it never waits, because a blocked bracket lets the next one begin,
and it never ends, because stopping is the study's business. Most draw no random number, so they are
given a source of uniform ones instead of a whole generator.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol, final

from priorband.state import State
from priorband.streams import Random
from priorband.trial import Observation, Slot, Trial
from priorband.values import frozen


@final
@frozen
class Sample:
    """Evaluate a new configuration in a slot."""

    slot: Slot


@final
@frozen
class Promote:
    """Continue a trial in a slot."""

    trial: Trial
    slot: Slot


class Scheduler(Protocol):
    """Where the next evaluation goes."""

    def next(self, state: State, rng: Random) -> Sample | Promote:
        """The next step of the plan, from the state alone."""


def promotable(scheduler: Scheduler, state: State, trials: Iterable[int]) -> set[int]:
    """Which of these ended trials a later decision may still promote.

    One that is left out never comes back, but for a running trial, which is not to be asked about.
    The scheduler's own method of this name decides; without it, all that are `unpromoted` may rise.
    """
    if hasattr(scheduler, "promotable"):
        chosen: set[int] = scheduler.promotable(state, trials)
        return chosen
    return {ended.trial.id for ended, _ in unpromoted(state, trials)}


def unpromoted(state: State, trials: Iterable[int]) -> Iterator[tuple[Observation, Slot]]:
    """Those of these trials that succeeded below the top rung and that no other continues."""
    history, top = state.history, state.ladder.top
    for number in trials:
        ended = history.outcome(number)
        if ended is None or ended.failed or history.promoted(number):
            continue
        slot = ended.trial.slot
        if slot is not None and slot.rung < top:
            yield ended, slot
