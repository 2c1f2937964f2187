"""Average the curves of several algorithms over benchmarks and seeds: one curve per algorithm.

Here, a benchmark with a prior counts as one benchmark. Scores are averaged over benchmarks for each
seed, and then over seeds, with the standard error between seeds. An algorithm without a result at a
budget has no score there and is left out of the mean, as in the paper's evaluation. From a budget
of one full training on all algorithms have results, so figures start there.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from priorband.analysis.curves import TOLERANCE, Array, Curve, values_at, within_limit
from priorband.analysis.summary import Band, band
from priorband.errors import DataError

CurveGroup = Mapping[str, Mapping[str, Sequence[Curve]]]
"""The curves by algorithm and benchmark, one per seed, with the seeds in the same order."""

_POINTS_AT_ONCE = 2000


def all_budgets(group: CurveGroup) -> Array:
    """All budgets at which a curve of a group changes."""
    budgets = [curve.budgets for runs in _all_runs(group) for curve in runs]
    return np.unique(np.concatenate(budgets)) if budgets else np.empty(0)


def figure_budgets(
    group: CurveGroup, grid: Array | None, start: float, end: float = np.inf
) -> Array:
    """The budgets of a figure from `start` to `end`: those of `grid`, or all of the group."""
    budgets = all_budgets(group) if grid is None else np.asarray(grid, dtype=np.float64)
    if budgets.ndim != 1 or bool((np.diff(budgets) <= 0).any()):
        raise DataError(f"`grid` must be ascending budgets, got {grid!r}.")
    return budgets[(budgets >= start - TOLERANCE * abs(start)) & within_limit(budgets, end)]


def mean_scores(
    group: CurveGroup, grid: Array, score: Callable[[str, Array], Array]
) -> dict[str, Band]:
    """The mean score over benchmarks, with its mean and standard error over seeds, at each budget.

    `score` takes a benchmark and its values of shape (algorithms, seeds, budgets), and returns
    scores of the same shape; nan means no score. Budgets are scored independently, so a coarser
    grid gives the same scores at fewer points.
    """
    names, benchmarks = list(group), _benchmarks(group)
    pieces = np.split(grid, range(_POINTS_AT_ONCE, len(grid), _POINTS_AT_ONCE))
    bands = []
    for piece in pieces:
        total = count = np.zeros(())
        for benchmark in benchmarks:
            values = np.stack([values_at(group[name][benchmark], piece) for name in names])
            scores = score(benchmark, values)
            scored = ~np.isnan(scores)
            total = total + np.where(scored, scores, 0.0)
            count = count + scored
        means = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
        bands.append(band(means, axis=1))
    mean = np.concatenate([part.mean for part in bands], axis=1)
    sem = np.concatenate([part.sem for part in bands], axis=1)
    return {name: Band(mean[index], sem[index]) for index, name in enumerate(names)}


def _benchmarks(group: CurveGroup) -> list[str]:
    """The benchmarks of a group; raises `DataError` unless all algorithms ran on all of them."""
    if not group or not all(group.values()):
        raise DataError("There is nothing to compare: pass the curves of at least one algorithm.")
    by_algorithm = {name: set(runs) for name, runs in group.items()}
    all_benchmarks = set.union(*by_algorithm.values())
    for name, own in by_algorithm.items():
        if own != all_benchmarks:
            raise DataError(
                f"{name} has no curves on {', '.join(sorted(all_benchmarks - own))}. Compare "
                "only on benchmarks that all algorithms ran on."
            )
    counts = {len(runs) for runs in _all_runs(group)}
    if len(counts) > 1 or 0 in counts:
        raise DataError(
            "All algorithms need the same seeds on all benchmarks, got between "
            f"{min(counts)} and {max(counts)} curves. Compare only seeds that all of them ran."
        )
    return list(next(iter(group.values())))


def _all_runs(group: CurveGroup) -> list[Sequence[Curve]]:
    return [runs for benchmarks in group.values() for runs in benchmarks.values()]
