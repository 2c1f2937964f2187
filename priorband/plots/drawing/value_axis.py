"""The axis of the values of trials: a few that are very bad must not compress all others."""

from math import inf
from typing import TYPE_CHECKING, final

import numpy as np

from priorband.plots.drawing.pen import Array
from priorband.plots.drawing.ticks import Limits, scale_y
from priorband.values import frozen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REACH = 2.5
"""How far beyond the worse quartile values are shown, in interquartile ranges."""
_LOG_FROM = 30.0
"""The ratio of the highest to the lowest value from which the axis is logarithmic."""
_MARGIN = 0.05


@final
@frozen
class ValueAxis:
    """The limits of an axis of values, and whether it is logarithmic."""

    limits: Limits
    log: bool
    maximize: bool

    def beyond(self, values: Array) -> int:
        """How many values are worse than what the axis shows."""
        return int(
            np.count_nonzero(values < self.limits[0] if self.maximize else values > self.limits[1])
        )

    def within(self, values: Array) -> Array:
        """The values, with those that the axis does not show at its edges."""
        return np.clip(values, *self.limits)

    def share(self, values: Array) -> Array:
        """Where on the axis values are, from 0 to 1."""
        low, high = np.log(self.limits) if self.log else self.limits
        inside = self.within(values)
        shares: Array = ((np.log(inside) if self.log else inside) - low) / (high - low)
        return shares

    def apply(self, axes: "Axes") -> None:
        """Set the y-axis of a panel."""
        scale_y(axes, self.limits, self.log)


def value_axis(values: Array, maximize: bool, always: Array | None = None) -> ValueAxis:
    """The axis for the values of trials; nan ones do not count.

    It has the best value and not those far beyond the worse quartile, unless they are in `always`.
    It is logarithmic if all are above 0, lower is better, and the highest is 30 times the lowest.

    >>> axis = value_axis(np.array([*range(1, 20), 1e9]), maximize=False)
    >>> axis.limits[1] < 1000, axis.beyond(np.array([5.0, 1e9]))
    (True, 1)
    """
    known = values[np.isfinite(values)]
    kept = np.empty(0) if always is None else always[np.isfinite(always)]
    every = np.concatenate((known, kept))
    if not len(every):
        return ValueAxis((0.0, 1.0), False, maximize)
    if not maximize and every.min() > 0:
        low, high = _shown(np.log(known), np.log(kept), maximize)
        if high - low >= np.log(_LOG_FROM):
            low, high = np.exp(_wider(low, high))
            return ValueAxis((float(low), float(high)), True, maximize)
    return ValueAxis(_wider(*_shown(known, kept, maximize)), False, maximize)


def _shown(known: Array, kept: Array, maximize: bool) -> Limits:
    """From the best value to the worst one that is not far beyond the quartile, and all `kept`."""
    ends = kept.tolist()
    if len(known):
        quarter, three = np.percentile(known, [25, 75])
        reach = _REACH * float(three - quarter) or inf
        worst = max(known.min(), quarter - reach) if maximize else min(known.max(), three + reach)
        ends += [float(known.max() if maximize else known.min()), float(worst)]
    return min(ends), max(ends)


def _wider(low: float, high: float) -> Limits:
    more = _MARGIN * (high - low) or max(abs(low), 1.0) * _MARGIN
    return low - more, high + more
