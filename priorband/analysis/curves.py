"""Incumbent curves: the best configuration that a run had found at each budget.

The incumbent is the evaluation with the lowest loss so far, at any fidelity. Its value is the loss
of that configuration at full fidelity, so the losses of a curve only fall but its values can rise.
Budgets are numbers of full trainings. With several workers they count the trainings per worker: a
budget of 5 with four workers is 20 trainings in total.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorband.errors import DataError
from priorband.values import frozen, settle

Array = NDArray[np.float64]

TOLERANCE = 1e-9
"""Relative tolerance for budgets, which are sums of costs with rounding errors."""


@final
@frozen
class Curve:
    """The incumbents of a run: from each budget on, the lowest loss and the value of its incumbent.

    A value is infinite if the full training of the configuration fails.
    """

    budgets: Array
    losses: Array
    values: Array

    def __post_init__(self) -> None:
        columns = [_column(column) for column in (self.budgets, self.losses, self.values)]
        budgets, losses, values = columns
        if len({len(column) for column in columns}) > 1 or bool((np.diff(budgets) <= 0).any()):
            raise DataError(
                "A curve needs ascending budgets, each with a loss and a value, got budgets "
                f"{budgets}, losses {losses} and values {values}."
            )
        settle(self, budgets=budgets, losses=losses, values=values)


def incumbent_curve(
    costs: ArrayLike,
    losses: ArrayLike,
    at_full: ArrayLike,
    workers: ArrayLike | None = None,
    full: float = 1.0,
    configs: ArrayLike | None = None,
) -> Curve:
    """The curve of finished evaluations, in the order in which they ended.

    `costs` are the costs of the evaluations, in units of which a full training has `full`.
    `at_full` are the losses of their configurations at full fidelity, and `workers` are the workers
    that ran them. A loss that is not finite is a failure: it costs, but is never the incumbent.
    `configs` has a number for each evaluation's configuration; if it is passed, a configuration is
    no longer the incumbent after one of its evaluations failed. Of the evaluations that end at the
    same budget, the one with the lowest loss counts, or the first of several.

    >>> incumbent_curve([3, 3, 10], [0.5, 0.45, 0.3], [0.4, 0.42, 0.3], full=10).budgets
    array([0.3, 0.6, 1.6])
    """
    paid, seen, values = _column(costs), _column(losses), _column(at_full)
    owners = np.zeros(len(paid)) if workers is None else _column(workers)
    if not len(paid) == len(seen) == len(values) == len(owners):
        raise DataError(
            "`costs`, `losses`, `at_full` and `workers` must have the same length, got "
            f"{len(paid)}, {len(seen)}, {len(values)} and {len(owners)}."
        )
    if not full > 0 or not np.isfinite(paid).all() or (paid < 0).any():
        raise DataError(f"`costs` must be at least 0 and `full` above 0, got {paid} and {full!r}.")
    seen = np.where(np.isfinite(seen), seen, np.inf)
    values = np.where(np.isfinite(values), values, np.inf)
    budgets = _merged_budgets(_paid_by_worker(paid, owners) / full)
    order = np.lexsort((seen, budgets))
    if configs is not None and np.isinf(seen).any():
        at, best = _without_failed(order, _column(configs), seen)
        last = np.flatnonzero(np.diff(budgets[at], append=np.inf) > 0)  # the last at each budget
        at, best = at[last], best[last]
        none = best < 0
        return Curve(
            budgets[at], np.where(none, np.nan, seen[best]), np.where(none, np.nan, values[best])
        )
    lowest = np.minimum.accumulate(np.concatenate([[np.inf], seen[order]]))
    improving = order[seen[order] < lowest[:-1]]
    return Curve(budgets[improving], seen[improving], values[improving])


def _without_failed(order: NDArray[Any], configs: Array, seen: Array) -> tuple[Any, Any]:
    """The evaluations at which the incumbent changes, and the new incumbents; -1 for none."""
    lowest: dict[float, int] = {}
    failed, changes, incumbent = set[float](), list[tuple[int, int]](), -1
    worst = int(np.argmax(seen))  # a failure
    for index in order.tolist():
        config = configs[index]
        if np.isinf(seen[index]):
            failed.add(config)
            lowest.pop(config, None)
        elif config not in failed and seen[index] < seen[lowest.get(config, worst)]:
            lowest[config] = index
        best = min(lowest.values(), key=lambda other: seen[other], default=-1)
        if best != incumbent:
            incumbent = best
            changes.append((index, best))
    columns = np.array(changes, dtype=np.intp).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def value_at(curve: Curve, budget: float) -> float:
    """The value of the incumbent at a budget; nan if there was none yet."""
    return float(step_values(curve.budgets, curve.values, np.array([budget]))[0])


def loss_at(curve: Curve, budget: float) -> float:
    """The lowest loss within a budget; nan if there was none yet."""
    return float(step_values(curve.budgets, curve.losses, np.array([budget]))[0])


def values_at(curves: Sequence[Curve], grid: Array) -> Array:
    """The values of n curves at m budgets, of shape (n, m); nan before a curve starts."""
    rows = [step_values(curve.budgets, curve.values, grid) for curve in curves]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(grid))


def within_limit(budgets: Array, limit: float) -> NDArray[np.bool_]:
    """Which budgets do not exceed a limit by more than rounding errors."""
    return np.asarray(budgets <= limit + TOLERANCE * abs(limit))


def step_values(budgets: Array, rows: Array, grid: Array) -> Array:
    """A step function at the points of a grid: `rows[i]` from `budgets[i]` on, nan before."""
    last = np.searchsorted(budgets, grid + TOLERANCE * np.abs(grid), side="right")
    before = np.full((1, *rows.shape[1:]), np.nan)
    return np.concatenate([before, rows])[last]


def _column(values: ArrayLike) -> Array:
    column = np.array(values, dtype=np.float64)
    if column.ndim != 1:
        raise DataError(f"Expected a flat list of numbers, got the shape {column.shape}.")
    column.flags.writeable = False
    return column


def _paid_by_worker(paid: Array, owners: Array) -> Array:
    """The total cost of each evaluation's worker at its end."""
    total = np.empty_like(paid)
    for worker in np.unique(owners):
        own = owners == worker
        total[own] = np.cumsum(paid[own])
    return total


def _merged_budgets(budgets: Array) -> Array:
    """The budgets, where those that differ by rounding errors only are made equal."""
    order = np.argsort(budgets, kind="stable")
    ascending = budgets[order]
    gaps = np.diff(ascending, prepend=-np.inf)
    firsts = np.flatnonzero(gaps > TOLERANCE * ascending)
    groups = np.searchsorted(firsts, np.arange(len(budgets)), side="right") - 1
    merged = np.empty_like(budgets)
    merged[order] = ascending[firsts[groups]]
    return merged
