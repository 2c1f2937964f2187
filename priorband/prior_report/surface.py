"""A quadratic surface fitted to all results of a study, which says how losses change with values.

Its terms are those of each number, x and x^2, one for each choice, and products of two numbers, or
of a number and a choice. What is fitted is a score of each result among those of its fidelity: the
mean of its standardised loss and of the normal quantile of its rank, both with variance 1. So
neither one diverged training nor a different scale at each fidelity spoils it. A result counts in
proportion to its fidelity. A failure counts as the worst loss of its fidelity. The coefficients
have normal priors around 0, narrower for products (ridge regression), so that few results give a
flat surface, and every prediction has a standard error.

At most `MOST` results of each fidelity are used. Beyond that, those that were drawn near the
incumbent or by a model are left out first: in a long study nearly all results are close to each
other, and a surface fitted to them says nothing about the rest of the space. Of both kinds, those
that are used are spread evenly over time. Beyond `MOST_TERMS` terms products are left out.
"""

from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from priorband.samplers.base import MODEL
from priorband.samplers.evidence import losses_with_failures, standardised
from priorband.samplers.local import ORIGIN as INCUMBENT
from priorband.space import normal
from priorband.space.densities import Array
from priorband.space.space import Space
from priorband.state import State
from priorband.trial import Observation
from priorband.values import frozen

MOST = 100
MOST_TERMS = 400
LEAST_PER_FIDELITY = 3
SINGLE_PRECISION, PRODUCT_PRECISION = 2.0, 8.0
"""The precisions of the coefficients' normal priors."""
_NOISE = (0.1, 1.0)
"""Bounds of the variance of the noise; scores have variance 1."""
_ROUNDS = 3
_LOCAL = (INCUMBENT, MODEL)
"""The origins of configurations that were drawn where results were good."""


class Difference(NamedTuple):
    """A difference of scores and its standard error. Lower scores are better."""

    mean: float
    error: float

    @property
    def ratio(self) -> float:
        """The difference in standard errors; 0 if both are 0."""
        return self.mean / self.error if self.error > 0 else 0.0


@final
@frozen
class Terms:
    """The terms of the surface as columns."""

    sizes: tuple[int | None, ...]
    products: bool

    def of(self, rows: Array) -> Array:
        """The terms of encoded configurations; those of inactive parameters are 0."""
        linear, squares = [], []
        for column, size in enumerate(self.sizes):
            codes = rows[:, column]
            active = ~np.isnan(codes)
            if size is None:
                centred = np.where(active, 2.0 * codes - 1.0, 0.0)
                linear.append(centred[:, None])
                squares.append(np.where(active, 1.5 * (centred**2 - 1 / 3), 0.0)[:, None])
            else:
                chosen = codes[:, None] == np.arange(size)
                linear.append(np.where(active[:, None], chosen - 1.0 / size, 0.0))
        singles = np.concatenate([*linear, *squares], axis=1)
        if not self.products:
            return singles
        pairs = [
            (linear[i][:, :, None] * linear[j][:, None, :]).reshape(len(rows), -1)
            for i, j in _pairs(self.sizes)
        ]
        return np.concatenate([singles, *pairs], axis=1)

    @property
    def precisions(self) -> Array:
        """The precision of each coefficient's normal prior."""
        singles = sum(size or 2 for size in self.sizes)
        products = _product_count(self.sizes) if self.products else 0
        return np.repeat((SINGLE_PRECISION, PRODUCT_PRECISION), (singles, products))


def _pairs(sizes: Sequence[int | None]) -> list[tuple[int, int]]:
    """The pairs of columns, at least one of them a number."""
    columns = range(len(sizes))
    return [
        (i, j) for i in columns for j in columns if i < j and (sizes[i] is None or sizes[j] is None)
    ]


def _product_count(sizes: Sequence[int | None]) -> int:
    return sum((sizes[i] or 1) * (sizes[j] or 1) for i, j in _pairs(sizes))


