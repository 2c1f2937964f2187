"""The probabilities of the ensemble sampling policy's three sources over the budget of a run.

They are not stored: each decision is repeated from the history before it to get them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from priorband.analysis.curves import Array, step_values
from priorband.analysis.summary import Band, band
from priorband.errors import DataError
from priorband.history import History
from priorband.samplers.ensemble_policy import Shares
from priorband.study import Study

PARTS = ("uniform", "prior", "incumbent")


class TrialShares(NamedTuple):
    """The probabilities behind one drawn configuration, and the budget spent before it."""

    trial: int
    spent: float
    """The cost, in full trainings, of all trials that had ended when this one was asked for."""
    bracket: int
    rung: int
    p_uniform: float
    p_prior: float
    p_incumbent: float


def trial_shares(study: Study) -> list[TrialShares]:
    """The probabilities behind every configuration that the ensemble drew, in order.

    Promotions, the opening, queued and imported trials, and proposals of a model have none.
    """
    spent = _spent_when_asked(study)
    drawn = list[TrialShares]()
    for number, step in study.replay().steps.items():
        slot = step.trial.slot
        chances = step.chances
        if step.trial.parent is None and slot is not None and isinstance(chances, Shares):
            p = chances.p_uniform, chances.p_prior, chances.p_incumbent
            drawn.append(TrialShares(number, spent[number] / study.fidelity.high, *slot, *p))
    return drawn


def mean_shares(runs: Sequence[Sequence[TrialShares]], grid: Array) -> dict[str, Band]:
    """Mean and standard error, over runs, of each probability at the budgets of a grid.

    At each budget, a run counts with the probabilities of its latest draw, if it has one.
    """
    if not runs:
        raise DataError("There are no shares to average: pass those of at least one run.")
    budgets = np.asarray(grid, dtype=np.float64)
    rows = np.stack([_shares_at(run, budgets) for run in runs])
    return {part: band(rows[:, :, index]) for index, part in enumerate(PARTS)}


def _shares_at(run: Sequence[TrialShares], grid: Array) -> Array:
    spent = np.array([share.spent for share in run], dtype=np.float64)
    drawn = [(share.p_uniform, share.p_prior, share.p_incumbent) for share in run]
    return step_values(spent, np.array(drawn, dtype=np.float64).reshape(len(run), len(PARTS)), grid)


def _spent_when_asked(study: Study) -> list[float]:
    """For each trial, the cost of the ended trials in fidelity units when it was asked for."""
    history, spent = History(), list[float]()
    for event in study.state.history.events:
        paid = history.spent
        history = history.after(event)
        spent += [paid] * (len(history) - len(spent))
    return spent
