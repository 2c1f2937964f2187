"""A kernel density estimate over rows of numbers and choices.

Around each row of data is a product of one kernel per column. The kernel of a number is a normal
truncated to [0, 1]. The kernel of a choice is that of Aitchison and Aitken (1976): the same choice
has probability one minus the bandwidth, and the others share the rest. Everything is computed in
logs, because products of densities underflow in a few dimensions.
"""

import math
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, ndtr, ndtri

from priorband.streams import Generator

Array = NDArray[np.float64]
Sizes = tuple[int | None, ...]
"""For each column the number of its choices, or None for a position in [0, 1]."""

LEAST = 1e-3
"""The default minimum bandwidth."""
LOG_ZERO = -700.0
"""The log of a number that does not count beside others."""
_ROOT_2 = math.sqrt(2.0)
_ROOT_2PI = math.sqrt(2.0 * math.pi)


@final
class KDE:
    """The density that rows of shape (n, d) were drawn from, estimated.

    Args:
        rows: The data.
        sizes: The kind of each column.
        least: The minimum bandwidth.

    Example:
        >>> kde = KDE(np.array([[0.2, 0.0], [0.4, 0.0], [0.4, 1.0]]), (None, 2))
        >>> kde.bandwidths.round(3)
        array([0.083, 0.416])
        >>> np.exp(kde.logpdf(np.array([[0.4, 0.0], [0.4, 1.0], [0.9, 1.0]]))).round(3)
        array([1.65 , 1.635, 0.   ])
    """

    __slots__ = ("_log_masses", "bandwidths", "rows", "sizes")

    def __init__(self, rows: Array, sizes: Sizes, least: float = LEAST) -> None:
        self.rows = rows
        self.sizes = sizes
        self.bandwidths = bandwidths(rows, sizes, least)
        self._log_masses = np.zeros(len(rows))
        for column, size in enumerate(sizes):
            if size is None:
                width = self.bandwidths[column]
                self._log_masses += np.log(_ROOT_2PI * width * inside(rows[:, column], width))

    def logpdf(self, rows: Array) -> Array:
        """Return the log density at each row: a density over numbers, a probability of choices."""
        terms = np.tile(-self._log_masses, (len(rows), 1))
        away = np.empty_like(terms)
        for column, size in enumerate(self.sizes):
            width = self.bandwidths[column]
            here, there = rows[:, column, np.newaxis], self.rows[:, column]
            if size is None:
                scale = _ROOT_2 * width
                np.subtract(here / scale, there / scale, out=away)
                away *= away
                terms -= away
            elif size > 1:
                terms += np.where(here == there, np.log1p(-width), np.log(width / (size - 1)))
        return log_means(terms)

    def nearby(self, n: int, widening: float, rng: Generator) -> Array:
        """Draw `n` rows near rows of the data: the candidates of BOHB.

        Each is a random row of the data with all columns changed. A number is drawn from a
        truncated normal of `widening` bandwidths. A choice is kept with probability one minus its
        bandwidth, and otherwise drawn uniformly from all choices.
        """
        random = rng.random((n, 1 + len(self.sizes)))
        rows = self.rows[(random[:, 0] * len(self.rows)).astype(np.intp)]
        for column, size in enumerate(self.sizes):
            u, width = random[:, 1 + column], self.bandwidths[column]
            if size is None:
                rows[:, column] = moved(rows[:, column], widening * width, u)
            elif size > 1:
                rows[:, column] = redrawn(rows[:, column], size, width, u)
        return rows


def bandwidths(rows: Array, sizes: Sizes, least: float = LEAST) -> Array:
    """Return each column's bandwidth by the normal reference rule, using `spread` for choices.

    The bandwidth of choices is at most the one that makes their kernel uniform. For a single
    choice it is 0.
    """
    n, d = rows.shape
    factor = 1.06 * n ** (-1.0 / (4 + d))
    return np.array(
        [bandwidth(rows[:, i], size, factor, least) for i, size in enumerate(sizes)], np.float64
    )


def bandwidth(codes: Array, size: int | None, factor: float, least: float) -> float:
    """Return the bandwidth of one column: its standard deviation times a factor."""
    if size is None:
        return max(factor * float(codes.std()), least)
    return min(max(factor * spread(codes, size), least), (size - 1) / size)


def spread(codes: Array, size: int) -> float:
    """Return a standard deviation for choices, which does not depend on how they are numbered.

    For two choices it is the standard deviation of their codes.

    >>> float(spread(np.array([0.0, 1.0, 1.0, 1.0]), 2)), float(np.std([0, 1, 1, 1]))
    (0.4330127018922193, 0.4330127018922193)
    """
    shares = np.bincount(codes.astype(np.intp), minlength=size) / len(codes)
    return math.sqrt(max(1.0 - float(shares @ shares), 0.0) / 2.0)


def inside(centres: Array, width: float) -> Array:
    """Return the probability that a normal around each centre is in [0, 1]."""
    below, above = centres / (_ROOT_2 * width), (1.0 - centres) / (_ROOT_2 * width)
    return np.asarray(0.5 * (erf(above) + erf(below)), dtype=np.float64)


def moved(centres: Array, width: float, u: Array) -> Array:
    """Return the quantile `u` of the normal around each centre, truncated to [0, 1]."""
    low, high = ndtr(-centres / width), ndtr((1.0 - centres) / width)
    share = np.clip(low + u * (high - low), math.ulp(0.0), 1.0 - 2.0**-53)  # finite quantiles
    return np.asarray(np.clip(centres + width * ndtri(share), 0.0, 1.0), dtype=np.float64)


def redrawn(codes: Array, size: int, width: float, u: Array) -> Array:
    """Return each code where `u` is below one minus the width, otherwise a uniform choice."""
    stay = 1.0 - width
    return np.where(u < stay, codes, np.floor((u - stay) / width * size))


def log_means(terms: Array) -> Array:
    """Return the log of the mean of each row of `exp(terms)`. `terms` is overwritten."""
    peaks = terms.max(axis=1)
    terms -= peaks[:, np.newaxis]
    np.maximum(terms, LOG_ZERO, out=terms)  # exp is slow where it underflows
    means = np.exp(terms, out=terms).mean(axis=1)
    return np.asarray(peaks + np.log(means), dtype=np.float64)
