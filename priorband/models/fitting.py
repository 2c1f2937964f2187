"""The parameters of a Gaussian process that explain its data best: maximum marginal likelihood.

A few starts are compared by their likelihood, the best of them climbed from (L-BFGS-B, analytic
gradients), and the highest climb after some steps goes on to the end. Targets are taken as
standardised, so that the bounds mean something.
"""

import numpy as np
from scipy.optimize import minimize

from priorband.models.gp import Data, likelihood
from priorband.models.kernels import Array, Kernel

SCALES = (0.1, 30.0)
"""Length scales in units of the box: with few full trainings nothing shorter can be learned, and a
process that believes in it looks for the best in the corners. Above, the function is flat."""
GRADED_SCALES = (0.02, 30.0)
"""The same where results of all fidelities are taken together, and are many."""
WEIGHTS = (1e-3, 10.0)
AMPLITUDES = (1e-3, 100.0)
NOISE = (1e-6, 1.0)

RACE = 10
"""After so many steps, only the climb that is highest goes on."""

_STARTS = (
    # length scale by the root of the dimensions, Hamming weight, noise
    (0.3, 0.5, 1e-2),
    (0.3, 0.5, 1e-4),
    (1.0, 0.2, 1e-2),
    (1.0, 0.2, 1e-4),
    (0.1, 1.0, 1e-3),
    (3.0, 0.1, 1e-3),
)


def bounds(kernel: Kernel) -> Array:
    """The least and the greatest log of each parameter."""
    scales = GRADED_SCALES if kernel.graded else SCALES
    kinds = {"l": scales, "t": WEIGHTS, "a": AMPLITUDES, "b": AMPLITUDES, "v": NOISE, "w": NOISE}
    return np.log([kinds[name[0]] for name in kernel.names])


def starts(kernel: Kernel) -> Array:
    """Where the search for parameters may begin, in logs."""
    root, amplitude = max(len(kernel.numbers), 1) ** 0.5, 1.0 / (1 + kernel.summed)
    found = []
    for scale, weight, noise in _STARTS:
        kinds = {"l": scale * root, "t": weight, "v": noise, "w": noise}
        found.append([kinds.get(name[0], amplitude) for name in kernel.names])
    return np.clip(np.log(found), *bounds(kernel).T)


def fit(data: Data, restarts: int = 2, steps: int = 50, tolerance: float = 1e-9) -> Array:
    """The log parameters with the highest likelihood that was found.

    A climb ends after so many steps, or when one gains less than the tolerance, relatively.
    """

    def loss(logs: Array) -> tuple[float, Array]:
        value, gradient = likelihood(data, logs)
        return -value, -gradient

    def climbed(start: Array, most: int) -> tuple[float, Array]:
        found = minimize(
            *(loss, start),
            jac=True,
            bounds=bounds(data.kernel),
            method="L-BFGS-B",
            options={"maxiter": most, "ftol": tolerance},
        )
        return float(found.fun), np.asarray(found.x, dtype=np.float64)

    begun = sorted((loss(logs)[0], logs.tolist()) for logs in starts(data.kernel))
    first = np.array(begun[0][1])
    if np.ptp(data.targets) == 0.0:
        return first  # nothing to explain
    tried = [climbed(np.array(logs), RACE) for _, logs in begun[:restarts]]
    best, logs = min(tried, key=lambda found: found[0])
    return min(
        (begun[0][0], first), (best, logs), climbed(logs, steps), key=lambda found: found[0]
    )[1]
