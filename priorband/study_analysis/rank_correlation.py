"""Kendall's rank correlation, and an interval for it that holds for a few pairs, too."""

import math
from bisect import bisect_right, insort

import numpy as np

from priorband.study_analysis.trial_columns import Floats

_Z = 1.959963984540054  # the normal quantile of 0.975


def kendall_tau(first: Floats, second: Floats) -> float:
    """Kendall's tau-b of two lists of numbers; NaN if all numbers of a list are equal.

    It is the share of pairs that both lists put in the same order, less that of pairs in opposite
    order; pairs that are equal in one list count for neither. It takes n log n steps.

    >>> kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2])).__round__(3)
    0.333
    """
    order = np.lexsort((second, first))
    x, y = first[order], second[order]
    pairs = len(x) * (len(x) - 1) // 2
    equal_x, equal_y = _equal_pairs(x), _equal_pairs(np.sort(y))
    equal_both = _equal_pairs(np.unique(np.stack((x, y)), axis=1, return_inverse=True)[1])
    opposite = _inversions(y.tolist())
    together = pairs - equal_x - equal_y + equal_both - 2 * opposite
    scale = math.sqrt((pairs - equal_x) * (pairs - equal_y))
    return together / scale if scale else math.nan


def tau_interval(tau: float, count: int) -> tuple[float, float]:
    """The 95 percent score interval of a Kendall's tau of `count` pairs.

    It has all values t that a test would not reject whose standard error is that under
    independence times sqrt(1 - t^2). This is exact for independent lists. For dependent ones the
    true error is smaller in nearly all cases, so the interval is on the safe side, and it stays
    within [-1, 1], also where tau is 1.

    >>> [round(end, 2) for end in tau_interval(1.0, 9)], [round(e, 2) for e in tau_interval(0.0, 9)]
    ([0.57, 1.0], [-0.46, 0.46])
    """
    a = _Z**2 * 2 * (2 * count + 5) / (9 * count * (count - 1))
    half = math.sqrt(a * (1 + a - tau * tau))
    return (tau - half) / (1 + a), (tau + half) / (1 + a)


def _equal_pairs(numbers: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> int:
    """How many pairs of entries are equal."""
    _, counts = np.unique(numbers, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(numbers: list[float]) -> int:
    """How many pairs are in descending order."""
    seen: list[float] = []
    found = 0
    for position, number in enumerate(numbers):
        found += position - bisect_right(seen, number)
        insort(seen, number)
    return found
