"""A kernel density over mixed rows: around each row of data a product of one kernel a column.

A number has a normal cut to [0, 1], a category the kernel of Aitchison and Aitken (1976): one minus
the bandwidth where it is, the rest shared by the other choices. Everything is in logs, because
products of densities underflow in a few dimensions.
"""

import math
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, ndtr, ndtri

from priorband.streams import Generator

Array = NDArray[np.float64]
Sizes = tuple[int | None, ...]
"""For each column None, which means a position in [0, 1], or the number of its choices."""

LEAST = 1e-3
_NOTHING = -700.0
_ROOT_2 = math.sqrt(2.0)
_ROOT_2PI = math.sqrt(2.0 * math.pi)


@final
class KDE:
    """The density that rows of shape (n, d) seem to be drawn from.

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
        """The log density at each of m rows: per unit of the numbers, per choice of the others."""
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
        return _log_means(terms)

    def nearby(self, n: int, widening: float, rng: Generator) -> Array:
        """`n` rows, each a row of the data with all columns moved: the candidates of BOHB.

        A number moves by a truncated normal of `widening` bandwidths. A category stays with
        probability one minus its bandwidth, else it becomes any choice alike, the same included.
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
    """The normal reference rule for each column; choices have a spread for a deviation.

    A category's bandwidth ends where its kernel is uniform; with a single choice it is 0.
    """
    n, d = rows.shape
    shrinking = 1.06 * n ** (-1.0 / (4 + d))
    found = np.empty(d)
    for column, size in enumerate(sizes):
        codes = rows[:, column]
        if size is None:
            found[column] = max(shrinking * codes.std(), least)
        else:
            found[column] = min(max(shrinking * spread(codes, size), least), (size - 1) / size)
    return found


def spread(codes: Array, size: int) -> float:
    """The deviation of choices without an order: that of the codes of two, however numbered.

    >>> float(spread(np.array([0.0, 1.0, 1.0, 1.0]), 2)), float(np.std([0, 1, 1, 1]))
    (0.4330127018922193, 0.4330127018922193)
    """
    shares = np.bincount(codes.astype(np.intp), minlength=size) / len(codes)
    return math.sqrt(max(1.0 - float(shares @ shares), 0.0) / 2.0)


def inside(centres: Array, width: float) -> Array:
    """How much of a normal around each centre lies in [0, 1], exact however wide it is."""
    below, above = centres / (_ROOT_2 * width), (1.0 - centres) / (_ROOT_2 * width)
    return np.asarray(0.5 * (erf(above) + erf(below)), dtype=np.float64)


def moved(centres: Array, width: float, u: Array) -> Array:
    """The quantile `u` of the normal around each centre, cut to [0, 1]; no mass piles up there."""
    low, high = ndtr(-centres / width), ndtr((1.0 - centres) / width)
    share = np.clip(low + u * (high - low), math.ulp(0.0), 1.0 - 2.0**-53)  # quantiles are finite
    return np.asarray(np.clip(centres + width * ndtri(share), 0.0, 1.0), dtype=np.float64)


def redrawn(codes: Array, size: int, width: float, u: Array) -> Array:
    """Each code where `u` lies below one minus the width, else any of `size` choices alike."""
    stay = 1.0 - width
    return np.where(u < stay, codes, np.floor((u - stay) / width * size))


def _log_means(terms: Array) -> Array:
    """The log of each line's mean, from logs, which are used up."""
    peaks = terms.max(axis=1)
    terms -= peaks[:, np.newaxis]
    np.maximum(terms, _NOTHING, out=terms)  # exp is slow where it underflows
    means = np.exp(terms, out=terms).mean(axis=1)
    return np.asarray(peaks + np.log(means), dtype=np.float64)
