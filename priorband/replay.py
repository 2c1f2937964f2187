"""Replay: repeat all decisions of a study, each from what had happened before it."""

from collections.abc import Iterable, Iterator, Mapping
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
    """One decision of a study, and the same decision repeated.

    Args:
        trial: The trial as it was asked.
        again: The trial that the replay decided on.
        chances: The probabilities with which its configuration was drawn; None if the sampler is
            not a mixture.

    Example:
        >>> from priorband import Float, Space, Study
        >>> study = Study(Space({"x": Float(0, 1)}), method="random")
        >>> trial = study.ask()
        >>> study.replay()[trial.id].exact
        True
    """

    trial: Trial
    again: Trial
    chances: Chances | None

    @property
    def exact(self) -> bool:
        """Whether both trials are equal."""
        return self.again == self.trial


@final
@frozen
class Replay:
    """All decisions of a study, repeated. Index it with a trial's id to get its `Step`.

    Args:
        steps: The decisions by trial id.

    Raises:
        TrialError: When it is indexed with the id of a trial that the study did not decide on.

    Example:
        >>> from priorband import Float, Space, Study
        >>> study = Study(Space({"x": Float(0, 1)}), method="random")
        >>> trial = study.ask()
        >>> study.replay(), study.replay().exact
        (Replay(1 decisions, 0 of them differ), True)
        >>> [step.trial.id for step in study.replay()]
        [0]
    """

    steps: Mapping[int, Step]

    def __repr__(self) -> str:
        return f"Replay({len(self)} decisions, {len(self.differing)} of them differ)"

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps.values())

    def __getitem__(self, number: int) -> Step:
        if number not in self.steps:
            raise TrialError(
                f"This study did not decide on trial {number}: it is unknown, or was imported."
            )
        return self.steps[number]

    @property
    def exact(self) -> bool:
        """Whether all repeated decisions equal the recorded ones."""
        return all(step.exact for step in self.steps.values())

    @property
    def differing(self) -> tuple[Step, ...]:
        """The steps in which the repeated decision differs from the recorded one."""
        return tuple(step for step in self.steps.values() if not step.exact)


def replayed(optimizer: Optimizer, seed: int, start: State, events: Iterable[Event]) -> Replay:
    """Repeat every decision in a history of events.

    Args:
        optimizer: The optimizer that decides.
        seed: The seed of the study.
        start: The state before the first event.
        events: The events, oldest first.

    Returns:
        The decisions, except imported trials.
    """
    state, steps = start, dict[int, Step]()
    for event in events:
        if isinstance(event, Asked) and event.trial.origin != IMPORTED:
            asked, decision = event.trial, optimizer.decide(state, seed)
            parent = None if asked.parent is None else steps.get(asked.parent)
            chances = decision.chances if parent is None else parent.chances
            steps[asked.id] = Step(asked, decision.trial, chances)
        state = state.after(event)
    return Replay(steps)
