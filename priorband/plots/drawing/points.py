"""Many points in one panel: a colour for each kind, and as many as a figure can take."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorband.plots.drawing.pen import Array

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST_POINTS = 5000
RASTER_FROM = 1500
"""A vector file with at least this many points or lines would be too large: it has a picture."""


def draw_points(
    axes: "Axes", x: Array, y: Array, kinds: NDArray[np.int64], colours: Mapping[int, str]
) -> None:
    """Draw points, each in the colour of its kind; the more there are, the smaller."""
    size = float(np.clip(2500 / max(len(x), 1), 3, 22))
    for kind, colour in colours.items():
        own = kinds == kind
        if np.any(own):
            axes.scatter(
                x[own],
                y[own],
                s=size,
                color=colour,
                alpha=0.75 if len(x) < 500 else 0.5,
                linewidths=0,
                zorder=2,
                rasterized=len(x) > RASTER_FROM,
            )


def dot(colour: str, size: float = 5.0) -> "Artist":
    """A point, as a legend shows it."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", marker="o", color=colour, markersize=size, mew=0)


def patch(colour: str, hatch: str = "", edge: str = "none", alpha: float = 1.0) -> "Artist":
    """A small area, as a legend shows it."""
    from matplotlib.patches import Patch

    return Patch(facecolor=colour, hatch=hatch or None, edgecolor=edge, alpha=alpha, linewidth=0.6)
