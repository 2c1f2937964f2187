"""Figures with panels of violins, which show the losses of draws from priors.

The width of a violin is the density of the losses. A few very high losses must not compress the
rest: a panel ends not far above the quartiles, and a triangle at its edge marks losses beyond it.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np

from priorband.errors import DataError
from priorband.plots.drawing.grid import PanelGrid, legend, text_width
from priorband.plots.drawing.pen import Array
from priorband.plots.drawing.style import INK, SMALL, display_name, styles
from priorband.plots.drawing.svg import drawing, plain, svg_text
from priorband.plots.drawing.ticks import Limits, scale_y
from priorband.values import frozen, settle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_LEVELS = 50
"""The number of losses at which the density is computed."""
_HALF_WIDTH = 0.42
_NUMBERS = 9
"""The width of the y-axis numbers in points."""
_ROW = 0.13
"""The height of a row of text, as a share of a panel's height."""
_REACH = 2.5
"""How far above the upper quartile a panel shows losses, in interquartile ranges."""
_SIGNS = {
    "median": ("_", "black", 9.0, 1.6),
    "quartiles": ("|", "black", 9.0, 2.6),
    "mode of the prior": ("D", "white", 4.6, 0.9),
    "more above": ("^", INK, 4.0, 0.0),
}


@final
@frozen
class Group:
    """A violin: its losses, a loss to mark, and a text above it."""

    label: str
    values: Array
    mark: float | None = None
    text: str = ""

    def __post_init__(self) -> None:
        values = np.asarray(self.values, float)
        if values.ndim != 1:
            raise DataError(
                f"The values of the group {self.label!r} must be one-dimensional, got the shape "
                f"{values.shape}."
            )
        settle(self, values=values[~np.isnan(values)])


@final
@frozen
class ViolinPanel:
    """A panel of violins."""

    title: str
    groups: tuple[Group, ...]


def violins(
    panels: Sequence[ViolinPanel],
    y_label: str,
    columns: int = 3,
    log_y: bool = False,
    name: str = "violins",
) -> str:
    """An SVG figure of panels, each with its own scale, whose ids start with `name`."""
    grid = PanelGrid(len(panels), columns)
    labels = [tuple(group.label for group in panel.groups) for panel in panels]
    colours = {label: look.colour for label, look in styles(sum(labels, ())).items()}
    with drawing():
        figure, places = grid.open()
        for index, (place, panel) in enumerate(zip(places, panels, strict=True)):
            spacing = (grid.panel_width - _NUMBERS) / (len(panel.groups) + 0.2)
            limits = _limits(panel, log_y)
            rows = _rows([group.text for group in panel.groups], spacing)
            scale_y(place, _raised(limits, rows, log_y), log_y)
            _names(place, panel, grid.last(index) or len(set(labels)) > 1, spacing)
            for at, group in enumerate(panel.groups):
                _violin(place, at, group, colours[group.label], limits)
                if group.text:
                    _text(place, at, 0.95 - _ROW * (at % rows), group.text)
        grid.entitle(places, [panel.title for panel in panels], [""] * len(panels))
        grid.label(figure, "", y_label)
        legend(figure, [_sign(sign) for sign in _SIGNS], list(_SIGNS), length=1.2)
        titles = ", ".join(panel.title for panel in panels)
        groups = ", ".join(map(display_name, colours))
        return svg_text(figure, name, f"{y_label} as violins of {groups}. Panels: {titles}.")


