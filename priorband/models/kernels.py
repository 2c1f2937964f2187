"""Kernels over mixed rows: Matern-5/2 on the numbers, weighted Hamming on the choices.

    k_num(x, x') = (1 + r + r^2/3) exp(-r),   r^2 = 5 sum_i ((x_i - x'_i) / l_i)^2
    k_cat(x, x') = exp(-sum_j t_j [x_j != x'_j])

They are joined as a sum, a k_num + b k_cat, or as a product, a k_num k_cat. The noise's variance is
v everywhere, or graded by the last column u, which is then a fidelity: v^(1-u) w^u. All parameters
are positive and live in logs: first the l, then the t, then a (and b), then v (and w).
"""

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from priorband.values import derived, frozen, settle

Array = NDArray[np.float64]


class Pairs(NamedTuple):
    """All pairs of rows, i before j: squared differences of numbers, differences of choices."""

    squares: Array
    """One line a number, one column a pair."""
    differ: Array
    """One line a categorical, one column a pair: 1 where the two have other choices."""


class Gram(NamedTuple):
    """The kernel's values at all pairs, and what its gradient needs."""

    values: Array
    numeric: Array
    decay: Array
    """exp(-r), the numeric kernel's slowest factor."""
    distance: Array
    """r."""
    choice: Array


@final
@frozen
class Kernel:
    """A kernel for rows whose columns are numbers (size None) or choices.

    >>> kernel = Kernel((None, None, 3))
    >>> kernel.names
    ('l0', 'l1', 't2', 'a', 'b', 'v')
    """

    sizes: tuple[int | None, ...]
    product: bool = False
    graded: bool = False
    """Whether the noise changes with the last column."""
    numbers: tuple[int, ...] = derived()
    """Columns that are numbers."""
    choices: tuple[int, ...] = derived()
    """Columns that are choices."""

    def __post_init__(self) -> None:
        numbers = tuple(i for i, size in enumerate(self.sizes) if size is None)
        choices = tuple(i for i, size in enumerate(self.sizes) if size is not None)
        settle(self, numbers=numbers, choices=choices)

    @property
    def summed(self) -> bool:
        """Whether there are two amplitudes: both kinds of columns, joined as a sum."""
        return bool(self.numbers and self.choices) and not self.product

    @property
    def names(self) -> tuple[str, ...]:
        """What each parameter is, in order."""
        scales = [f"l{i}" for i in self.numbers] + [f"t{j}" for j in self.choices]
        return *scales, *("ab" if self.summed else "a"), *("vw" if self.graded else "v")

    def pairs(self, rows: Array) -> Pairs:
        """The differences of all pairs of rows."""
        first, second = np.triu_indices(len(rows), 1)
        apart = rows[first] - rows[second]
        numbers, choices = apart[:, list(self.numbers)], apart[:, list(self.choices)]
        return Pairs(np.ascontiguousarray(numbers.T**2), (choices.T != 0).astype(np.float64))

    def diagonal(self, logs: Array) -> float:
        """The kernel of a row with itself: the amplitudes."""
        return float(np.exp(self._amplitudes(logs)).sum())

    def noise(self, logs: Array, rows: Array) -> Array:
        """The variance of the noise at each row."""
        return np.exp(self.grades(rows) @ logs[-1 - self.graded :])

    def grades(self, rows: Array) -> Array:
        """How much each of the noise's logs counts at each row."""
        if not self.graded:
            return np.ones((len(rows), 1))
        share = np.clip(rows[:, -1:], 0.0, 1.0)
        return np.concatenate((1.0 - share, share), axis=1)

    def gram(self, logs: Array, pairs: Pairs) -> Gram:
        """The kernel at all pairs of rows."""
        scales, weights, first, second = self._parts(logs)
        squared = scales**-2 @ pairs.squares
        return self._joined(squared, weights @ pairs.differ, first, second)

    def gradient(self, logs: Array, pairs: Pairs, gram: Gram, weights: Array) -> Array:
        """The sum over all pairs of weight times the kernel's derivative, by all but the noise."""
        scales, hamming, first, second = self._parts(logs)
        other = 1.0 if self.summed or not self.choices else gram.choice
        slope = (first * 5.0 / 3.0) * weights * (1.0 + gram.distance) * gram.decay * other
        by_scale = (pairs.squares @ slope) / scales**2
        share = second if self.summed or not self.numbers else first * gram.numeric
        by_weight = -hamming * (pairs.differ @ (weights * gram.choice * share))
        if self.summed:
            by_amplitude = [first * (weights @ gram.numeric), second * (weights @ gram.choice)]
        else:
            by_amplitude = [weights @ gram.values]
        return np.concatenate((by_scale, by_weight, by_amplitude))

    def cross(self, logs: Array, rows: Array, others: Array) -> Array:
        """The kernel between each of some rows and each of others."""
        scales, weights, first, second = self._parts(logs)
        numbers = list(self.numbers)
        squared = _squared_distances(rows[:, numbers] / scales, others[:, numbers] / scales)
        apart = np.zeros_like(squared)
        for column, weight in zip(self.choices, weights, strict=True):
            apart += weight * (rows[:, column, None] != others[None, :, column])
        return self._joined(squared, apart, first, second).values

    def near(self, logs: Array, row: Array, others: Array) -> tuple[Array, Array]:
        """The kernel between one row and others, and its gradient by the row's numbers."""
        scales, weights, first, second = self._parts(logs)
        numbers, choices = list(self.numbers), list(self.choices)
        apart = (row[numbers] - others[:, numbers]) / scales
        differ = (row[choices] != others[:, choices]).astype(np.float64)
        gram = self._joined((apart * apart).sum(axis=1), differ @ weights, first, second)
        other = 1.0 if self.summed or not self.choices else gram.choice
        slope = (first * -5.0 / 3.0) * (1.0 + gram.distance) * gram.decay * other
        return gram.values, slope[:, None] * (apart / scales)

    def _amplitudes(self, logs: Array) -> Array:
        return logs[len(self.sizes) : -1 - self.graded]

    def _parts(self, logs: Array) -> tuple[Array, Array, float, float]:
        """Length scales, Hamming weights and the two amplitudes."""
        scales = np.exp(logs[: len(self.numbers)])
        weights = np.exp(logs[len(self.numbers) : len(self.sizes)])
        first, *rest = np.exp(self._amplitudes(logs)).tolist()
        if not self.numbers:
            return scales, weights, 0.0, first
        return scales, weights, first, rest[0] if rest else 0.0

    def _joined(self, squared: Array, apart: Array, first: float, second: float) -> Gram:
        distance = np.sqrt(5.0 * squared)
        decay = np.exp(-distance)
        numeric = (1.0 + distance + squared * (5.0 / 3.0)) * decay
        choice = np.exp(-apart)
        if self.summed:
            values = first * numeric + second * choice
        elif self.choices:
            values = (first or second) * choice * (numeric if self.numbers else 1.0)
        else:
            values = first * numeric
        return Gram(values, numeric, decay, distance, choice)


def _squared_distances(rows: Array, others: Array) -> Array:
    """Between each of some rows and each of others, by differences: near rows keep their digits."""
    squared = np.zeros((len(rows), len(others)))
    apart = np.empty_like(squared)
    for ours, theirs in zip(rows.T, others.T, strict=True):
        np.subtract(ours[:, None], theirs, out=apart)
        apart *= apart
        squared += apart
    return squared
