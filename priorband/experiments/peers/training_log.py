"""What another library's method has trained, what each training cost, and how it ended."""

import math
from collections.abc import Hashable, Mapping
from typing import Any, final

from priorband.analysis.curves import TOLERANCE, incumbent_curve, value_at
from priorband.benchmarks.base import Benchmark
from priorband.errors import ArgumentError


@final
class TrainingLog:
    """Trains configurations on a benchmark for a peer, and charges it for what it trains.

    A training that is continued pays the difference between the two fidelities, like a promotion of
    our methods. Which training is continued is said by its name: a peer that tries a configuration
    again as a new trial names it otherwise, and pays all of it.

    Args:
        benchmark: The benchmark.
        budget: How many full trainings may be spent. Trainings are started until they are used up,
            so that the last one may exceed it.

    >>> from priorband.benchmarks import Hartmann
    >>> log = TrainingLog(Hartmann(3), budget=20)
    >>> config = {"x0": 0.1, "x1": 0.5, "x2": 0.9}
    >>> _ = log.train("a", config, 25), log.train("a", config, 100), log.train("b", config, 25)
    >>> log.spent
    1.25
    """

    def __init__(self, benchmark: Benchmark, budget: float) -> None:
        self.benchmark = benchmark
        self.budget = budget
        self._trained: dict[Hashable, float] = {}
        self._numbers: dict[Hashable, int] = {}
        self._roots: list[int] = []
        self._configs: list[Mapping[str, Any]] = []
        self._losses: list[float] = []
        self._costs: list[float] = []
        self._fidelities: list[float] = []

    @property
    def losses(self) -> tuple[float, ...]:
        """The losses of all trainings, in order."""
        return tuple(self._losses)

    @property
    def fidelities(self) -> tuple[float, ...]:
        """The fidelities of all trainings, in order."""
        return tuple(self._fidelities)

    def __len__(self) -> int:
        return len(self._costs)

    @property
    def spent(self) -> float:
        """The cost of all trainings so far, in full trainings."""
        return sum(self._costs) / self.benchmark.fidelity.high

    @property
    def has_budget(self) -> bool:
        """Whether another training may be started."""
        return self.spent < self.budget * (1 - TOLERANCE)

    def train(self, name: Hashable, config: Mapping[str, Any], fidelity: float) -> float:
        """The loss of a configuration, trained or continued up to a fidelity."""
        before = self._trained.get(name, 0.0)
        if not before < fidelity <= self.benchmark.fidelity.high:
            raise ArgumentError(
                f"`fidelity` must be above {before}, up to which {name!r} has been trained, and at "
                f"most {self.benchmark.fidelity.high}, got {fidelity!r}."
            )
        loss = self.benchmark.evaluate(config, fidelity)
        self._trained[name] = fidelity
        self._roots.append(self._numbers.setdefault(name, len(self._numbers)))
        self._configs.append(config)
        self._losses.append(loss)
        self._costs.append(fidelity - before)
        self._fidelities.append(fidelity)
        return loss

    @property
    def worst(self) -> float:
        """The highest finite loss so far; 0 if there is none.

        It is what a peer is told of a failed training if it can be told nothing but numbers.
        """
        return max(filter(math.isfinite, self._losses), default=0.0)

    def values(self, budgets: tuple[float, ...]) -> list[float]:
        """After each budget, the loss of the incumbent after a full training; nan without one.

        A configuration whose training failed is not the incumbent.
        """
        full = self.benchmark.fidelity.high
        at_full = self.benchmark.evaluate_many(self._configs, full)
        curve = incumbent_curve(self._costs, self._losses, at_full, full=full, configs=self._roots)
        return [value_at(curve, budget) for budget in budgets]
