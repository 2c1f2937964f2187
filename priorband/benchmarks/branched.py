"""A benchmark with conditional structure: which parameters matter depends on a choice.

The choice `branch` selects one of four functions. Each is a three-dimensional multi-fidelity
Hartmann function of parameters of its own, with the axes in another order and direction, so that
its optimum is elsewhere, and with a constant added: the branches differ in how good they can be.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any, final

import numpy as np

from priorband.benchmarks.base import Array, Configs
from priorband.benchmarks.hartmann import Hartmann
from priorband.errors import SpaceError
from priorband.fidelity import Fidelity
from priorband.space.base import Parameter
from priorband.space.choices import Categorical
from priorband.space.config import Config
from priorband.space.parameters import Float
from priorband.space.space import Space
from priorband.values import frozen

BRANCHES = {
    # by name: the constant that is added, the order of the axes, and which of them are reversed
    "a": (1.0, (0, 1, 2), (False, False, False)),
    "b": (0.5, (1, 2, 0), (True, False, False)),
    "c": (0.0, (2, 0, 1), (False, True, False)),
    "d": (1.5, (0, 2, 1), (True, True, True)),
}
BEST = "c"
_DIMENSIONS = range(3)


@final
@frozen
class BranchedHartmann:
    """Four Hartmann functions, one of which a choice selects, with fidelities from 3 to 100.

    Args:
        correlation: How well low fidelities predict the loss at 100: "good", "moderate", "bad" or
            "terrible".
        seed: The seed of the noise at low fidelities.
        flat: Whether the space is flattened: all parameters are in every configuration, and those
            of the branches that are not selected have no effect. For comparison.

    Raises:
        SpaceError: If an argument has another value.

    Example:
        >>> from priorband.benchmarks import BranchedHartmann
        >>> bench = BranchedHartmann()
        >>> config, loss = bench.optimum
        >>> sorted(config), round(bench.evaluate(config, 100) - loss, 12)
        (['branch', 'c_x0', 'c_x1', 'c_x2'], 0.0)
    """

    correlation: str = "good"
    seed: int = 0
    flat: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.flat, bool):
            raise SpaceError(f"`flat` must be True or False, got {self.flat!r}.")
        _ = self._function

    @property
    def space(self) -> Space:
        """The choice of a branch, and three numbers for each branch."""
        parameters: dict[str, Parameter] = {"branch": Categorical(list(BRANCHES))}
        for branch, i in product(BRANCHES, _DIMENSIONS):
            when = None if self.flat else {"branch": branch}
            parameters[f"{branch}_x{i}"] = Float(0.0, 1.0, when=when)
        return Space(parameters)

    @property
    def fidelity(self) -> Fidelity:
        """The integers z from 3 to 100."""
        return self._function.fidelity

    @property
    def optimum(self) -> tuple[Config, float]:
        """The minimum at z = 100, and its loss."""
        config = self.branch_optimum(BEST)
        return config, self.exact(config, 100)

    def branch_optimum(self, branch: str) -> Config:
        """The best configuration of one branch; of a flattened space, the best of all others too.

        Args:
            branch: The name of the branch.
        """
        values: dict[str, Any] = {"branch": branch}
        best, _ = self._function.optimum
        for name, (_, order, reverse) in BRANCHES.items():
            if self.flat or name == branch:
                for i in _DIMENSIONS:
                    value = best[f"x{order.index(i)}"]
                    values[f"{name}_x{i}"] = 1.0 - value if reverse[order.index(i)] else value
        return self.space.check(values)

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """The loss with noise, which only depends on seed, active parameters and fidelity."""
        offset, point = self._branch(config)
        return offset + self._function.evaluate(point, fidelity)

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The losses of several configurations, with noise."""
        return np.array([self.evaluate(config, fidelity) for config in configs])

    def exact(self, config: Mapping[str, Any], fidelity: float) -> float:
        """The loss without noise."""
        offset, point = self._branch(config)
        return offset + self._function.exact(point, fidelity)

    @property
    def _function(self) -> Hartmann:
        return Hartmann(3, self.correlation, self.seed)

    def _branch(self, config: Mapping[str, Any]) -> tuple[float, Config]:
        """What is added in a configuration's branch, and the point of the Hartmann function."""
        name = config["branch"]
        offset, order, reverse = BRANCHES[name]
        values = [config[f"{name}_x{i}"] for i in order]
        turned = [1.0 - v if back else v for v, back in zip(values, reverse, strict=True)]
        return offset, Config((f"x{i}", value) for i, value in enumerate(turned))
