"""Replay: a study's decisions made again, each from what was known when it was made."""

from collections.abc import Iterable, Mapping
from typing import final

from priorband.errors import TrialError
from priorband.events import Asked, Event
from priorband.optimizers import Optimizer
from priorband.samplers.base import Chances
from priorband.state import State
from priorband.trial import IMPORTED, Trial
from priorband.values import frozen


@final
@frozen
class Step:
    """A trial as it was asked, and the one that replay decides on in its place."""

    trial: Trial
    again: Trial
    chances: Chances | None
    """With which probabilities its configuration was drawn; None where there was no choice."""

    @property
    def exact(self) -> bool:
        """Whether the two are equal."""
        return self.again == self.trial


@final
@frozen
class Replay:
    """All decisions of a study, made again, by trial id."""

    steps: Mapping[int, Step]

    def __getitem__(self, number: int) -> Step:
        if number not in self.steps:
            raise TrialError(f"Trial {number} was not decided here: it is unknown, or imported.")
        return self.steps[number]

    @property
    def exact(self) -> bool:
        """Whether every decision came out as recorded."""
        return all(step.exact for step in self.steps.values())

    @property
    def differing(self) -> tuple[Step, ...]:
        """The steps that came out otherwise."""
        return tuple(step for step in self.steps.values() if not step.exact)


def replayed(optimizer: Optimizer, seed: int, start: State, events: Iterable[Event]) -> Replay:
    """Every decision of a history of events, made again by an optimizer from the start on."""
    state, steps = start, dict[int, Step]()
    for event in events:
        if isinstance(event, Asked) and event.trial.origin != IMPORTED:
            asked, decision = event.trial, optimizer.decide(state, seed)
            parent = None if asked.parent is None else steps.get(asked.parent)
            chances = decision.chances if parent is None else parent.chances
            steps[asked.id] = Step(asked, decision.trial, chances)
        state = state.after(event)
    return Replay(steps)
