"""The protocol that every benchmark follows: a space, a fidelity, and a loss per configuration."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from priorband.fidelity import Fidelity
from priorband.space.config import Config
from priorband.space.space import Space

Array = NDArray[np.float64]
Configs = Sequence[Mapping[str, Any]]


class Benchmark(Protocol):
    """A tuning problem that answers with a loss at once, without training anything.

    To add a benchmark, write a class with the five members below. It needs no base class. Three
    rules apply:

    - The same configuration and fidelity always have the same loss.
    - `evaluate_many` returns what `evaluate` returns for each configuration, in order.
    - A failed training has the loss nan.

    A benchmark that is to run in several processes must also be picklable.

    Example:
        >>> import numpy as np
        >>> from priorband import Config, Fidelity, Float, Space, Study, simulate
        >>> class Parabola:
        ...     space = Space({"x": Float(0.0, 1.0)})
        ...     fidelity = Fidelity("epochs", 1, 27)
        ...     optimum = Config(x=0.3), 0.0
        ...
        ...     def evaluate(self, config, fidelity):
        ...         return (config["x"] - 0.3) ** 2 + 1 / fidelity - 1 / 27
        ...
        ...     def evaluate_many(self, configs, fidelity):
        ...         return np.array([self.evaluate(config, fidelity) for config in configs])
        >>> bench = Parabola()
        >>> study = Study(bench.space, bench.fidelity, "hyperband", seed=0)
        >>> runs = simulate(study, bench, budget=5)
        >>> min(run.outcome.loss for run in runs) < 0.01
        True
    """

    @property
    def space(self) -> Space:
        """The search space."""

    @property
    def fidelity(self) -> Fidelity:
        """The fidelity, such as the number of epochs; its `high` end is a full training."""

    @property
    def optimum(self) -> tuple[Config, float] | None:
        """The best configuration and its loss at full fidelity; None if unknown."""

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """The loss of one configuration.

        Args:
            config: A value for each parameter of `space`.
            fidelity: The fidelity to evaluate at, between `fidelity.low` and `fidelity.high`.

        Returns:
            The loss, lower is better; nan or infinite if the training failed.
        """

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The losses of several configurations at the same fidelity.

        Args:
            configs: The configurations.
            fidelity: The fidelity to evaluate them at.

        Returns:
            One loss per configuration, in the same order.
        """


class InBatches:
    """Base class of benchmarks that implement `evaluate_many` only."""

    @property
    def optimum(self) -> tuple[Config, float] | None:
        """The best configuration and its loss at full fidelity; None if unknown."""
        return None

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """The loss of one configuration; nan or infinite if the training failed."""
        return float(self.evaluate_many([config], fidelity)[0])

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The losses of several configurations at the same fidelity."""
        raise NotImplementedError
