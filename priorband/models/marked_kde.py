"""A kernel density estimate over rows with marks: entries that are NaN because they are inactive.

As in `kde`, around each row of data is a product of one density per column, of which only those of
the active columns of a query count. Where the row of data is active, the density is its kernel.
Where it is not, the density is the mean of the kernels of the rows that are active there. A column
that is active in fewer than `FEWEST` rows has a density that is given: the prior's. So each product
is a density over the mixed space, and so is their mean.
"""

import math
from collections.abc import Sequence
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from priorband.models.kde import (
    LEAST,
    LOG_ZERO,
    Array,
    Sizes,
    bandwidth,
    inside,
    log_means,
    moved,
    redrawn,
)
from priorband.streams import Generator

_ROOT_2 = math.sqrt(2.0)
_ROOT_2PI = math.sqrt(2.0 * math.pi)

FEWEST = 3
"""The smallest number of active rows from which a column's density is estimated."""


class ColumnDensity(Protocol):
    """A density over the codes of one column."""

    def draw(self, u: float) -> float:
        """Turn a uniform number in [0, 1) into a draw."""

    def logpdf(self, codes: Array) -> Array:
        """Return the log density at each code."""


@final
class MarkedKDE:
    """The density that rows of shape (n, d) with marks were drawn from, estimated.

    Args:
        rows: The data, NaN where inactive.
        sizes: The kind of each column.
        given: For each column the density to use if too few rows are active there.
        least: The minimum bandwidth.

    Example:
        >>> class Flat:
        ...     def draw(self, u):
        ...         return u
        ...     def logpdf(self, codes):
        ...         return np.zeros(len(codes))
        >>> rows = np.array([[0.0, 0.2], [0.0, 0.4], [1.0, np.nan], [0.0, 0.4]])
        >>> kde = MarkedKDE(rows, (2, None), (Flat(), Flat()))
        >>> np.exp(kde.logpdf(np.array([[0.0, 0.4], [0.0, 0.9], [1.0, np.nan]]))).round(3)
        array([1.866, 0.   , 0.432])
    """

    __slots__ = ("_columns", "rows")

    def __init__(
        self, rows: Array, sizes: Sizes, given: Sequence[ColumnDensity], least: float = LEAST
    ) -> None:
        self.rows = rows
        active = ~np.isnan(rows)
        counts = active.sum(axis=0).tolist()
        self._columns: list[_Column] = []
        for i, size in enumerate(sizes):
            if counts[i] < FEWEST:
                self._columns.append(_Given(given[i]))
                continue
            known = None if counts[i] == len(rows) else active[:, i]
            codes = rows[:, i] if known is None else rows[known, i]
            factor = 1.06 * counts[i] ** (-1.0 / (4 + len(sizes)))
            width = bandwidth(codes, size, factor, least)
            self._columns.append(_Estimated(codes, known, size, width))

    def logpdf(self, rows: Array) -> Array:
        """Return the log density at each row, over its active entries."""
        terms = np.zeros((len(rows), len(self.rows)))
        active = ~np.isnan(rows)
        counts = active.sum(axis=0).tolist()
        for i, column in enumerate(self._columns):
            if counts[i] == len(rows):
                terms += column.logs(rows[:, i])
            elif counts[i]:
                terms[active[:, i]] += column.logs(rows[active[:, i], i])
        return log_means(terms)

    def nearby(self, n: int, widening: float, rng: Generator) -> Array:
        """Draw `n` rows near rows of the data. No entry is marked: mark those that are inactive.

        Each is a random row of the data with all columns changed as in `KDE.nearby`. An entry that
        is inactive in that row is drawn near a random row in which it is active. In a column with a
        given density, all entries are drawn from that.
        """
        random = rng.random((n, 1 + len(self._columns)))
        rows = self.rows[(random[:, 0] * len(self.rows)).astype(np.intp)]
        for i, column in enumerate(self._columns):
            rows[:, i] = column.near(rows[:, i], widening, random[:, 1 + i])
        return rows


class _Column(Protocol):
    """The densities of one column, one for each row of data."""

    def logs(self, codes: Array) -> Array:
        """Return log densities: a row for each code, a column for each row of data."""

    def near(self, codes: Array, widening: float, u: Array) -> Array:
        """Return a draw near each code, or from all data where the code is a mark."""


@final
class _Given:
    """A density that does not depend on the data."""

    __slots__ = ("_density",)

    def __init__(self, density: ColumnDensity) -> None:
        self._density = density

    def logs(self, codes: Array) -> Array:
        """The same for every row of data. Finite, though a prior may exclude a choice."""
        return np.maximum(self._density.logpdf(codes), LOG_ZERO)[:, np.newaxis]

    def near(self, codes: Array, widening: float, u: Array) -> Array:
        """Draws from the density, wherever the codes are."""
        del codes, widening
        return np.array([self._density.draw(number) for number in u.tolist()])


@final
class _Estimated:
    """A kernel around each active code; for inactive ones, the mean of these.

    Args:
        centres: The active codes.
        known: Whether each row of data is active; None if all are.
        size: The kind of the column.
        width: The bandwidth.
    """

    __slots__ = ("_centres", "_known", "_log_masses", "_size", "_width")

    def __init__(
        self, centres: Array, known: NDArray[np.bool_] | None, size: int | None, width: float
    ) -> None:
        self._centres, self._known, self._size, self._width = centres, known, size, width
        if size is None:
            self._log_masses = np.log(_ROOT_2PI * width * inside(centres, width))

    def logs(self, codes: Array) -> Array:
        """The log kernels, and the log of their mean in place of those that do not exist."""
        kernels = self._log_kernels(codes[:, np.newaxis])
        if self._known is None:
            return kernels
        logs = np.empty((len(codes), len(self._known)))
        logs[:, self._known] = kernels
        logs[:, ~self._known] = log_means(kernels)[:, np.newaxis]
        return logs

    def _log_kernels(self, codes: Array) -> Array:
        if self._size is None:
            scale = _ROOT_2 * self._width
            away = codes / scale - self._centres / scale
            away *= away
            away += self._log_masses
            return np.negative(away, out=away)
        if self._size == 1:
            return np.zeros((len(codes), len(self._centres)))
        same, other = math.log1p(-self._width), math.log(self._width / (self._size - 1))
        return np.where(codes == self._centres, same, other)

    def near(self, codes: Array, widening: float, u: Array) -> Array:
        """Draws from widened kernels, with the one uniform number that each draw has."""
        if self._known is not None:
            codes, u = self._spread(codes, u)
        if self._size is None:
            return moved(codes, widening * self._width, u)
        return redrawn(codes, self._size, self._width, u) if self._size > 1 else codes

    def _spread(self, codes: Array, u: Array) -> tuple[Array, Array]:
        """A random centre in place of each mark, and what is left of its uniform number."""
        marks = np.isnan(codes)
        places = u * len(self._centres)
        indices = places.astype(np.intp)
        return np.where(marks, self._centres[indices], codes), np.where(marks, places - indices, u)
