"""Conditions: predicates of the state, for switching samplers and for stopping."""

from collections.abc import Callable
from typing import final

from priorband.guard import first_size, placed
from priorband.proof import is_proven
from priorband.state import State
from priorband.values import frozen

__all__ = [
    "Condition",
    "Bracketed",
    "Done",
    "Drawn",
    "Enough",
    "Never",
    "Proven",
    "Spent",
    "Trained",
]

Condition = Callable[[State], bool]


@final
@frozen
class Bracketed:
    """The first bracket has all its trials, ended or not, and `trained` full trainings succeeded.

    Under an asynchronous scheduler, as many new trials as that bracket has under Hyperband.
    """

    trained: int = 1

    def __call__(self, state: State) -> bool:
        if state.success_count(state.ladder.top) < self.trained:
            return False
        return placed(state) >= first_size(state.ladder)


@final
@frozen
class Done:
    """At least `trials` trials have ended with a finite loss."""

    trials: int

    def __call__(self, state: State) -> bool:
        return state.history.finished >= self.trials


@final
@frozen
class Drawn:
    """At least `configurations` were drawn by samplers; queued and imported ones do not count."""

    configurations: int

    def __call__(self, state: State) -> bool:
        return state.history.drawn >= self.configurations


@final
@frozen
class Proven:
    """The first bracket is over, and full trainings of the prior are not worse than others.

    That is true if the prior's mode is at least as good as all others, or the best of the mode and
    of the first bracket's draws from the prior is at least as good as the best of the rest, such as
    uniform draws and imported results. Without anything to compare with, it is false.
    """

    def __call__(self, state: State) -> bool:
        return is_proven(state)


@final
@frozen
class Spent:
    """The resources behind all results are worth at least `trainings` full trainings."""

    trainings: float

    def __call__(self, state: State) -> bool:
        return reached(state.history.resources, self.trainings * state.ladder.fidelity.high)


@final
@frozen
class Trained:
    """At least `trials` full trainings have ended with a finite loss, imported ones included."""

    trials: int

    def __call__(self, state: State) -> bool:
        return state.success_count(state.ladder.top) >= self.trials


@final
@frozen
class Enough:
    """At least `per_parameter * d + more` results on one rung, with `d` searched parameters."""

    per_parameter: int
    """How many results for each searched parameter."""
    more: int
    """How many results in addition."""

    def __call__(self, state: State) -> bool:
        return state.rung_with(self.per_parameter * len(state.space) + self.more) is not None


@final
@frozen
class Never:
    """Never true."""

    def __call__(self, state: State) -> bool:
        del state
        return False


def reached(resources: float, goal: float) -> bool:
    """Whether resources have reached a goal, allowing for rounding errors in their sum."""
    return resources >= goal * (1.0 - 1e-9)
