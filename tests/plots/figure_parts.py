"""What a figure shows, read back from its artists."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from numpy.typing import NDArray


def drawn_texts(figure: Figure) -> list[Text]:
    """All texts that are not empty, without the ticks that lie outside their axes."""
    hidden = set[int]()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick, place in zip(axis.get_major_ticks(), axis.get_majorticklocs(), strict=True):
                if not low <= place <= high:
                    hidden |= {id(tick.label1), id(tick.label2)}
    found: list[Any] = figure.findobj(Text)
    shown = [text for text in found if text.get_visible() and text.get_text().strip()]
    return [text for text in shown if id(text) not in hidden]


def texts(figure: Figure) -> list[str]:
    """What they say."""
    return [text.get_text() for text in drawn_texts(figure)]


def said(figure: Figure) -> str:
    """All texts in one, with spaces instead of line breaks."""
    return " ".join(" ".join(texts(figure)).split())


def axes_of(figure: Figure, index: int = 0) -> Axes:
    """One of the panels."""
    return figure.axes[index]


def line_of(axes: Axes, colour: str, width: float) -> Line2D:
    """The one line with data of a colour and a width."""
    [found] = [
        line
        for line in axes.get_lines()
        if to_hex(line.get_color()) == colour
        and line.get_linewidth() == width
        and line.get_linestyle() != "None"
    ]
    return found


def xs(line: Line2D) -> list[float]:
    """The places of a line's points on the x-axis."""
    return [float(x) for x in np.asarray(line.get_xdata(), float)]


def ys(line: Line2D) -> list[float]:
    """The places of a line's points on the y-axis."""
    return [float(y) for y in np.asarray(line.get_ydata(), float)]


def points_of(axes: Axes) -> NDArray[np.float64]:
    """The places of all points, in one table."""
    found = [part for part in axes.collections if isinstance(part, PathCollection)]
    return np.concatenate([np.asarray(part.get_offsets()).reshape(-1, 2) for part in found])


def paths_of(axes: Axes) -> list[NDArray[np.float64]]:
    """The corners of all lines of collections, in the order in which they were added."""
    found = [part for part in axes.collections if isinstance(part, LineCollection)]
    return [np.asarray(path.vertices) for part in found for path in part.get_paths()]


def ticks(axes: Axes, which: str) -> dict[float, str]:
    """The texts of an axis by their places."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    return {
        float(place): label.get_text()
        for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
    }
