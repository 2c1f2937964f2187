"""A benchmark whose trainings fail in a part of its space."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from priorband.benchmarks.hartmann import Hartmann
from priorband.fidelity import Fidelity
from priorband.space.space import Space


@final
class HalfFailing:
    """A Hartmann function of three numbers on which long trainings fail if x0 > 0.5.

    Args:
        beyond: The highest fidelity at which they do not.
    """

    optimum = None

    def __init__(self, beyond: float = 50) -> None:
        self._function = Hartmann(3)
        self._beyond = beyond
        self.space: Space = self._function.space
        self.fidelity: Fidelity = self._function.fidelity

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """The loss; nan if the training fails."""
        failed = config["x0"] > 0.5 and fidelity > self._beyond
        return math.nan if failed else self._function.evaluate(config, fidelity)

    def evaluate_many(self, configs: Sequence[Mapping[str, Any]], fidelity: Any) -> Any:
        """The losses of several configurations."""
        return np.array([self.evaluate(config, fidelity) for config in configs])
