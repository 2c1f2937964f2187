"""Scores of how well the prior and the incumbent explain the best trials (Algorithm 2).

Both are scored on the best trials of the highest rung with at least eta results. Better trials have
more weight. Scores are logs, because products of densities underflow in a few dimensions.
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
    """The log scores of the prior and of the incumbent.

    Args:
        prior: The log score of the prior.
        incumbent: The log score of the incumbent.
        rung: The rung whose trials were scored.
        top: The number of trials that were scored, the best of the rung.
    """

    prior: float
    incumbent: float
    rung: int
    top: int


def scores(state: State) -> Scores | None:
    """Return the two scores; None if no rung has eta results or there is no incumbent."""
    rung, incumbent = state.scored_rung(), state.incumbent
    if rung is None or incumbent is None:
        return None
    return state.history.cached(_BOARDS, _from_board, state, rung, incumbent)


def incumbent_share(both: Scores) -> float:
    """Return S_incumbent / (S_incumbent + S_prior); one half if both are 0."""
    lead = both.incumbent - both.prior
    if math.isnan(lead):  # both are minus infinity, which histograms make possible
        return 0.5
    if lead < 0:
        return math.exp(lead) / (1.0 + math.exp(lead))
    return 1.0 / (1.0 + math.exp(-lead))


def top_size(members: int, eta: int) -> int:
    """Return how many of a rung's trials are scored: one in eta, but at least eta."""
    return max(eta, members // eta)


def log_score(densities: Array) -> float:
    """Return the log of the weighted sum of densities.

    The log densities are in order of the trials, best first. Of n trials the best has weight n, the
    last has weight 1.
    """
    peak = float(densities.max())
    if peak == -math.inf:
        return peak
    weights = np.arange(len(densities), 0.0, -1.0)
    return peak + math.log(float(weights @ np.exp(densities - peak)))


@final
class _Board:
    """The ranked trials of a rung and their log densities, updated as results arrive."""

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
        same_space = self.space is state.space and self.ladder is state.ladder
        return same_space and self.prior is state.prior

    def scores(self, state: State, rung: int, incumbent: Observation) -> Scores:
        centre, fidelity = incumbent.trial.root, state.ladder.fidelities[rung]
        new = state.history.succeeded_at(fidelity, len(self.keys))
        if self.last is not None and not new and centre == self.centre:
            return self.last
        if centre != self.centre:
            self.centre = centre
            self.around = self.prior.around(incumbent.config)
            self.log_incumbent = np.empty(0)
        for observation in new:
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
        rank = bisect_left(self.keys, observation.ranking)
        self.keys.insert(rank, observation.ranking)
        last = np.array([len(self.rows)])
        self.order = np.concatenate((self.order[:rank], last, self.order[rank:]))
        self.rows.append(state.row(observation.trial))

    def _extended(self, logs: Array, density: Prior) -> Array:
        """Log densities of all rows, given those of the first rows."""
        new = self.rows[len(logs) :]
        return np.concatenate((logs, density.logpdf(np.array(new)))) if new else logs


Boards = dict[tuple[int, Regard], _Board]

_BOARDS: CacheKey[Boards] = CacheKey(dict)


def _from_board(boards: Boards, state: State, rung: int, incumbent: Observation) -> Scores:
    board = boards.get((rung, state.regard))
    if board is None or not board.belongs(state):
        board = boards[rung, state.regard] = _Board(state)
    return board.scores(state, rung, incumbent)
