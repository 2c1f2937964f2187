"""A kernel density estimate over rows with marks: entries that are NaN because they are inactive.

As in `kde`, around each row of data is a product of one density per column, of which only those of
the active columns of a query count. Where the row of data is active, the density is its kernel.
Where it is not, the density is the mean of the kernels of the rows that are active there. A column
that is active in fewer than `FEWEST` rows has a density that is given: the prior's. So each product
is a density over the mixed space, and so is their mean.
"""

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
        self._columns = [
            _column(rows[:, i], size, len(sizes), given[i], least) for i, size in enumerate(sizes)
        ]

    def logpdf(self, rows: Array) -> Array:
        """Return the log density at each row, over its active entries."""
        terms = np.zeros((len(rows), len(self.rows)))
        active = ~np.isnan(rows)
        for i, column in enumerate(self._columns):
            here = active[:, i]
            if here.all():
                terms += column.logs(rows[:, i])
            elif here.any():
                terms[here] += column.logs(rows[here, i])
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


def _column(
    codes: Array, size: int | None, dimensions: int, given: ColumnDensity, least: float
) -> _Column:
    active = ~np.isnan(codes)
    count = int(active.sum())
    if count < FEWEST:
        return _Given(given)
    factor = 1.06 * count ** (-1.0 / (4 + dimensions))
    return _Estimated(codes[active], active, size, bandwidth(codes[active], size, factor, least))


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
    """A kernel around each active code; for inactive ones, the mean of these."""

    __slots__ = ("_active", "_centres", "_log_masses", "_size", "_width")

    def __init__(
        self, centres: Array, active: NDArray[np.bool_], size: int | None, width: float
    ) -> None:
        self._centres, self._active, self._size, self._width = centres, active, size, width
        if size is None:
            masses = np.sqrt(2.0 * np.pi) * width * inside(centres, width)
            self._log_masses = np.log(masses)

    def logs(self, codes: Array) -> Array:
        """The log kernels, and the log of their mean in place of those that do not exist."""
        kernels = self._log_kernels(codes[:, np.newaxis])
        if len(self._centres) == len(self._active):
            return kernels
        logs = np.empty((len(codes), len(self._active)))
        logs[:, self._active] = kernels
        logs[:, ~self._active] = log_means(kernels)[:, np.newaxis]
        return logs

    def _log_kernels(self, codes: Array) -> Array:
        if self._size is None:
            z = (codes - self._centres) / self._width
            return np.asarray(-0.5 * z * z - self._log_masses, dtype=np.float64)
        if self._size == 1:
            return np.zeros((len(codes), len(self._centres)))
        other = np.log(self._width / (self._size - 1))
        same = np.log1p(-self._width)
        return np.asarray(np.where(codes == self._centres, same, other), dtype=np.float64)

    def near(self, codes: Array, widening: float, u: Array) -> Array:
        """Draws from widened kernels, with the one uniform number that each draw has."""
        marks = np.isnan(codes)
        places = u[marks] * len(self._centres)  # which kernel, and the rest is uniform again
        indices = places.astype(np.intp)
        codes, u = codes.copy(), u.copy()
        codes[marks], u[marks] = self._centres[indices], places - indices
        if self._size is None:
            return moved(codes, widening * self._width, u)
        return redrawn(codes, self._size, self._width, u) if self._size > 1 else codes
