"""Log expected improvement for losses that are minimised, numerically stable for all rows.

    EI = (y* - m) P(a) + s p(a) = s h(a),   a = (y* - m) / s,   h(a) = p(a) + a P(a)

p is the normal density, P the normal distribution function, m and s the predicted mean and standard
deviation, y* the best loss. For very negative a, h(a) is the difference of two nearly equal
numbers. There P / p is computed as a scaled complementary error function, and further out as a
series.
"""

from collections.abc import Callable
from typing import final

import numpy as np
from scipy.special import erfcx, ndtr

from priorband.models.gp import GP
from priorband.models.kernels import Array
from priorband.values import frozen

Bonus = Callable[[Array], Array]

_LOG_ROOT = 0.5 * float(np.log(2.0 * np.pi))
_SERIES_BELOW = -1e4  # below this, all terms of the series except the first are rounding
_MINIMUM = -1e150  # below this, the square would overflow


def log_h(a: Array) -> Array:
    """Return log(p(a) + a P(a))."""
    a = np.clip(a, _MINIMUM, -_MINIMUM)
    near = np.maximum(a, -1.0)
    plain = np.log(np.exp(-0.5 * near**2 - _LOG_ROOT) + near * ndtr(near))
    middle = np.clip(a, _SERIES_BELOW, -1.0)
    tail = np.log1p(-_mills(middle)) - 0.5 * middle**2 - _LOG_ROOT
    far = np.minimum(a, _SERIES_BELOW)
    series = -2.0 * np.log(-far) - 0.5 * far**2 - _LOG_ROOT
    return np.where(a > -1.0, plain, np.where(a > _SERIES_BELOW, tail, series))


def _mills(a: Array) -> Array:
    """Return -a P(a) / p(a) for negative a. It tends to 1."""
    scaled: Array = -a * np.sqrt(0.5 * np.pi) * erfcx(-a * np.sqrt(0.5))
    return scaled


def log_ei(mean: Array, variance: Array, best: float) -> Array:
    """Return the log of the expected improvement over the best loss."""
    deviation = np.sqrt(variance)
    return log_h((best - mean) / deviation) + np.log(deviation)


@final
@frozen
class Improvement:
    """Log expected improvement of rows, plus an optional bonus.

    Inactive entries of rows are NaN.

    Args:
        process: The Gaussian process.
        best: The loss to improve on.
        further: Values of columns that are appended to every row because they are not searched:
            the fidelity of a joint model.
        bonus: A function of rows that is added, such as a weighted log prior.
    """

    process: GP
    best: float
    further: tuple[float, ...] = ()
    bonus: Bonus | None = None

    def __call__(self, rows: Array) -> Array:
        posterior = self.process.predict(self._whole(rows))
        value = log_ei(posterior.mean, posterior.variance, self.best)
        return value if self.bonus is None else value + self.bonus(rows)

    def slope(self, row: Array) -> tuple[float, Array]:
        """Return the value at a row, and its gradient with respect to the row's numbers.

        The gradient by an inactive number is 0.
        """
        mean, variance, by_mean, by_variance = self.process.slope(self._whole(row[None])[0])
        deviation = np.sqrt(variance)
        a = (self.best - mean) / deviation
        value = float(log_h(a) + np.log(deviation))
        below, density = _ratios(a)
        gradient = -below / deviation * by_mean + density / deviation * by_variance / (
            2.0 * deviation
        )
        if self.further:
            gradient = gradient[: -len(self.further)]
        if self.bonus is not None:
            added, by_bonus = self._bonus_slope(row, self.bonus)
            value, gradient = value + added, gradient + by_bonus
        return value, gradient

    def _whole(self, rows: Array) -> Array:
        if not self.further:
            return rows
        return np.concatenate((rows, np.tile(self.further, (len(rows), 1))), axis=1)

    def _bonus_slope(self, row: Array, bonus: Bonus, step: float = 1e-5) -> tuple[float, Array]:
        """Return the bonus and its gradient, by finite differences (one-sided at the bounds).

        The gradient by an inactive number is 0.
        """
        numbers = [i for i in self.process.kernel.numbers if i < len(row)]
        columns = [i for i in numbers if row[i] == row[i]]
        rows = np.tile(row, (2 * len(columns) + 1, 1))
        below, above = np.arange(len(columns)), np.arange(len(columns)) + len(columns)
        rows[below, columns] = np.maximum(row[columns] - step, 0.0)
        rows[above, columns] = np.minimum(row[columns] + step, 1.0)
        values = bonus(rows)
        with np.errstate(invalid="ignore"):  # the prior is 0 here: inf - inf
            rise = values[above] - values[below]
        slope = rise / (rows[above, columns] - rows[below, columns])
        slope = np.where(np.isfinite(slope), slope, 0.0)
        if len(columns) == len(numbers):
            return float(values[-1]), slope
        gradient = np.zeros(len(row))
        gradient[columns] = slope
        return float(values[-1]), gradient[numbers]


def _ratios(a: float) -> tuple[float, float]:
    """Return P(a) / h(a) and p(a) / h(a)."""
    if a > -1.0:
        density, below = float(np.exp(-0.5 * a * a - _LOG_ROOT)), float(ndtr(a))
        return below / (density + a * below), density / (density + a * below)
    if a < _SERIES_BELOW:
        a = max(a, _MINIMUM)
        return -a, a * a
    share = float(_mills(np.asarray(a)))  # h / p = 1 - share
    return share / (-a * (1.0 - share)), 1.0 / (1.0 - share)
