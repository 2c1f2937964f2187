"""How much the method trusted the prior over time: the probabilities with which it drew."""

from collections.abc import Iterator
from typing import NamedTuple

from priorband.events import Asked, Event
from priorband.optimizers import Optimizer
from priorband.prior_report.report import TrustOverBudget
from priorband.samplers.base import MODEL
from priorband.samplers.ensemble_policy import Shares
from priorband.state import State
from priorband.trial import IMPORTED, QUEUED

MOMENTS = 40
"""How many decisions are repeated at most, spread evenly over all draws."""


class _Moment(NamedTuple):
    trial: int
    spent: float
    rung: int
    shares: Shares


def trust_over_budget(
    start: State, events: tuple[Event, ...], optimizer: Optimizer, seed: int
) -> TrustOverBudget:
    """Repeat some of the decisions that drew a configuration, and return their probabilities.

    Decisions that a model made have none, and methods that do not weigh the prior have none at all.
    """
    moments = list(_moments(start, events, optimizer, seed))
    return TrustOverBudget(
        trials=tuple(moment.trial for moment in moments),
        spent=tuple(moment.spent for moment in moments),
        rungs=tuple(moment.rung for moment in moments),
        uniform=tuple(moment.shares.p_uniform for moment in moments),
        prior=tuple(moment.shares.p_prior for moment in moments),
        incumbent=tuple(moment.shares.p_incumbent for moment in moments),
    )


def _moments(
    start: State, events: tuple[Event, ...], optimizer: Optimizer, seed: int
) -> Iterator[_Moment]:
    drawn = [i for i, event in enumerate(events) if _was_drawn(event)]
    last, high = len(drawn) - 1, start.ladder.fidelity.high
    few = {drawn[round(i * last / (MOMENTS - 1))] for i in range(MOMENTS)} if drawn else set()
    state = start
    for i, event in enumerate(events):
        if i in few and isinstance(event, Asked):
            chances = optimizer.decide(state, seed).chances
            if isinstance(chances, Shares) and event.trial.slot is not None:
                spent = state.history.spent / high
                yield _Moment(event.trial.id, spent, event.trial.slot.rung, chances)
        state = state.after(event)


def _was_drawn(event: Event) -> bool:
    """Whether a configuration was drawn for a slot, and not by a model, which takes long."""
    if not isinstance(event, Asked):
        return False
    trial = event.trial
    return (
        trial.parent is None
        and trial.slot is not None
        and trial.origin not in (QUEUED, IMPORTED, MODEL)
    )
