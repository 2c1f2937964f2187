"""Ranks: who is ahead at which budget, averaged over benchmarks and seeds."""

import numpy as np

from priorband.analysis.curves import Array
from priorband.analysis.groups import Group, averaged, points
from priorband.analysis.summary import Band


def ranks(values: Array) -> Array:
    """Ranks along the first axis, 1 for the lowest. Equal values share their mean rank.

    What is nan has no rank, and the others are ranked as if it were not there.

    >>> ranks(np.array([0.3, 0.3, np.nan, 0.5]))
    array([1.5, 1.5, nan, 3. ])
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(values, axis=0, nan_policy="omit"), dtype=np.float64)


def rank_curves(
    group: Group, grid: Array | None = None, start: float = 1.0
) -> tuple[Array, dict[str, Band]]:
    """The mean rank of each algorithm over the budget, with the standard error between seeds.

    For each seed and benchmark the algorithms' values are put on common budgets, each holding its
    last, and ranked at every one; the ranks are averaged over benchmarks, and then over seeds. The
    budgets are all those at which any run of the group improved, from `start` on. They can be a
    hundred thousand: a coarser `grid` is quicker, and exact at each of its points.
    """
    budgets = points(group, grid, start)
    return budgets, averaged(group, budgets, lambda _, values: ranks(values))
