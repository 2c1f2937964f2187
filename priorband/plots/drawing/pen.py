"""One line of a panel: thinned, as steps or joined, with its band and a few markers."""

from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from priorband.plots.drawing.style import SMALL, Style
from priorband.plots.drawing.theme import LIGHT, Theme
from priorband.plots.drawing.ticks import Limits
from priorband.values import frozen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

Array = NDArray[np.float64]

_MARKERS = 4
"""On each line of a panel."""
_SIZES = {"P": 5.4, "X": 5.4, "*": 7.0, "D": 3.8, "^": 4.8, "v": 4.8}


@final
@frozen
class Pen:
    """Draws in one panel, each line with at most `points` points."""

    axes: "Axes"
    step: bool
    points: int
    across: Limits
    up: Limits
    theme: Theme = LIGHT

    def rules(self, marks: tuple[float, ...], level: float | None) -> None:
        """Dotted verticals, and a dashed horizontal with its number at its right end."""
        for mark in marks:
            self.axes.axvline(
                mark, color=self.theme.ink, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1.5
            )
        if level is None:
            return
        self.axes.axhline(
            level, color=self.theme.ink, linewidth=0.8, linestyle=(0, (5, 3)), zorder=1.5
        )
        self.axes.annotate(
            f"{level:g}",
            (1, level),
            (2, 0),
            ("axes fraction", "data"),
            "offset points",
            ha="left",
            va="center",
            fontsize=SMALL,
            color=self.theme.ink,
        )

    def nothing(self) -> None:
        """Say that there is nothing to draw."""
        middle = self.axes.transAxes
        self.axes.text(
            0.5, 0.5, "no data", ha="center", va="center", transform=middle, fontsize=SMALL
        )

    def line(self, x: Array, y: Array, error: Array, look: Style, stagger: float) -> None:
        """A line within its band; the stagger says where between two places its markers lie."""
        kept = _kept(x, self.across, self.points)
        x, y, error = x[kept], self._floored(y[kept]), error[kept]
        if not np.any(~np.isnan(y)):
            return
        if np.any(~np.isnan(error)):
            self._band(x, y, error, look)
        drawn = handle(look, self.theme)
        drawn.set_data(x, y)
        drawn.set_drawstyle("steps-post" if self.step else "default")
        drawn.set_marker("")
        drawn.set_zorder(2 + look.width)
        self.axes.add_line(drawn)
        if look.marker:
            self._markers(x, y, look, stagger)

    def _band(self, x: Array, y: Array, error: Array, look: Style) -> None:
        colour = self.theme.colour(look.colour)
        self.axes.fill_between(
            x,
            self._floored(y - error),
            y + error,
            where=~np.isnan(y + error),
            step="post" if self.step else None,
            color=colour,
            alpha=0.16,
            linewidth=0,
            zorder=2,
        )

    def _markers(self, x: Array, y: Array, look: Style, stagger: float) -> None:
        """A few markers, at other places on each line so that none hides another's."""
        low, high = self.across
        at = low + (high - low) * (np.arange(_MARKERS) + stagger) / _MARKERS
        at = at[(at >= x[0]) & (at <= x[-1])]
        there = y[np.searchsorted(x, at, "right") - 1] if self.step else np.interp(at, x, y)
        drawn = handle(look, self.theme)
        drawn.set_data(at, there)
        drawn.set_linestyle("")
        drawn.set_zorder(2.1 + look.width)
        self.axes.add_line(drawn)

    def _floored(self, y: Array) -> Array:
        """What a logarithmic axis cannot show, zero included, lies a little below its edge."""
        if self.axes.get_yscale() != "log":
            return y
        low, high = self.up
        return np.where(np.isnan(y), y, np.maximum(y, low * (low / high) ** 0.2))


def handle(look: Style, theme: Theme = LIGHT) -> "Line2D":
    """A line of this look without data, as a legend shows it."""
    from matplotlib.lines import Line2D

    look = theme.look(look)

    return Line2D(
        [],
        [],
        color=look.colour,
        linewidth=look.width,
        linestyle=(0, look.dash) if look.dash else "-",
        solid_capstyle="butt",
        marker=look.marker,
        markersize=_SIZES.get(look.marker, 4.2),
        markeredgewidth=0.8 if look.hollow else 0.4,
        markerfacecolor=theme.background if look.hollow else look.colour,
        markeredgecolor=look.colour if look.hollow else theme.background,
    )


def _kept(x: Array, across: Limits, points: int) -> slice | Array:
    """Which points to draw: all within the width, or the last before each of many places."""
    start = max(0, int(np.searchsorted(x, across[0], "right")) - 1)
    stop = min(len(x), int(np.searchsorted(x, across[1], "right")) + 1)
    if stop - start <= points:
        return slice(start, stop)
    places = np.linspace(max(x[start], across[0]), min(x[stop - 1], across[1]), points)
    return np.unique(np.searchsorted(x, places, "right") - 1)
