"""Incumbent curves: what a run would have brought home, had it ended at any budget.

The incumbent is the evaluation with the lowest loss seen at any fidelity. Its value is the loss of
that configuration at full fidelity, so a curve's losses fall while its values may rise. Budgets
count full trainings. With several workers they count those of each worker: 5 trainings on an axis
of four workers are 20 in total.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorband.errors import DataError
from priorband.values import frozen, settle

Array = NDArray[np.float64]

TOLERANCE = 1e-9
"""How far, in relation, sums of the same costs may lie apart."""


@final
@frozen
class Curve:
    """The incumbents of a run: from each budget on, the lowest loss seen, and its value in full.

    The value is infinite where the configuration's full training fails.
    """

    budgets: Array
    losses: Array
    values: Array

    def __post_init__(self) -> None:
        columns = [_column(each) for each in (self.budgets, self.losses, self.values)]
        budgets, losses, values = columns
        if len({len(each) for each in columns}) > 1 or bool((np.diff(budgets) <= 0).any()):
            raise DataError(
                "A curve needs ascending budgets with a loss and a value each, got budgets "
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
    """The curve of finished evaluations, given in the order they ended.

    `costs` are what each added to its worker's bill, in units of which a full training has `full`;
    `at_full` is the loss of its configuration at full fidelity, `workers` who ran it. A loss that
    is not finite is a failure: it costs, and is never the incumbent. With `configs`, a number for
    each configuration, one that has failed is the incumbent no more, whatever it had reached
    before. Of evaluations that end at the same budget the one with the lowest loss counts, of equal
    ones the first.

    >>> incumbent_curve([3, 3, 10], [0.5, 0.45, 0.3], [0.4, 0.42, 0.3], full=10).budgets
    array([0.3, 0.6, 1.6])
    """
    paid, seen, values = _column(costs), _column(losses), _column(at_full)
    crew = np.zeros(len(paid)) if workers is None else _column(workers)
    if not len(paid) == len(seen) == len(values) == len(crew):
        raise DataError(
            "Every evaluation needs a cost, a loss, a loss in full and, where workers are given, a "
            f"worker; got {len(paid)}, {len(seen)}, {len(values)} and {len(crew)} of them."
        )
    if not full > 0 or not np.isfinite(paid).all() or (paid < 0).any():
        raise DataError(f"Costs must be at least 0 and `full` above 0, got {paid} and {full!r}.")
    seen = np.where(np.isfinite(seen), seen, np.inf)
    values = np.where(np.isfinite(values), values, np.inf)
    budgets = _merged(_paid_by_worker(paid, crew) / full)
    order = np.lexsort((seen, budgets))
    if configs is not None and np.isinf(seen).any():
        at, kept = _without_failed(order, _column(configs), seen)
        last = np.flatnonzero(np.diff(budgets[at], append=np.inf) > 0)  # at each budget
        at, kept = at[last], kept[last]
        none = kept < 0
        return Curve(
            budgets[at], np.where(none, np.nan, seen[kept]), np.where(none, np.nan, values[kept])
        )
    lowest = np.minimum.accumulate(np.concatenate([[np.inf], seen[order]]))
    improving = order[seen[order] < lowest[:-1]]
    return Curve(budgets[improving], seen[improving], values[improving])


def _without_failed(order: NDArray[Any], configs: Array, seen: Array) -> tuple[Any, Any]:
    """Where the incumbent changes, and to which evaluation; -1 where none is left."""
    lowest: dict[float, int] = {}
    failed, changes, incumbent = set[float](), list[tuple[int, int]](), -1
    worst = int(np.argmax(seen))  # a failure
    for place in order.tolist():
        config = configs[place]
        if np.isinf(seen[place]):
            failed.add(config)
            lowest.pop(config, None)
        elif config not in failed and seen[place] < seen[lowest.get(config, worst)]:
            lowest[config] = place
        best = min(lowest.values(), key=lambda one: seen[one], default=-1)
        if best != incumbent:
            incumbent = best
            changes.append((place, best))
    made = np.array(changes, dtype=np.intp).reshape(-1, 2)
    return made[:, 0], made[:, 1]


def value_at(curve: Curve, budget: float) -> float:
    """The value of the incumbent at a budget; nan where there was none yet."""
    return float(held(curve.budgets, curve.values, np.array([budget]))[0])


def loss_at(curve: Curve, budget: float) -> float:
    """The lowest loss seen within a budget; nan where there was none yet."""
    return float(held(curve.budgets, curve.losses, np.array([budget]))[0])


def filled(curves: Sequence[Curve], grid: Array) -> Array:
    """The values of n curves at each of m budgets, of shape (n, m); nan before a curve begins."""
    rows = [held(curve.budgets, curve.values, grid) for curve in curves]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(grid))


def within(budgets: Array, limit: float) -> NDArray[np.bool_]:
    """Which budgets do not exceed a limit, but for rounding."""
    return np.asarray(budgets <= limit + TOLERANCE * abs(limit))


def held(budgets: Array, rows: Array, grid: Array) -> Array:
    """What was last set at each point of a grid: `rows[i]` is set at `budgets[i]`; nan before."""
    last = np.searchsorted(budgets, grid + TOLERANCE * np.abs(grid), side="right")
    before = np.full((1, *rows.shape[1:]), np.nan)
    return np.concatenate([before, rows])[last]


def _column(values: ArrayLike) -> Array:
    column = np.array(values, dtype=np.float64)
    if column.ndim != 1:
        raise DataError(f"Give a flat list of numbers, got one of shape {column.shape}.")
    column.flags.writeable = False
    return column


def _paid_by_worker(paid: Array, crew: Array) -> Array:
    """What each evaluation's worker had paid when it ended."""
    total = np.empty_like(paid)
    for worker in np.unique(crew):
        own = crew == worker
        total[own] = np.cumsum(paid[own])
    return total


def _merged(budgets: Array) -> Array:
    """Budgets that differ by rounding only, made the same."""
    order = np.argsort(budgets, kind="stable")
    ascending = budgets[order]
    gaps = np.diff(ascending, prepend=-np.inf)
    firsts = np.flatnonzero(gaps > TOLERANCE * ascending)
    groups = np.searchsorted(firsts, np.arange(len(budgets)), side="right") - 1
    merged = np.empty_like(budgets)
    merged[order] = ascending[firsts[groups]]
    return merged
