"""Means over seeds, with standard deviations and standard errors.

The paper prints standard deviations in its tables and standard errors in its figures. All standard
deviations here divide by n - 1.
"""

import math
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorband.errors import DataError
from priorband.values import frozen

Array = NDArray[np.float64]


class Band(NamedTuple):
    """A mean curve and its standard error, point by point."""

    mean: Array
    sem: Array


@final
@frozen
class Summary:
    """A summary of the runs in one cell of a table.

    `n` runs have a finite value, `missing` runs have no value yet, and `failed` runs have an
    infinite one. Mean, standard deviation and standard error are those of the `n` values.
    """

    mean: float
    sd: float
    sem: float
    n: int
    missing: int = 0
    failed: int = 0

    @property
    def complete(self) -> bool:
        """Whether every run has a finite value."""
        return self.n > 0 and not self.missing and not self.failed


def summarised(values: ArrayLike) -> Summary:
    """The summary of some values: nan is a missing value, an infinite one is a failed run.

    >>> summarised([1.0, 2.0, 3.0, 2.0, math.nan]).missing
    1
    """
    array = np.asarray(values, dtype=np.float64).ravel()
    mean, sd, count = moments(array)
    n = int(count)
    missing, failed = int(np.isnan(array).sum()), int(np.isinf(array).sum())
    return Summary(float(mean), float(sd), _standard_error(float(sd), n), n, missing, failed)


def difference_in_se(ours: Summary, theirs_mean: float, theirs_sd: float, theirs_n: int) -> float:
    """Our mean minus a published one, in standard errors of the difference.

    It is nan if a mean is missing, and infinite if the means differ but have no error.
    """
    if theirs_sd < 0 or theirs_n < 1:
        raise DataError(
            "`theirs_sd` must be at least 0 and `theirs_n` at least 1, got "
            f"{theirs_sd!r} and {theirs_n!r}."
        )
    gap = ours.mean - theirs_mean
    unit = math.hypot(ours.sem, theirs_sd / math.sqrt(theirs_n))
    if unit == 0.0:
        return math.copysign(math.inf, gap) if gap else 0.0
    return gap / unit


def band(rows: Array, axis: int = 0) -> Band:
    """Mean and standard error of the finite values along an axis."""
    mean, sd, count = moments(rows, axis)
    return Band(mean, sd / np.sqrt(np.maximum(count, 1.0)))


def moments(rows: Array, axis: int = 0) -> tuple[Array, Array, Array]:
    """Mean, standard deviation and number of the finite values along an axis; nan if too few."""
    finite = np.isfinite(rows)
    count = finite.sum(axis=axis, keepdims=True).astype(np.float64)
    total = np.where(finite, rows, 0.0).sum(axis=axis, keepdims=True)
    mean = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
    deviations = np.where(finite, rows, mean) - mean
    squares = np.where(finite, deviations**2, 0.0).sum(axis=axis, keepdims=True)
    sd = np.where(count > 1, np.sqrt(squares / np.maximum(count - 1.0, 1.0)), np.nan)
    return mean.squeeze(axis), sd.squeeze(axis), count.squeeze(axis)


def _standard_error(sd: float, n: int) -> float:
    return sd / math.sqrt(n) if n else math.nan
