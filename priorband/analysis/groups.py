"""Curves of several algorithms on several benchmarks, made one curve an algorithm.

A benchmark together with a prior is one "benchmark" here. Scores are averaged over benchmarks for
each seed first, and then over seeds, with the standard error between seeds. Who has no result yet
has no score: a mean is over what exists, as in the paper's own evaluation. From one full training
on every algorithm has a result everywhere, so that is where figures begin.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from priorband.analysis.curves import TOLERANCE, Array, Curve, filled, within
from priorband.analysis.summary import Band, band
from priorband.errors import DataError

Group = Mapping[str, Mapping[str, Sequence[Curve]]]
"""For each algorithm and benchmark the curve of each seed, in the same order of seeds."""

_POINTS_AT_ONCE = 2000


def union(group: Group) -> Array:
    """All budgets at which any curve of a group changes."""
    budgets = [curve.budgets for runs in _all_runs(group) for curve in runs]
    return np.unique(np.concatenate(budgets)) if budgets else np.empty(0)


def points(group: Group, grid: Array | None, start: float, end: float = np.inf) -> Array:
    """The budgets of a figure, from its start to its end: a grid's, else all of the union."""
    chosen = union(group) if grid is None else np.asarray(grid, dtype=np.float64)
    if chosen.ndim != 1 or bool((np.diff(chosen) <= 0).any()):
        raise DataError(f"`grid` must be ascending budgets, got {grid!r}.")
    return chosen[(chosen >= start - TOLERANCE * abs(start)) & within(chosen, end)]


def averaged(group: Group, grid: Array, score: Callable[[str, Array], Array]) -> dict[str, Band]:
    """Mean and standard error over seeds of a score's mean over benchmarks, at a grid's budgets.

    `score` is given a benchmark and its values of shape (algorithms, seeds, budgets), and gives as
    many scores; nan is none. Each budget is scored by itself, so a coarser grid leaves out points
    but changes none.
    """
    names, benchmarks = list(group), _benchmarks(group)
    pieces = np.split(grid, range(_POINTS_AT_ONCE, len(grid), _POINTS_AT_ONCE))
    bands = []
    for piece in pieces:
        total = count = np.zeros(())
        for benchmark in benchmarks:
            values = np.stack([filled(group[name][benchmark], piece) for name in names])
            scores = score(benchmark, values)
            there = ~np.isnan(scores)
            total = total + np.where(there, scores, 0.0)
            count = count + there
        means = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
        bands.append(band(means, axis=1))
    mean = np.concatenate([each.mean for each in bands], axis=1)
    sem = np.concatenate([each.sem for each in bands], axis=1)
    return {name: Band(mean[place], sem[place]) for place, name in enumerate(names)}


def _benchmarks(group: Group) -> list[str]:
    """The benchmarks of a group, all of which every algorithm must have run, with every seed."""
    if not group or not all(group.values()):
        raise DataError("There is nothing to compare: give curves of at least one algorithm.")
    known = {name: set(runs) for name, runs in group.items()}
    everywhere = set.union(*known.values())
    for name, own in known.items():
        if own != everywhere:
            raise DataError(
                f"{name} has no curves on {', '.join(sorted(everywhere - own))}. Compare on "
                "benchmarks that all algorithms have run."
            )
    numbers = {len(runs) for runs in _all_runs(group)}
    if len(numbers) > 1 or 0 in numbers:
        raise DataError(
            "Every algorithm needs the same seeds on every benchmark, got between "
            f"{min(numbers)} and {max(numbers)} curves. Compare on seeds that all have run."
        )
    return list(next(iter(group.values())))


def _all_runs(group: Group) -> list[Sequence[Curve]]:
    return [runs for benchmarks in group.values() for runs in benchmarks.values()]
