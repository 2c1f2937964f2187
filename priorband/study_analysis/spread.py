"""Some of many positions, spread evenly, where all of them would be too many."""

import numpy as np

from priorband.study_analysis.trial_columns import Ints


def spread_positions(count: int, most: int) -> Ints:
    """At most `most` of the positions below `count`, spread evenly, with the first and the last.

    >>> spread_positions(3, 5).tolist(), spread_positions(100, 3).tolist()
    ([0, 1, 2], [0, 50, 99])
    """
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).round().astype(np.int64)
