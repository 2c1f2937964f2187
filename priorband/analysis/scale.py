"""The scale of regret on a benchmark: its best known loss, and that of a typical random training.

0 points are the best known loss and 100 the median of uniform draws, both after full training, so
that points of different benchmarks can be averaged. More than 300 count as 300. A run that finds a
lower loss than the best known one has less than 0.
"""

from typing import final

import numpy as np

from priorband.analysis.curves import Array
from priorband.benchmarks.base import Benchmark
from priorband.streams import Generator, generator
from priorband.values import frozen

CAP = 300.0
"""The highest regret in points; that of a failed training, too."""
MANY_DRAWS, MEDIAN_DRAWS = 50_000, 5_000
_ROUNDS, _KEPT, _NEIGHBOURS = 20, 10, 50
_WIDEST, _NARROWEST = 0.3, 1e-3


@final
@frozen
class RegretScale:
    """The losses of 0 and of 100 points."""

    best: float
    median: float

    def points(self, values: Array) -> Array:
        """Losses after full training as points; nan stays nan."""
        span = self.median - self.best
        scaled = 100.0 * (np.where(np.isposinf(values), self.median, values) - self.best) / span
        return np.where(np.isposinf(values), CAP, np.minimum(scaled, CAP))


def regret_scale(benchmark: Benchmark, draws: int = MANY_DRAWS) -> RegretScale:
    """The scale of a benchmark, from the benchmark alone: no run changes it.

    The median is that of 5,000 uniform draws; failures count as higher than all. The best known
    loss is the optimum if the benchmark knows it. Otherwise it is the lowest of `draws` uniform
    draws and of a local search from the best ten of them: 20 rounds of 50 neighbours each, at
    distances that fall from 0.3 to 0.001 of the ranges.
    """
    known = benchmark.optimum
    rng = generator(0, 0, "regret scale")
    rows = benchmark.space.uniform(MEDIAN_DRAWS if known is not None else draws, rng)
    losses = _losses(benchmark, rows)
    median = float(np.median(losses[:MEDIAN_DRAWS]))
    if known is not None:
        return RegretScale(known[1], median)
    for width in np.geomspace(_WIDEST, _NARROWEST, _ROUNDS).tolist():
        order = np.argsort(losses, kind="stable")[:_KEPT]
        rows, losses = rows[order], losses[order]
        starts = np.repeat(rows, _NEIGHBOURS, axis=0)
        moved = _moved(starts, benchmark.space.uniform(len(starts), rng), width, rng, benchmark)
        rows = np.concatenate([rows, moved])
        losses = np.concatenate([losses, _losses(benchmark, moved)])
    return RegretScale(float(losses.min()), median)


def _moved(
    starts: Array, fresh: Array, width: float, rng: Generator, benchmark: Benchmark
) -> Array:
    """Neighbours: numbers move by up to `width`, a quarter of the choices is drawn again."""
    draws = rng.random((2, *starts.shape))
    steps, changes = draws[0], draws[1]
    choice = np.array([size is not None for size in benchmark.space.sizes])
    numbers = np.clip(starts + width * (2.0 * steps - 1.0), 0.0, 1.0)
    choices = np.where(changes < 0.25, fresh, starts)
    return np.where(choice, choices, numbers)


def _losses(benchmark: Benchmark, rows: Array) -> Array:
    configs = [benchmark.space.config(row) for row in rows.tolist()]
    losses = benchmark.evaluate_many(configs, benchmark.fidelity.high)
    return np.where(np.isfinite(losses), losses, np.inf)
