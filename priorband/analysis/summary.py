"""Means over seeds, and how sure one can be of them.

The paper's tables print standard deviations and its figures standard errors; a summary has both.
Every deviation here divides by n - 1.
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
    """What the runs of one cell come to: `n` had a value, `missing` none yet, `failed` an infinite
    one.
    """

    mean: float
    sd: float
    sem: float
    n: int
    missing: int = 0
    failed: int = 0

    @property
    def whole(self) -> bool:
        """Whether every run had a value."""
        return self.n > 0 and not self.missing and not self.failed


def summarised(values: ArrayLike) -> Summary:
    """The summary of the finite ones of some numbers; nan is no result yet, infinite a failed one.

    >>> summarised([1.0, 2.0, 3.0, 2.0, math.nan]).missing
    1
    """
    given = np.asarray(values, dtype=np.float64).ravel()
    mean, sd, count = moments(given)
    n = int(count)
    missing, failed = int(np.isnan(given).sum()), int(np.isinf(given).sum())
    return Summary(float(mean), float(sd), _error(float(sd), n), n, missing, failed)


def difference(ours: Summary, theirs_mean: float, theirs_sd: float, theirs_n: int) -> float:
    """Our mean less a published one, in standard errors of the two together.

    It is nan where either is missing. Two exact means that differ are infinitely far apart.
    """
    if theirs_sd < 0 or theirs_n < 1:
        raise DataError(
            "A published mean needs a standard deviation of at least 0 from at least one run, got "
            f"{theirs_sd!r} from {theirs_n!r}."
        )
    gap = ours.mean - theirs_mean
    unit = math.hypot(ours.sem, theirs_sd / math.sqrt(theirs_n))
    if unit == 0.0:
        return math.copysign(math.inf, gap) if gap else 0.0
    return gap / unit


def band(rows: Array, axis: int = 0) -> Band:
    """Mean and standard error along an axis, of the finite values there."""
    mean, sd, count = moments(rows, axis)
    return Band(mean, sd / np.sqrt(np.maximum(count, 1.0)))


def moments(rows: Array, axis: int = 0) -> tuple[Array, Array, Array]:
    """Mean, standard deviation and number of the finite values along an axis; nan where too few."""
    there = np.isfinite(rows)
    count = there.sum(axis=axis, keepdims=True).astype(np.float64)
    total = np.where(there, rows, 0.0).sum(axis=axis, keepdims=True)
    mean = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
    away = np.where(there, rows, mean) - mean
    squares = np.where(there, away**2, 0.0).sum(axis=axis, keepdims=True)
    sd = np.where(count > 1, np.sqrt(squares / np.maximum(count - 1.0, 1.0)), np.nan)
    return mean.squeeze(axis), sd.squeeze(axis), count.squeeze(axis)


def _error(sd: float, n: int) -> float:
    return sd / math.sqrt(n) if n else math.nan
