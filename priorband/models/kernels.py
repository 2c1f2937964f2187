"""Kernels over rows of numbers and choices: Matern-5/2 on numbers, weighted Hamming on choices.

    k_num(x, x') = (1 + r + r^2/3) exp(-r),   r^2 = 5 sum_i ((x_i - x'_i) / l_i)^2
    k_cat(x, x') = exp(-sum_j t_j [x_j != x'_j])

The two are combined as a sum, a k_num + b k_cat, or as a product, a k_num k_cat. The variance of
the noise is v everywhere, or, if it is graded, v^(1-u) w^u, where u is the last column, a fidelity.
All parameters are positive and stored as logs: first the l, then the t, then a (and b), then v (and
w).

In some columns an entry may be inactive: NaN in its place, which nothing reads. A number in such a
column is put on an arc: an active x becomes the point (cos x, sin x), an inactive one the arc's
centre, (0, 0). So its share of the sum in r^2, times l^2, is

    4 sin((x - x') / 2)^2    if both are active, which is 0.92 to 1 times (x - x')^2,
    1                        if one of them is,
    0                        if none is.

It is a distance between points, so the kernel stays positive semidefinite, and l scales all three
cases. For a choice, being inactive is one more choice. The idea is from Swersky et al., "Raiders of
the Lost Architecture" (2014, arXiv:1409.4011), whose arcs also have a radius and an angle to learn.
"""

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from priorband.values import derived, frozen, settle

Array = NDArray[np.float64]


class Placed(NamedTuple):
    """Rows in the form in which they are compared."""

    points: Array
    """The numbers; those that may be inactive as cosines, with their sines in further columns."""
    codes: Array
    """The choices, with -1 in place of those that are inactive."""


class Pairs(NamedTuple):
    """The differences between all pairs of rows, i before j."""

    squares: Array
    """Squared differences of numbers: a row for each number, a column for each pair.

    In columns whose entries may be inactive, they are squared distances of points.
    """
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
        optional: The columns whose entries may be inactive, which is NaN. With graded noise, the
            last column must not be one of them.

    Example:
        >>> kernel = Kernel((None, None, 3))
        >>> kernel.names
        ('l0', 'l1', 't2', 'a', 'b', 'v')
    """

    sizes: tuple[int | None, ...]
    product: bool = False
    graded: bool = False
    optional: tuple[int, ...] = ()
    numbers: tuple[int, ...] = derived()
    """The columns that are numbers."""
    choices: tuple[int, ...] = derived()
    """The columns that are choices."""
    arcs: tuple[int, ...] = derived()
    """The places among the numbers of those that may be inactive."""

    def __post_init__(self) -> None:
        numbers = tuple(i for i, size in enumerate(self.sizes) if size is None)
        choices = tuple(i for i, size in enumerate(self.sizes) if size is not None)
        arcs = tuple(place for place, i in enumerate(numbers) if i in self.optional)
        settle(self, numbers=numbers, choices=choices, arcs=arcs)

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
        points, codes = self.placed(rows)
        squares = np.ascontiguousarray((points[first] - points[second]).T ** 2)
        if self.arcs:
            squares[list(self.arcs)] += squares[len(self.numbers) :]
            squares = squares[: len(self.numbers)]
        differ = np.ascontiguousarray((codes[first] != codes[second]).T)
        return Pairs(squares, differ.astype(np.float64))

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

    def cross(self, logs: Array, rows: Array, others: Array | Placed) -> Array:
        """Return the kernel between each row and each of the others, as a matrix."""
        scales, weights, first, second = self._parts(logs)
        spread = self._spread(scales)
        ours, theirs = self.placed(rows), self.placed(others)
        squared = _squared_distances(ours.points / spread, theirs.points / spread)
        apart = np.zeros_like(squared)
        for place, weight in enumerate(weights):
            apart += weight * (ours.codes[:, place, None] != theirs.codes[:, place])
        return self._joined(squared, apart, first, second).values

    def near(self, logs: Array, row: Array, others: Array | Placed) -> tuple[Array, Array]:
        """Return the kernel between one row and others, and its gradient by the row's numbers.

        The gradient by an inactive number is 0.
        """
        scales, weights, first, second = self._parts(logs)
        points, codes = self.placed(others)
        point, code = self._point(row), self._code(row)
        apart = (point - points) / self._spread(scales)
        differ = (code != codes).astype(np.float64)
        gram = self._joined((apart * apart).sum(axis=1), differ @ weights, first, second)
        other = 1.0 if self.summed or not self.choices else gram.choice
        slope = (first * -5.0 / 3.0) * (1.0 + gram.distance) * gram.decay * other
        pull = apart[:, : len(scales)] / scales
        if self.arcs:
            self._turn(pull, point, points, scales)
        return gram.values, slope[:, None] * pull

    def placed(self, rows: Array | Placed) -> Placed:
        """Return rows in the form in which they are compared, to save time if it is often."""
        if isinstance(rows, Placed):
            return rows
        return Placed(self._point(rows), self._code(rows))

    def _point(self, rows: Array) -> Array:
        """The coordinates of the numbers of one row, or of several."""
        point = rows[..., list(self.numbers)]
        if not self.arcs:
            return point
        arcs = list(self.arcs)
        angles = point[..., arcs]
        inactive = np.isnan(angles)
        angles[inactive] = 0.0
        cosines = np.cos(angles)
        cosines[inactive] = 0.0
        point[..., arcs] = cosines
        return np.concatenate((point, np.sin(angles)), axis=-1)

    def _code(self, rows: Array) -> Array:
        """The choices of one row, or of several."""
        code = rows[..., list(self.choices)]
        if self.optional:
            code[np.isnan(code)] = -1.0
        return code

    def _spread(self, scales: Array) -> Array:
        """The length scale of each coordinate of a point."""
        return np.concatenate((scales, scales[list(self.arcs)])) if self.arcs else scales

    def _turn(self, pull: Array, point: Array, points: Array, scales: Array) -> None:
        """Replace the gradients by cosines with those by angles, which also change the sines."""
        arcs, count = list(self.arcs), len(scales)
        sines = point[count:] * points[:, arcs] - point[arcs] * points[:, count:]
        pull[:, arcs] = sines / scales[arcs] ** 2

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
