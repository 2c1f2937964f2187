"""What the history says about the prior without any model: counts, ranks, densities."""

from typing import NamedTuple

import numpy as np

from priorband.brackets import BracketStatus, bracket_status
from priorband.conditions import reached
from priorband.guard import MODE, PRIOR
from priorband.prior_report.report import Draws
from priorband.space.densities import Array
from priorband.space.prior import Independent, Prior
from priorband.space.space import Space
from priorband.state import State
from priorband.streams import generator
from priorband.trial import IMPORTED, QUEUED, Observation

RANKED = 30
"""How many of the best full trainings are looked at."""
_ROWS = 1000
"""Uniform draws to which the density of a prior of one's own class is normalised."""


def best_in_full(state: State) -> list[Observation]:
    """The best full trainings, each configuration once, best first."""
    ranked = sorted(state.history.succeeded_at(state.ladder.fidelities[-1]), key=_ranking)
    kept: list[Observation] = []
    seen = set[tuple[object, ...]]()
    for ended in ranked:
        values = tuple(ended.config.values())
        if values not in seen:
            seen.add(values)
            kept.append(ended)
        if len(kept) == RANKED:
            break
    return kept


def _ranking(ended: Observation) -> tuple[float, int]:
    return ended.ranking


def encoded(state: State, ended: list[Observation]) -> Array:
    """The encoded configurations of results."""
    rows = [state.row(one.trial) for one in ended]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(state.space))


def log_uniform(space: Space, rows: Array) -> Array:
    """The log density of uniform draws at each row: 0 for numbers, 1/size for choices."""
    logs = [0.0 if size is None else -float(np.log(size)) for size in space.sizes]
    return np.asarray(np.where(np.isnan(rows), 0.0, logs).sum(axis=1), dtype=np.float64)


def log_odds_of_rows(space: Space, prior: Prior, rows: Array) -> Array:
    """How much likelier the prior makes each row than uniform draws do, as a log.

    The density of a prior of one's own class may be off by a constant, which is estimated.
    """
    ratio = prior.logpdf(rows) - log_uniform(space, rows)
    if isinstance(prior, Independent):
        return ratio
    draws = space.uniform(_ROWS, generator(0, 0, "prior report"))
    there = prior.logpdf(draws) - log_uniform(space, draws)
    constant = float(np.logaddexp.reduce(there)) - float(np.log(_ROWS))
    return np.asarray(ratio - constant, dtype=np.float64)


def mode_result(state: State) -> Observation | None:
    """The result of the prior's mode in a full training; None if there is none."""
    for ended in state.history.succeeded_at(state.ladder.fidelities[-1]):
        if ended.config == state.prior.mode:
            return ended
    return None


class BracketProgress(NamedTuple):
    """How far a study is, compared with its first bracket."""

    done: bool
    """Whether the first bracket has ended."""
    spent: float
    """What all results are worth, in full trainings."""
    needed: float
    """What a first bracket is worth."""


def progress(state: State) -> BracketProgress:
    """Whether the first bracket is done.

    Synchronous brackets are done when their last trial has ended. Without such a bracket, as with
    imported results only, results worth as much as one are enough.
    """
    history, ladder = state.history, state.ladder
    enough = reached(history.resources, ladder.first_cost)
    if enough and history.brackets:
        base = history.base(0)
        now = bracket_status(history, 0, base, ladder.brackets[base])
        enough = now is BracketStatus.OVER or history.members(0, ladder.top).ended > 0
    high = ladder.fidelity.high
    return BracketProgress(enough, history.resources / high, ladder.first_cost / high)


def draws(state: State) -> Draws:
    """How many configurations the method drew, from the prior and in all."""
    full, history = state.ladder.fidelities[-1], state.history
    origins = {
        trial.root: trial.origin
        for trial in history.trials
        if trial.parent is None and trial.origin not in (QUEUED, IMPORTED)
    }
    ended = {one.trial.root for one in history.succeeded_at(full)} & origins.keys()
    ours = {root for root, origin in origins.items() if origin in (MODE, PRIOR)}
    return Draws(len(origins), len(ours), len(ended), len(ended & ours))
