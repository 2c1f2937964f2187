"""Mean ranks of algorithms at each budget, over benchmarks and seeds."""

import numpy as np

from priorband.analysis.curves import Array
from priorband.analysis.groups import CurveGroup, figure_budgets, mean_scores
from priorband.analysis.summary import Band


def ranks(values: Array) -> Array:
    """Ranks along the first axis, 1 for the lowest. Equal values share their mean rank.

    A nan has no rank, and does not change the ranks of the other values.

    >>> ranks(np.array([0.3, 0.3, np.nan, 0.5]))
    array([1.5, 1.5, nan, 3. ])
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(values, axis=0, nan_policy="omit"), dtype=np.float64)


def rank_curves(
    group: CurveGroup, grid: Array | None = None, start: float = 1.0
) -> tuple[Array, dict[str, Band]]:
    """The mean rank of each algorithm at each budget, with the standard error between seeds.

    At each budget, seed and benchmark, the latest values of the algorithms are ranked. The ranks
    are averaged over benchmarks, and then over seeds. The default budgets are all those from
    `start` on at which a run of the group improved. There can be 100,000 of them: a coarser `grid`
    is faster, and exact at its points.
    """
    budgets = figure_budgets(group, grid, start)
    return budgets, mean_scores(group, budgets, lambda _, values: ranks(values))
