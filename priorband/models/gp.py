"""An exact Gaussian process with a constant mean and learned noise, for a few hundred rows.

The mean maximises the likelihood given the other parameters. It has a closed form, and does not
contribute to the gradient with respect to the others.
"""

from functools import lru_cache
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from priorband.models.kernels import Array, Kernel, Pairs, Placed
from priorband.values import frozen

FIRST_JITTER = 1e-10
MAX_JITTER = 1e-1


@lru_cache(maxsize=8)
def _pair_indices(rows: int) -> NDArray[np.intp]:
    """The indices of the pairs of rows in a flattened square matrix, above its diagonal."""
    first, second = np.triu_indices(rows, 1)
    return np.asarray(first * rows + second, dtype=np.intp)


def factor(values: Array, diagonal: Array) -> Array:
    """Return the lower Cholesky factor of a matrix given by its pairs and its diagonal.

    If rounding has made the matrix indefinite, the diagonal is increased by as little as needed.

    Raises:
        LinAlgError: If the matrix has entries that are not finite, or is far from positive
            definite.
    """
    rows, jitter = len(diagonal), 0.0
    if not np.isfinite(values.sum() + diagonal.sum()):
        raise np.linalg.LinAlgError("The kernel's matrix has entries that are not finite.")
    while True:
        square = np.zeros((rows, rows))
        flat = square.reshape(-1)
        flat[_pair_indices(rows)] = values
        flat[:: rows + 1] = diagonal * (1.0 + jitter)
        lower, failed = lapack.dpotrf(square.T, lower=1, overwrite_a=1, clean=1)
        if not failed:
            return np.asarray(lower, dtype=np.float64)
        jitter = max(FIRST_JITTER, jitter * 10.0)
        if jitter > MAX_JITTER:
            raise np.linalg.LinAlgError("The kernel's matrix is not positive definite.")


def solve(lower: Array, right: Array) -> Array:
    """Solve a linear system, given the lower Cholesky factor of its matrix."""
    return np.asarray(lapack.dpotrs(lower, right, lower=1)[0], dtype=np.float64)


def _residuals(lower: Array, targets: Array, mean: float | None) -> tuple[float, Array]:
    """Return the mean and the solved residuals; without a mean, use the most likely one."""
    if mean is not None:
        return mean, solve(lower, targets - mean)
    solved = solve(lower, np.stack((targets, np.ones_like(targets)), axis=1))
    mean = float(solved[:, 0].sum() / solved[:, 1].sum())
    return mean, solved[:, 0] - mean * solved[:, 1]


@final
@frozen
class Data:
    """Rows and targets, and the differences between all pairs of rows."""

    kernel: Kernel
    rows: Array
    targets: Array
    pairs: Pairs
    grades: Array

    @staticmethod
    def of(kernel: Kernel, rows: Array, targets: Array) -> "Data":
        """Compute once what the likelihood under a kernel needs."""
        return Data(kernel, rows, targets, kernel.pairs(rows), kernel.grades(rows))


def likelihood(data: Data, logs: Array, mean: float | None = None) -> tuple[float, Array]:
    """Return the log marginal likelihood and its gradient; without a mean, at the best one."""
    kernel, targets, rows = data.kernel, data.targets, len(data.targets)
    first_noise = len(logs) - data.grades.shape[1]
    noise = np.exp(data.grades @ logs[first_noise:])
    gram = kernel.gram(logs, data.pairs)
    lower = factor(gram.values, kernel.diagonal(logs) + noise)
    mean, solved = _residuals(lower, targets, mean)
    fit = float((targets - mean) @ solved)
    log_root = float(np.log(np.diagonal(lower)).sum())
    value = -0.5 * (fit + rows * np.log(2.0 * np.pi)) - log_root

    inverse = np.asarray(lapack.dpotri(lower, lower=1, overwrite_c=1)[0]).T
    weights = (solved[:, None] * solved - inverse).reshape(-1)[_pair_indices(rows)]
    halves = 0.5 * (solved * solved - np.diagonal(inverse))
    gradient = np.empty(len(logs))
    gradient[:first_noise] = kernel.gradient(logs, data.pairs, gram, weights)
    amplitudes = slice(len(kernel.sizes), first_noise)
    gradient[amplitudes] += halves.sum() * np.exp(logs[amplitudes])
    gradient[first_noise:] = (halves * noise) @ data.grades
    return value, gradient


class Posterior(NamedTuple):
    """The mean and the variance of the function at some rows, without noise."""

    mean: Array
    variance: Array


@final
@frozen
class GP:
    """A Gaussian process conditioned on data, with known parameters."""

    kernel: Kernel
    logs: Array
    rows: Array
    targets: Array
    mean: float
    lower: Array
    solved: Array
    placed: Placed

    @staticmethod
    def conditioned(
        kernel: Kernel, logs: Array, rows: Array, targets: Array, mean: float | None = None
    ) -> "GP":
        """Condition a process on data.

        Args:
            kernel: The kernel.
            logs: The logs of the kernel's parameters.
            rows: The rows of the data.
            targets: The target of each row.
            mean: The constant mean; by default the most likely one.
        """
        values = kernel.gram(logs, kernel.pairs(rows)).values
        lower = factor(values, kernel.diagonal(logs) + kernel.noise(logs, rows))
        mean, solved = _residuals(lower, targets, mean)
        return GP(kernel, logs, rows, targets, mean, lower, solved, kernel.placed(rows))

    def with_pending(self, rows: Array) -> "GP":
        """Return the process as if its own predictions had been observed at further rows.

        This is how running trials are taken into account.
        """
        if not len(rows):
            return self
        targets = np.concatenate((self.targets, self.predict(rows).mean))
        joined = np.concatenate((self.rows, rows))
        return GP.conditioned(self.kernel, self.logs, joined, targets, self.mean)

    def predict(self, rows: Array) -> Posterior:
        """Return the posterior mean and variance at each row."""
        cross = self.kernel.cross(self.logs, rows, self.placed)
        mean = self.mean + cross @ self.solved
        reduced = lapack.dtrtrs(self.lower, cross.T, lower=1)[0]
        reduced *= reduced
        variance = self.kernel.diagonal(self.logs) - reduced.sum(axis=0)
        return Posterior(mean, np.maximum(variance, self._least))

    def slope(self, row: Array) -> tuple[float, float, Array, Array]:
        """Return mean and variance at one row, and their gradients by the row's numbers."""
        near, jacobian = self.kernel.near(self.logs, row, self.placed)
        pull = solve(self.lower, near)
        variance = self.kernel.diagonal(self.logs) - float(near @ pull)
        by_variance = -2.0 * (pull @ jacobian)
        mean = self.mean + float(near @ self.solved)
        return mean, max(variance, self._least), self.solved @ jacobian, by_variance

    @property
    def _least(self) -> float:
        """The smallest variance that is not just rounding error."""
        return 1e-12 * self.kernel.diagonal(self.logs)
