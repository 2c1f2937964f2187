"""Normalised regret: values between the best and the worst that anybody showed on a benchmark."""

import math
from collections.abc import Iterable

import numpy as np

from priorband.analysis.curves import Array, Curve, within
from priorband.analysis.groups import Group, averaged, points
from priorband.analysis.summary import Band
from priorband.errors import DataError


def normalised(values: Array, low: float, high: float) -> Array:
    """Values on a scale from 0 at `low` to 1 at `high`.

    A failed training, which is infinite, is as bad as the worst. Where the two ends are the same
    there is nothing to regret: 0. What is nan stays so.
    """
    if not high > low:
        return np.where(np.isnan(values), np.nan, np.where(np.isposinf(values), 1.0, 0.0))
    return np.where(np.isposinf(values), 1.0, (values - low) / (high - low))


def extremes(curves: Iterable[Curve], horizon: float = math.inf) -> tuple[float, float]:
    """The lowest and the highest finite value of any curve within a horizon."""
    shown = [curve.values[within(curve.budgets, horizon)] for curve in curves]
    values = np.concatenate([np.empty(0), *shown])
    finite = values[np.isfinite(values)]
    if not len(finite):
        raise DataError(
            f"No run has a result within {horizon} full trainings: there is no scale for regret."
        )
    return float(finite.min()), float(finite.max())


def regret_curves(
    group: Group, horizon: float, grid: Array | None = None, start: float = 0.0
) -> tuple[Array, dict[str, Band]]:
    """The normalised regret of each algorithm over the budget, with the error between seeds.

    A benchmark's scale goes from the lowest to the highest value that any run of the group shows on
    it up to the horizon, also before `start`. With several benchmarks the regrets are averaged over
    them for each seed first. Budgets are as for ranks.
    """
    budgets = points(group, grid, start, horizon)
    benchmarks = {benchmark for runs in group.values() for benchmark in runs}
    scales = {
        benchmark: extremes(
            (curve for runs in group.values() for curve in runs.get(benchmark, ())), horizon
        )
        for benchmark in benchmarks
    }

    def score(benchmark: str, values: Array) -> Array:
        return normalised(values, *scales[benchmark])

    return budgets, averaged(group, budgets, score)
