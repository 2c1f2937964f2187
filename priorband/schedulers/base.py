"""What a scheduler can say: evaluate something new in this slot, or continue this trial there.

A scheduler always has an answer: it never waits, because a blocked bracket lets the next one begin,
and it never ends, because stopping is the study's business. Most draw no random number, so they are
given a source of uniform ones instead of a whole generator.
"""

from typing import Protocol, final

from priorband.state import State
from priorband.streams import Random
from priorband.trial import Slot, Trial
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
