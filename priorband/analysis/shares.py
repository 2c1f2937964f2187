"""How much a run trusted chance, the prior and the incumbent, over its budget.

The probabilities of the ensemble sampling policy are not stored: they follow from what was known at
each decision, which is made again to see them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from priorband.analysis.curves import Array, held
from priorband.analysis.summary import Band, band
from priorband.errors import DataError
from priorband.history import History
from priorband.samplers.ensemble_policy import Shares
from priorband.study import Study

PARTS = ("uniform", "prior", "incumbent")


class Share(NamedTuple):
    """The probabilities with which one configuration was drawn, and when."""

    trial: int
    spent: float
    """Full trainings paid for by all that had ended when the trial was asked for."""
    bracket: int
    rung: int
    p_uniform: float
    p_prior: float
    p_incumbent: float


def shares(study: Study) -> list[Share]:
    """The probabilities behind every configuration that the ensemble drew, in order.

    Promotions, the opening, queued and imported trials have none, nor has what a model proposed.
    """
    spent = _spent_when_asked(study)
    found = list[Share]()
    for number, step in study.replay().steps.items():
        slot = step.trial.slot
        chances = step.chances
        if step.trial.parent is None and slot is not None and isinstance(chances, Shares):
            p = chances.p_uniform, chances.p_prior, chances.p_incumbent
            found.append(Share(number, spent[number] / study.fidelity.high, *slot, *p))
    return found


def share_grid(runs: Sequence[Sequence[Share]], grid: Array) -> dict[str, Band]:
    """Mean and standard error over runs of each probability at a grid's budgets.

    At each budget a run has the probabilities of its latest draw; before its first it has none.
    """
    if not runs:
        raise DataError("There are no shares to average: give those of at least one run.")
    budgets = np.asarray(grid, dtype=np.float64)
    rows = np.stack([_held(run, budgets) for run in runs])
    return {part: band(rows[:, :, place]) for place, part in enumerate(PARTS)}


def _held(run: Sequence[Share], grid: Array) -> Array:
    spent = np.array([share.spent for share in run], dtype=np.float64)
    drawn = [(share.p_uniform, share.p_prior, share.p_incumbent) for share in run]
    return held(spent, np.array(drawn, dtype=np.float64).reshape(len(run), len(PARTS)), grid)


def _spent_when_asked(study: Study) -> list[float]:
    """For each trial the fidelity units that had been paid when it was asked for."""
    history, spent = History(), list[float]()
    for event in study.state.history.events:
        paid = history.spent
        history = history.after(event)
        spent += [paid] * (len(history) - len(spent))
    return spent
