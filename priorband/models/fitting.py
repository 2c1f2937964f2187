"""Fit the parameters of a Gaussian process by maximum marginal likelihood.

A few fixed starting points are compared by their likelihood. L-BFGS-B with analytic gradients runs
a few steps from the best of them, and then continues from the best result only. Targets must be
standardised: the bounds of the parameters assume it.
"""

import numpy as np
from scipy.optimize import minimize

from priorband.models.gp import Data, likelihood
from priorband.models.kernels import Array, Kernel

SCALES = (0.1, 30.0)
"""Bounds of the length scales, where 1 is the whole range of a parameter.

With few full trainings nothing shorter than 0.1 can be learned, and a process with very short
length scales only explores the corners. Above 30 the function is flat.
"""
GRADED_SCALES = (0.02, 30.0)
"""Bounds of the length scales of a joint model of all fidelities, which has more results."""
WEIGHTS = (1e-3, 10.0)
AMPLITUDES = (1e-3, 100.0)
NOISE = (1e-6, 1.0)

RACE = 10
"""After this many steps, only the best run continues."""

_STARTS = (
    # length scale divided by the square root of the dimensions, Hamming weight, noise
    (0.3, 0.5, 1e-2),
    (0.3, 0.5, 1e-4),
    (1.0, 0.2, 1e-2),
    (1.0, 0.2, 1e-4),
    (0.1, 1.0, 1e-3),
    (3.0, 0.1, 1e-3),
)


def bounds(kernel: Kernel) -> Array:
    """Return the lower and the upper bound of the log of each parameter."""
    scales = GRADED_SCALES if kernel.graded else SCALES
    kinds = {"l": scales, "t": WEIGHTS, "a": AMPLITUDES, "b": AMPLITUDES, "v": NOISE, "w": NOISE}
    return np.log([kinds[name[0]] for name in kernel.names])


def starts(kernel: Kernel) -> Array:
    """Return the starting points of the search, as logs of the parameters."""
    root, amplitude = max(len(kernel.numbers), 1) ** 0.5, 1.0 / (1 + kernel.summed)
    points = []
    for scale, weight, noise in _STARTS:
        kinds = {"l": scale * root, "t": weight, "v": noise, "w": noise}
        points.append([kinds.get(name[0], amplitude) for name in kernel.names])
    return np.clip(np.log(points), *bounds(kernel).T)


def fit(data: Data, restarts: int = 2, steps: int = 50, tolerance: float = 1e-9) -> Array:
    """Return the logs of the parameters with the highest likelihood.

    Args:
        data: The rows and standardised targets.
        restarts: The number of starting points to run L-BFGS-B from.
        steps: The maximum number of steps of the final run.
        tolerance: A run stops when a step improves the likelihood by less than this, relatively.
    """

    def loss(logs: Array) -> tuple[float, Array]:
        value, gradient = likelihood(data, logs)
        return -value, -gradient

    def climb(start: Array, max_steps: int) -> tuple[float, Array]:
        result = minimize(
            *(loss, start),
            jac=True,
            bounds=bounds(data.kernel),
            method="L-BFGS-B",
            options={"maxiter": max_steps, "ftol": tolerance},
        )
        return float(result.fun), np.asarray(result.x, dtype=np.float64)

    points = sorted((loss(logs)[0], logs.tolist()) for logs in starts(data.kernel))
    first = np.array(points[0][1])
    if np.ptp(data.targets) == 0.0:
        return first  # all targets are equal: nothing to fit
    raced = [climb(np.array(logs), RACE) for _, logs in points[:restarts]]
    best, logs = min(raced, key=lambda run: run[0])
    final = climb(logs, steps)
    return min((points[0][0], first), (best, logs), final, key=lambda run: run[0])[1]
