"""What a benchmark is: a space, a fidelity, and a loss for any configuration."""

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
    """A problem with known answers."""

    @property
    def space(self) -> Space:
        """What is searched."""

    @property
    def fidelity(self) -> Fidelity:
        """The cheap proxy."""

    @property
    def optimum(self) -> tuple[Config, float] | None:
        """The best configuration and its loss at full fidelity, where known."""

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """The loss of a configuration at a fidelity; not finite where the training failed."""

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The losses of many configurations at one fidelity, in one go."""


class InBatches:
    """What benchmarks have in common that evaluate many at once: one is a batch of one."""

    @property
    def optimum(self) -> tuple[Config, float] | None:
        """Not known, unless a benchmark says otherwise."""
        return None

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """The loss of a configuration at a fidelity; not finite where the training failed."""
        return float(self.evaluate_many([config], fidelity)[0])

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The losses of many configurations at one fidelity, in one go."""
        raise NotImplementedError
