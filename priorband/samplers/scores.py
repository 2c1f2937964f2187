"""How well the prior and the incumbent explain the best trials (Algorithm 2).

Both are scored on the same trials: the top of the highest rung with at least eta results, better
ones weighing more. All in logs, because products of densities underflow in a few dimensions.
"""

import math
from bisect import bisect_left
from typing import final

import numpy as np

from priorband.cache import CacheKey
from priorband.space.densities import Array
from priorband.space.prior import Prior
from priorband.state import Regard, State
from priorband.trial import Observation
from priorband.values import frozen


@final
@frozen
class Scores:
    """Log scores of the prior and of the incumbent, and the trials they were taken on."""

    prior: float
    incumbent: float
    rung: int
    top: int
    """How many trials were scored: the best of the rung."""


def scores(state: State) -> Scores | None:
    """The two scores; None while no rung has eta results or there is no incumbent."""
    rung, incumbent = state.scored_rung(), state.incumbent
    if rung is None or incumbent is None:
        return None
    return state.history.cached(_BOARDS, _from_board, state, rung, incumbent)


def incumbent_share(found: Scores) -> float:
    """S_incumbent / (S_incumbent + S_prior); one half where neither has any support."""
    lead = found.incumbent - found.prior
    if math.isnan(lead):  # both are minus infinity: densities with hard edges
        return 0.5
    if lead < 0:
        return math.exp(lead) / (1.0 + math.exp(lead))
    return 1.0 / (1.0 + math.exp(-lead))


def top_size(members: int, eta: int) -> int:
    """How many of a rung's trials are scored: one in eta, but at least eta."""
    return max(eta, members // eta)


def log_score(densities: Array) -> float:
    """log of the densities' sum, the best weighing most, from log densities best first."""
    peak = float(densities.max())
    if peak == -math.inf:
        return peak
    weights = np.arange(len(densities), 0.0, -1.0)
    return peak + math.log(float(weights @ np.exp(densities - peak)))


@final
class _Board:
    """A rung's trials in order with their log densities: kept, and extended as results come."""

    def __init__(self, state: State) -> None:
        self.space, self.ladder, self.prior = state.space, state.ladder, state.prior
        self.keys: list[tuple[float, int]] = []
        self.rows: list[Array] = []
        self.log_prior = np.empty(0)
        self.log_incumbent = np.empty(0)
        self.order = np.empty(0, dtype=np.intp)
        self.centre: int | None = None
        self.around: Prior = state.prior
        self.last: Scores | None = None

    def belongs(self, state: State) -> bool:
        same_place = self.space is state.space and self.ladder is state.ladder
        return same_place and self.prior is state.prior

    def scores(self, state: State, rung: int, incumbent: Observation) -> Scores:
        centre, fidelity = incumbent.trial.root, state.ladder.fidelities[rung]
        fresh = state.history.succeeded_at(fidelity, len(self.keys))
        if self.last is not None and not fresh and centre == self.centre:
            return self.last
        if centre != self.centre:
            self.centre = centre
            self.around = self.prior.around(incumbent.config)
            self.log_incumbent = np.empty(0)
        for observation in fresh:
            self._insert(observation, state)
        self.log_prior = self._extended(self.log_prior, self.prior)
        self.log_incumbent = self._extended(self.log_incumbent, self.around)
        size = top_size(len(self.keys), state.ladder.eta)
        best = self.order[:size]
        self.last = Scores(
            prior=log_score(self.log_prior[best]),
            incumbent=log_score(self.log_incumbent[best]),
            rung=rung,
            top=size,
        )
        return self.last

    def _insert(self, observation: Observation, state: State) -> None:
        place = bisect_left(self.keys, observation.ranking)
        self.keys.insert(place, observation.ranking)
        last = np.array([len(self.rows)])
        self.order = np.concatenate((self.order[:place], last, self.order[place:]))
        self.rows.append(state.row(observation.trial))

    def _extended(self, known: Array, density: Prior) -> Array:
        """Log densities of all rows, those of the first ones being known."""
        fresh = self.rows[len(known) :]
        return np.concatenate((known, density.logpdf(np.array(fresh)))) if fresh else known


Boards = dict[tuple[int, Regard], _Board]

_BOARDS: CacheKey[Boards] = CacheKey(dict)


def _from_board(boards: Boards, state: State, rung: int, incumbent: Observation) -> Scores:
    board = boards.get((rung, state.regard))
    if board is None or not board.belongs(state):
        board = boards[rung, state.regard] = _Board(state)
    return board.scores(state, rung, incumbent)
