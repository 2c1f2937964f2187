"""The parameters of a Gaussian process that explain its data best: maximum marginal likelihood.

A few starts are compared by their likelihood, the best of them climbed from (L-BFGS-B, analytic
gradients). Targets are taken as standardised, so that the bounds mean something.
"""

import numpy as np
from scipy.optimize import minimize

from priorband.models.gp import Data, likelihood
from priorband.models.kernels import Array, Kernel

SCALES = (0.02, 30.0)
"""Length scales in units of the box: below it nothing could be learned, above it is flat."""
WEIGHTS = (1e-3, 10.0)
AMPLITUDES = (1e-3, 100.0)
NOISE = (1e-6, 1.0)

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
    kinds = {"l": SCALES, "t": WEIGHTS, "a": AMPLITUDES, "b": AMPLITUDES, "v": NOISE, "w": NOISE}
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

    begun = sorted((loss(logs)[0], place) for place, logs in enumerate(starts(data.kernel)))
    best, place = begun[0]
    logs = starts(data.kernel)[place]
    if np.ptp(data.targets) == 0.0:
        return np.asarray(logs, dtype=np.float64)  # nothing to explain
    for _, place in begun[:restarts]:
        found = minimize(
            *(loss, starts(data.kernel)[place]),
            jac=True,
            bounds=bounds(data.kernel),
            method="L-BFGS-B",
            options={"maxiter": steps, "ftol": tolerance},
        )
        if found.fun < best:
            best, logs = float(found.fun), found.x
    return np.asarray(logs, dtype=np.float64)
