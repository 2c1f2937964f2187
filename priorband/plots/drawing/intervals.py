"""Rows of values with intervals, one below the other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

import numpy as np

from priorband.plots.drawing.pen import Array
from priorband.plots.drawing.style import SMALL
from priorband.plots.drawing.theme import Theme
from priorband.values import frozen

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@final
@frozen
class IntervalRows:
    """Rows from the top down: a value with its interval, or a text where there is none."""

    labels: Sequence[str]
    value: Array
    lower: Array
    upper: Array
    remarks: Sequence[str]
    """The texts at the right."""
    missing: Sequence[str]
    """The texts in the place of values that are NaN."""

    def draw(self, axes: "Axes", colours: Sequence[str], bars: bool, theme: Theme) -> None:
        """Draw the rows: points, or bars from 0, with their intervals."""
        rows = np.arange(len(self.labels))
        known = np.flatnonzero(np.isfinite(self.value))
        if bars:
            own = [colours[row] for row in known.tolist()]
            axes.barh(known, self.value[known], 0.62, color=own, alpha=0.85, zorder=2)
        for row in known.tolist():
            span = (self.lower[row], self.upper[row])
            colour = theme.text if bars else colours[row]
            axes.plot(span, (row, row), color=colour, linewidth=1.3, zorder=3)
            for end in span:
                axes.plot(
                    (end, end), (row - 0.16, row + 0.16), color=colour, linewidth=1.0, zorder=3
                )
            if not bars:
                axes.plot(self.value[row], row, "o", color=colour, markersize=5.5, zorder=4)
        axes.set_yticks(rows, list(self.labels))
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        for row, (remark, missing) in enumerate(zip(self.remarks, self.missing, strict=True)):
            _write(axes, (1, row), (5, 0), remark, theme.ink)
            if not np.isfinite(self.value[row]):
                _write(axes, (0, row), (4, 0), missing, theme.ink)


def _write(
    axes: "Axes", at: tuple[float, float], offset: tuple[float, float], text: str, colour: str
) -> None:
    """Write a text at a share of the width and a row."""
    axes.annotate(
        text,
        at,
        offset,
        ("axes fraction", "data"),
        "offset points",
        va="center",
        fontsize=SMALL,
        color=colour,
    )