def density(values: Array, levels: Array) -> Array:
    """A Gaussian kernel density with the bandwidth of Silverman's rule of thumb.

    The bandwidth is 0.9 n^(-1/5) times the standard deviation, or times the interquartile range /
    1.34 if that is smaller.
    """
    low, high = np.percentile(values, [25, 75])
    spread = min(s for s in (float(np.std(values, ddof=1)), (high - low) / 1.34, np.inf) if s > 0)
    width = 0.9 * len(values) ** -0.2 * spread
    heights = np.zeros(len(levels))
    for part in np.array_split(values, len(values) // 4096 + 1):
        heights += np.exp(-0.5 * ((levels[:, None] - part) / width) ** 2).sum(axis=1)
    densities: Array = heights / (len(values) * width * np.sqrt(2 * np.pi))
    return densities


def _finite(values: Array, log_y: bool) -> Array:
    known = values[np.isfinite(values)]
    return known[known > 0] if log_y else known


def _reach(group: Group, log_y: bool) -> list[float]:
    """The range of a group to show, without losses far above its quartiles, and its mark."""
    mark = [] if group.mark is None else [group.mark]
    known, marks = _finite(group.values, log_y), _finite(np.array(mark, float), log_y)
    if log_y:
        known, marks = np.log(known), np.log(marks)
    if not len(known):
        return [*marks]
    low, high = np.percentile(known, [25, 75])
    more = _REACH * (high - low) or np.inf
    return [known.min(), min(known.max(), high + more), *marks]


def _limits(panel: ViolinPanel, log_y: bool) -> Limits:
    """The range of all groups to show, with a margin."""
    every = np.array([end for group in panel.groups for end in _reach(group, log_y)])
    if not len(every):
        return (0.1, 1.0) if log_y else (0.0, 1.0)
    low, high = float(every.min()), float(every.max())
    more = 0.05 * (high - low) or 0.5
    low, high = low - more, high + more
    return (float(np.exp(low)), float(np.exp(high))) if log_y else (low, high)


def _rows(texts: Sequence[str], spacing: float) -> int:
    """The number of rows for the texts above the violins, so that they do not overlap."""
    if not any(texts):
        return 0
    return 1 if _fit([plain(text) for text in texts], spacing) else 2


def _fit(texts: Sequence[str], spacing: float) -> bool:
    """Whether texts at a distance of `spacing` do not overlap, by the widest line of each."""
    widths = [max(text_width(line, SMALL) for line in f"{text}\n ".split("\n")) for text in texts]
    return all((one + other) / 2 < spacing - 1 for one, other in pairwise(widths))


def _raised(limits: Limits, rows: int, log_y: bool) -> Limits:
    """Limits with space above for rows of text."""
    share = 1 / (1 - _ROW * rows)
    low, high = limits
    if log_y:
        return low, low * (high / low) ** share
    return low, low + (high - low) * share


def _names(axes: "Axes", panel: ViolinPanel, shown: bool, spacing: float) -> None:
    """Put the names of groups below them: on one line, one word per line, or rotated."""
    names = [plain(display_name(group.label)) for group in panel.groups]
    folded = [name.replace(" ", "\n") for name in names]
    axes.set_xlim(-0.6, max(1, len(names)) - 0.4)
    if _fit(names, spacing):
        axes.set_xticks(range(len(names)), names)
    elif _fit(folded, spacing):
        axes.set_xticks(range(len(names)), folded)
    else:
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor")
    axes.tick_params(axis="x", length=0, labelbottom=shown)
    axes.grid(visible=False, axis="x")


def _violin(axes: "Axes", at: int, group: Group, colour: str, limits: Limits) -> None:
    log_y = axes.get_yscale() == "log"
    values = _finite(group.values, log_y)
    if len(values):
        _body(axes, at, np.log(values) if log_y else values, colour, limits)
        low, middle, high = np.percentile(values, [25, 50, 75])
        axes.plot([at, at], [low, high], color="black", linewidth=2.4, solid_capstyle="butt")
        axes.plot([at - 0.15, at + 0.15], [middle, middle], color="black", linewidth=1.6)
    else:
        _text(axes, at, 0.5, "no data")
    if np.any(group.values > limits[1]):
        _put(axes, "more above", at, limits[1])
    for mark in _finite(np.array([] if group.mark is None else [group.mark]), log_y):
        _put(axes, "mode of the prior", at, mark)


def _body(axes: "Axes", at: int, values: Array, colour: str, limits: Limits) -> None:
    """Draw the density from the lowest to the highest value within the limits."""
    low, high = np.log(limits) if axes.get_yscale() == "log" else limits
    bottom, top = max(low, float(values.min())), min(high, float(values.max()))
    if len(values) < 2 or values.min() == values.max():
        levels, half = np.array([bottom, bottom]), np.full(2, _HALF_WIDTH)
    else:
        levels = np.linspace(bottom, top, _LEVELS)
        half = density(values, levels)
        half *= _HALF_WIDTH / half.max()
    heights = np.exp(levels) if axes.get_yscale() == "log" else levels
    axes.fill_betweenx(
        heights, at - half, at + half, facecolor=colour, alpha=0.55, edgecolor=INK, linewidth=0.5
    )


def _put(axes: "Axes", sign: str, at: float, height: float) -> None:
    drawn = _sign(sign)
    drawn.set_data([at], [height])
    drawn.set_zorder(5)
    drawn.set_clip_on(False)
    axes.add_line(drawn)


def _text(axes: "Axes", at: float, height: float, text: str) -> None:
    """Draw a text at a height from 0 to 1 of the panel."""
    place = axes.get_xaxis_transform()
    shown = axes.text(at, height, "", transform=place, ha="center", va="center", color=INK)
    shown.set(text=plain(text), fontsize=SMALL)


def _sign(name: str) -> "Line2D":
    """A marker, as in the legend."""
    from matplotlib.lines import Line2D

    marker, face, size, edge = _SIGNS[name]
    return Line2D(
        [],
        [],
        linestyle="",
        marker=marker,
        markersize=size,
        markerfacecolor=face,
        markeredgecolor="black",
        markeredgewidth=edge,
    )
