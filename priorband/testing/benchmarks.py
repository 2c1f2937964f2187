"""The check of benchmarks."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from priorband.streams import generator
from priorband.testing.parts import check_instance

_MEMBERS = {
    "space": 'space = Space({"x": Float(0, 1)})',
    "fidelity": 'fidelity = Fidelity("epochs", 1, 27)',
    "optimum": "optimum = None",
    "evaluate": """def evaluate(self, config, fidelity):
        return config["x"] ** 2""",
    "evaluate_many": """def evaluate_many(self, configs, fidelity):
        return np.array([self.evaluate(config, fidelity) for config in configs])""",
}


def check_benchmark(benchmark: Any, draws: int = 20) -> None:
    """Check that a benchmark has all members, answers alike when repeated, and knows its optimum.

    Random configurations are evaluated at the lowest and at the highest fidelity.

    Args:
        benchmark: The benchmark; see `priorband.benchmarks.Benchmark`.
        draws: The number of configurations.

    Raises:
        AssertionError: If a member is missing, a loss is not a number or differs when it is
            repeated, `evaluate_many` differs from `evaluate`, or the optimum is wrong.
    """
    check_instance(benchmark, "benchmark")
    name = type(benchmark).__qualname__
    for member, example in _MEMBERS.items():
        assert hasattr(benchmark, member), (
            f"{name} has no `{member}`, which every benchmark needs. Add:\n\n    {example}"
        )
    space, fidelity = benchmark.space, benchmark.fidelity
    configs = [space.decode(row) for row in space.uniform(draws, generator(0, 0, "benchmark"))]
    for level in (fidelity.low, fidelity.high):
        losses = [_loss(benchmark, config, level) for config in configs]
        again = [_loss(benchmark, config, level) for config in configs]
        assert _alike(losses, again), (
            f"{name}: `evaluate` gave two losses for the same configuration and fidelity: "
            f"{_first_difference(losses, again, ', then ')}. Make noise from the arguments and a "
            "seed, as priorband.testing.noise does."
        )
        many = [float(loss) for loss in benchmark.evaluate_many(configs, level)]
        assert _alike(losses, many), (
            f"{name}: `evaluate_many` must return what `evaluate` returns for each of "
            f"{len(configs)} configurations, in order; got "
            f"{_first_difference(many, losses, ' instead of ')}."
        )
    _check_optimum(benchmark, min((loss for loss in losses if loss == loss), default=math.inf))


def _loss(benchmark: Any, config: Mapping[str, Any], fidelity: float) -> float:
    loss = benchmark.evaluate(config, fidelity)
    assert isinstance(loss, int | float | np.number), (
        f"{type(benchmark).__qualname__}: `evaluate` must return the loss as a number, and nan for "
        f"a failed training, got {loss!r}."
    )
    return float(loss)


def _alike(first: list[float], second: list[float]) -> bool:
    return len(first) == len(second) and np.allclose(first, second, 1e-6, 1e-12, equal_nan=True)


def _first_difference(first: list[float], second: list[float], between: str) -> str:
    if len(first) != len(second):
        return f"{len(first)} losses"
    one, other = next((a, b) for a, b in zip(first, second, strict=True) if not _alike([a], [b]))
    return f"{one}{between}{other}"


def _check_optimum(benchmark: Any, lowest: float) -> None:
    name = type(benchmark).__qualname__
    if benchmark.optimum is None:
        return
    config, loss = benchmark.optimum
    found = _loss(benchmark, benchmark.space.check(config), benchmark.fidelity.high)
    assert _alike([loss], [found]), (
        f"{name}: `optimum` says {loss}, but `evaluate` returns {found} for its configuration at "
        f"full fidelity ({benchmark.fidelity.high}). Correct one of them."
    )
    assert lowest >= loss or _alike([loss], [lowest]), (
        f"{name}: `optimum` says {loss}, but a random configuration has the loss {lowest} at full "
        "fidelity. Correct it, or write optimum = None if the best loss is unknown."
    )
