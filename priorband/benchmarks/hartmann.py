"""Multi-fidelity Hartmann functions in three and six dimensions.

    g(x, z) = - sum_i (alpha_i - b (1 - zhat)) exp(- sum_j A_ij (x_j - P_ij)^2) + |e| s (1 - zhat)

with zhat = log z / log 100. Low fidelities are biased by `b` and have half-normal noise of scale
`s`, which can only raise the loss; z = 100 is exact. The larger `b` and `s`, the less the losses at
low fidelities say about those at z = 100.
"""

import math
import struct
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, final

import numpy as np

from priorband.benchmarks.base import Array, Configs
from priorband.errors import SpaceError, suggestion
from priorband.fidelity import Fidelity
from priorband.numeric import whole
from priorband.space import normal
from priorband.space.config import Config
from priorband.space.parameters import Float
from priorband.space.space import Space
from priorband.values import frozen

CORRELATIONS = {
    "good": (2.5, 2.0),
    "moderate": (3.0, 3.0),
    "bad": (3.5, 4.0),
    "terrible": (4.0, 5.0),
}
"""Bias `b` and noise `s`. What the paper calls "bad correlation" is "terrible" in its code."""

_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_A = {
    3: [[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]],
    6: [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ],
}
_P = {
    3: [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]],
    6: [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ],
}
_OPTIMUM = {
    3: (0.114614, 0.555649, 0.852547),
    6: (0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573),
}
_CENTRES = {
    (3, "good"): (0.04154300161125146, 0.5609019278138103, 0.97447101011777),
    (3, "bad"): (0.948113477702668, 0.9928311467567525, 0.01720182551910554),
    (6, "good"): (
        *(0.3154000799605725, 0.6004901988484934, 0.4032154562465201),
        *(0.2693617148817701, 0.329070902100713, 0.5193185906385807),
    ),
    (6, "bad"): (
        *(0.8898550169655478, 0.7108501444640879, 0.020121114137669482),
        *(0.9493659283687782, 0.934022255307976, 0.9719539494692392),
    ),
}


@final
@frozen
class Hartmann:
    """A multi-fidelity Hartmann function, with fidelities from 3 to 100.

    Args:
        dimensions: The number of parameters, 3 or 6.
        correlation: How well low fidelities predict the loss at 100: "good", "moderate", "bad" or
            "terrible".
        seed: The seed of the noise at low fidelities.

    Raises:
        SpaceError: If an argument has another value.

    Example:
        >>> from priorband.benchmarks import Hartmann
        >>> bench = Hartmann(3, correlation="good")
        >>> config, loss = bench.optimum
        >>> round(bench.evaluate(config, 100) - loss, 12)
        0.0
    """

    dimensions: int = 3
    correlation: str = "good"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dimensions not in (3, 6):
            raise SpaceError(f"`dimensions` must be 3 or 6, got {self.dimensions!r}.")
        if not whole(self.seed) or abs(self.seed) >= 2**63:
            raise SpaceError(f"`seed` must be an integer of at most 64 bits, got {self.seed!r}.")
        if self.correlation not in CORRELATIONS:
            raise SpaceError(
                f"Unknown correlation {self.correlation!r}. "
                + suggestion(self.correlation, CORRELATIONS)
            )

    @property
    def space(self) -> Space:
        """The unit cube."""
        return Space({f"x{i}": Float(0.0, 1.0) for i in range(self.dimensions)})

    @property
    def fidelity(self) -> Fidelity:
        """The integers z from 3 to 100."""
        return Fidelity("z", 3, 100)

    @property
    def optimum(self) -> tuple[Config, float]:
        """The minimum at z = 100, and its loss."""
        config = self._config(_OPTIMUM[self.dimensions])
        return config, self.exact(config, 100)

    def centre(self, quality: str) -> Config | None:
        """The centre of the paper's "good" or "bad" prior; None for other qualities."""
        centre = _CENTRES.get((self.dimensions, quality))
        return None if centre is None else self._config(centre)

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """The loss with noise, which only depends on seed, configuration and fidelity."""
        _, noise = CORRELATIONS[self.correlation]
        scale = noise * (1.0 - _zhat(fidelity))
        return self.exact(config, fidelity) + scale * self._half_normal(config, fidelity)

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The losses of several configurations, with noise."""
        return np.array([self.evaluate(config, fidelity) for config in configs])

    def exact(self, config: Mapping[str, Any], fidelity: float) -> float:
        """The loss without noise."""
        bias, _ = CORRELATIONS[self.correlation]
        alpha = _ALPHA - bias * (1.0 - _zhat(fidelity))
        bumps = np.exp(-((self._point(config) - self._peaks) ** 2 * self._widths).sum(axis=1))
        return float(-(alpha @ bumps))

    @property
    def _widths(self) -> Array:
        return np.array(_A[self.dimensions], dtype=np.float64)

    @property
    def _peaks(self) -> Array:
        return 1e-4 * np.array(_P[self.dimensions], dtype=np.float64)

    def _config(self, values: tuple[float, ...]) -> Config:
        return Config((f"x{i}", value) for i, value in enumerate(values))

    def _point(self, config: Mapping[str, Any]) -> Array:
        return np.array([config[f"x{i}"] for i in range(self.dimensions)], dtype=np.float64)

    def _half_normal(self, config: Mapping[str, Any], fidelity: float) -> float:
        point = self._point(config).tolist()
        key = struct.pack(f"<q{len(point) + 1}d", self.seed, float(fidelity), *point)
        number = int.from_bytes(blake2b(key, digest_size=8).digest(), "little")
        return abs(normal.quantile((number + 0.5) / 2**64, 0.0, 1.0))


def _zhat(fidelity: float) -> float:
    return math.log(fidelity) / math.log(100.0)
