"""Normalised regret: 0 for the best and 1 for the worst value that any run had on a benchmark."""

import math
from collections.abc import Iterable

import numpy as np

from priorband.analysis.curves import Array, Curve, within_limit
from priorband.analysis.groups import CurveGroup, figure_budgets, mean_scores
from priorband.analysis.summary import Band
from priorband.errors import DataError


def normalised(values: Array, low: float, high: float) -> Array:
    """Values on a scale from 0 at `low` to 1 at `high`.

    A failed training, which is infinite, counts as 1. If `low` and `high` are equal, all other
    values become 0. Nan stays nan.
    """
    if not high > low:
        return np.where(np.isnan(values), np.nan, np.where(np.isposinf(values), 1.0, 0.0))
    return np.where(np.isposinf(values), 1.0, (values - low) / (high - low))


def extremes(curves: Iterable[Curve], horizon: float = math.inf) -> tuple[float, float]:
    """The lowest and the highest finite value of some curves, up to a horizon."""
    parts = [curve.values[within_limit(curve.budgets, horizon)] for curve in curves]
    values = np.concatenate([np.empty(0), *parts])
    finite = values[np.isfinite(values)]
    if not len(finite):
        raise DataError(
            f"No run has a result within {horizon} full trainings, so regret cannot be scaled."
        )
    return float(finite.min()), float(finite.max())


def regret_curves(
    group: CurveGroup, horizon: float, grid: Array | None = None, start: float = 0.0
) -> tuple[Array, dict[str, Band]]:
    """The normalised regret of each algorithm at each budget, with the error between seeds.

    The scale of a benchmark goes from the lowest to the highest value of any run up to the horizon,
    including those before `start`. Regrets are averaged over benchmarks, and then over seeds. The
    budgets are the same as in `rank_curves`.
    """
    budgets = figure_budgets(group, grid, start, horizon)
    benchmarks = {benchmark for runs in group.values() for benchmark in runs}
    scales = {
        benchmark: extremes(
            (curve for runs in group.values() for curve in runs.get(benchmark, ())), horizon
        )
        for benchmark in benchmarks
    }

    def score(benchmark: str, values: Array) -> Array:
        return normalised(values, *scales[benchmark])

    return budgets, mean_scores(group, budgets, score)
