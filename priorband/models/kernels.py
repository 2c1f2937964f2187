"""Kernels over rows of numbers and choices: Matern-5/2 on numbers, weighted Hamming on choices.

    k_num(x, x') = (1 + r + r^2/3) exp(-r),   r^2 = 5 sum_i ((x_i - x'_i) / l_i)^2
    k_cat(x, x') = exp(-sum_j t_j [x_j != x'_j])

The two are combined as a sum, a k_num + b k_cat, or as a product, a k_num k_cat. The variance of
the noise is v everywhere, or, if it is graded, v^(1-u) w^u, where u is the last column, a fidelity.
All parameters are positive and stored as logs: first the l, then the t, then a (and b), then v (and
w).
"""

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from priorband.values import derived, frozen, settle

Array = NDArray[np.float64]


class Pairs(NamedTuple):
    """The differences between all pairs of rows, i before j."""

    squares: Array
    """Squared differences of numbers: a row for each number, a column for each pair."""
    differ: Array
    """1 where choices differ, else 0: a row for each categorical, a column for each pair."""


class Gram(NamedTuple):
    """The kernel's values at all pairs, and intermediate results that its gradient needs."""

    values: Array
    numeric: Array
    """k_num."""
    decay: Array
    """exp(-r), which is slow to compute."""
    distance: Array
    """r."""
    choice: Array
    """k_cat."""


@final
@frozen
class Kernel:
    """A kernel for rows of numbers and choices.

    Args:
        sizes: For each column the number of its choices, or None for a number.
        product: Whether to combine numbers and choices as a product instead of a sum.
        graded: Whether the noise changes with the last column.

    Example:
        >>> kernel = Kernel((None, None, 3))
        >>> kernel.names
        ('l0', 'l1', 't2', 'a', 'b', 'v')
    """

    sizes: tuple[int | None, ...]
    product: bool = False
    graded: bool = False
    numbers: tuple[int, ...] = derived()
    """The columns that are numbers."""
    choices: tuple[int, ...] = derived()
    """The columns that are choices."""

    def __post_init__(self) -> None:
        numbers = tuple(i for i, size in enumerate(self.sizes) if size is None)
        choices = tuple(i for i, size in enumerate(self.sizes) if size is not None)
        settle(self, numbers=numbers, choices=choices)

    @property
    def summed(self) -> bool:
        """Whether there are two amplitudes: a sum with both kinds of columns."""
        return bool(self.numbers and self.choices) and not self.product

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in order."""
        scales = [f"l{i}" for i in self.numbers] + [f"t{j}" for j in self.choices]
        return *scales, *("ab" if self.summed else "a"), *("vw" if self.graded else "v")

    def pairs(self, rows: Array) -> Pairs:
        """Return the differences between all pairs of rows."""
        first, second = np.triu_indices(len(rows), 1)
        apart = rows[first] - rows[second]
        numbers, choices = apart[:, list(self.numbers)], apart[:, list(self.choices)]
        return Pairs(np.ascontiguousarray(numbers.T**2), (choices.T != 0).astype(np.float64))

    def diagonal(self, logs: Array) -> float:
        """Return the kernel of a row with itself: the sum of the amplitudes."""
        return float(np.exp(self._amplitudes(logs)).sum())

    def noise(self, logs: Array, rows: Array) -> Array:
        """Return the variance of the noise at each row."""
        return np.exp(self.grades(rows) @ logs[-1 - self.graded :])

    def grades(self, rows: Array) -> Array:
        """Return the weight of each of the noise's log parameters at each row."""
        if not self.graded:
            return np.ones((len(rows), 1))
        share = np.clip(rows[:, -1:], 0.0, 1.0)
        return np.concatenate((1.0 - share, share), axis=1)

    def gram(self, logs: Array, pairs: Pairs) -> Gram:
        """Return the kernel at all pairs of rows."""
        scales, weights, first, second = self._parts(logs)
        squared = scales**-2 @ pairs.squares
        return self._joined(squared, weights @ pairs.differ, first, second)

    def gradient(self, logs: Array, pairs: Pairs, gram: Gram, weights: Array) -> Array:
        """Return the kernel's derivatives by all parameters except noise, summed over pairs.

        Each pair counts with its weight.
        """
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
        """Return the kernel between each row and each of the others, as a matrix."""
        scales, weights, first, second = self._parts(logs)
        numbers = list(self.numbers)
        squared = _squared_distances(rows[:, numbers] / scales, others[:, numbers] / scales)
        apart = np.zeros_like(squared)
        for column, weight in zip(self.choices, weights, strict=True):
            apart += weight * (rows[:, column, None] != others[None, :, column])
        return self._joined(squared, apart, first, second).values

    def near(self, logs: Array, row: Array, others: Array) -> tuple[Array, Array]:
        """Return the kernel between one row and others, and its gradient by the row's numbers."""
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
        """Return length scales, Hamming weights and the two amplitudes."""
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
    """Return squared distances between each row and each of the others.

    They are sums of squared differences, which stay exact for rows that are close together.
    """
    squared = np.zeros((len(rows), len(others)))
    apart = np.empty_like(squared)
    for ours, theirs in zip(rows.T, others.T, strict=True):
        np.subtract(ours[:, None], theirs, out=apart)
        apart *= apart
        squared += apart
    return squared
