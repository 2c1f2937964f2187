"""Conditions: predicates of the state, for switching samplers and for stopping."""

from collections.abc import Callable
from typing import final

from priorband.state import State
from priorband.values import frozen

__all__ = ["Condition", "Done", "Drawn", "Enough", "Never", "Spent", "Trained"]

Condition = Callable[[State], bool]


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