def terms_for(space: Space) -> Terms:
    """The terms for a space: with products, unless there are too many."""
    singles = sum(size or 2 for size in space.sizes)
    return Terms(space.sizes, singles + _product_count(space.sizes) <= MOST_TERMS)


@final
@frozen
class Surface:
    """A fitted surface."""

    terms: Terms
    coefficients: Array
    covariance: Array

    def scores(self, rows: Array) -> Array:
        """The expected scores of encoded configurations."""
        return np.asarray(self.terms.of(rows) @ self.coefficients, dtype=np.float64)

    def difference(self, rows: Array, weights: Array) -> Difference:
        """The weighted sum of the scores of some rows. The weights sum to 0."""
        contrast = weights @ self.terms.of(rows)
        variance = float(contrast @ self.covariance @ contrast)
        return Difference(float(contrast @ self.coefficients), max(variance, 0.0) ** 0.5)


def fitted_surface(state: State) -> Surface | None:
    """Fit a surface to the results of a study; None if no fidelity has enough of them."""
    terms, parts = terms_for(state.space), list[tuple[Array, Array, Array]]()
    for fidelity, ended in _by_fidelity(state).items():
        losses = losses_with_failures(ended)
        if losses is None or len(ended) < LEAST_PER_FIDELITY:
            continue
        kept = kept_results(ended)
        rows = np.array([state.row(ended[i].trial) for i in kept])
        columns, target = terms.of(rows), scores(losses)[kept]
        weights = np.full(len(kept), fidelity / state.ladder.fidelity.high)
        parts.append((columns - columns.mean(axis=0), target - target.mean(), weights))
    if not parts:
        return None
    columns, target, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _solved(terms, columns, target, weights / weights.mean())


def _by_fidelity(state: State) -> dict[float, list[Observation]]:
    groups: dict[float, list[Observation]] = {}
    for ended in state.history.observations:
        groups.setdefault(ended.fidelity, []).append(ended)
    return groups


def kept_results(ended: Sequence[Observation]) -> list[int]:
    """The indices of the results of one fidelity that are used, in order."""
    local = [i for i, one in enumerate(ended) if one.trial.origin in _LOCAL]
    others = [i for i, one in enumerate(ended) if one.trial.origin not in _LOCAL]
    first = _spread(others, MOST)
    return sorted(first + _spread(local, MOST - len(first)))


def _spread(numbers: list[int], most: int) -> list[int]:
    """At most `most` of the numbers, spread evenly."""
    if len(numbers) <= most:
        return numbers
    return [numbers[(2 * i + 1) * len(numbers) // (2 * most)] for i in range(most)]


def scores(losses: Array) -> Array:
    """A score for each loss among those of its fidelity, with mean 0 and variance 1."""
    both = standardised(losses) + _normal_ranks(losses)
    spread = float(both.std())
    return np.asarray((both - both.mean()) / spread if spread > 0 else both * 0.0)


def _normal_ranks(losses: Array) -> Array:
    """The normal quantiles of the ranks; equal losses have the mean of their ranks."""
    _, place, counts = np.unique(losses, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * counts) / len(losses)
    quantiles = [normal.quantile(rank, 0.0, 1.0) for rank in ranks.tolist()]
    return np.array(quantiles)[place]


def _solved(terms: Terms, columns: Array, target: Array, weights: Array) -> Surface:
    """The ridge regression; the variance of the noise follows from the residuals."""
    gram = columns.T @ (columns * weights[:, None])
    right, prior = columns.T @ (weights * target), np.diag(terms.precisions)
    noise = 0.7
    for _ in range(_ROUNDS):
        covariance = np.linalg.inv(gram / noise + prior)
        coefficients = covariance @ right / noise
        residuals = target - columns @ coefficients
        noise = float(np.clip((weights @ residuals**2) / len(target), *_NOISE))
    return Surface(terms, coefficients, np.asarray(covariance, dtype=np.float64))
