"""Figures with panels of curves: ranks, regrets, shares, correlations and traces."""

from collections.abc import Iterable, Sequence
from typing import final

import numpy as np

from priorband.errors import DataError
from priorband.plots.drawing.grid import PanelGrid, legend
from priorband.plots.drawing.pen import Array, Pen, handle
from priorband.plots.drawing.style import display_name, styles
from priorband.plots.drawing.svg import drawing, svg_text
from priorband.plots.drawing.ticks import Limits, scale_x, scale_y
from priorband.values import derived, frozen, settle

_MOST_POINTS = 300
_ALL_POINTS = 3300
"""The number of points of all lines of a figure: without it 48 lines of 400 points take 2 MB."""


@final
@frozen
class Line:
    """A curve and its standard error; nan values are not drawn."""

    label: str
    """The name of a method, which determines the style of the line, or another text."""
    x: Array
    y: Array
    error: Array | None = None
    spread: Array = derived()
    """The error; nan if none was passed."""

    def __post_init__(self) -> None:
        x, y = np.asarray(self.x, float), np.asarray(self.y, float)
        spread = np.full(y.shape, np.nan) if self.error is None else np.asarray(self.error, float)
        if x.ndim != 1 or not x.shape == y.shape == spread.shape:
            raise DataError(
                f"The line {self.label!r} needs x, y and error of the same length, got shapes "
                f"{x.shape}, {y.shape} and {spread.shape}."
            )
        known = np.isfinite(x)
        if np.any(np.diff(x[known]) < 0):
            raise DataError(f"The x of the line {self.label!r} must be ascending. Sort the points.")
        y, spread = (np.where(np.isfinite(some), some, np.nan)[known] for some in (y, spread))
        settle(self, x=x[known], y=y, spread=spread)


@final
@frozen
class Panel:
    """Lines, with dotted vertical lines at the marks and a dashed horizontal one at the level."""

    title: str
    lines: tuple[Line, ...]
    marks: tuple[float, ...] = ()
    level: float | None = None
    note: str = ""


@final
@frozen
class Frame:
    """The labels, scales and limits of a figure's axes; limits of None follow the data."""

    x_label: str
    y_label: str
    columns: int = 3
    log_y: bool = False
    step: bool = True
    """Whether to draw steps; otherwise points are joined by lines."""
    x_limits: Limits | None = None
    y_limits: Limits | None = None
    invert_y: bool = False
    share_x: bool = True
    share_y: bool = True
    """Whether all panels have the same limits; then only those at the edge have numbers."""

    def __post_init__(self) -> None:
        for limits, least in (
            (self.x_limits, -np.inf),
            (self.y_limits, 0 if self.log_y else -np.inf),
        ):
            if limits is not None and not least < limits[0] < limits[1] < np.inf:
                raise DataError(
                    f"Limits must be finite, with the lower one first, and above 0 on a log axis, "
                    f"got {limits}."
                )


def curves(panels: Sequence[Panel], frame: Frame, name: str = "curves") -> str:
    """An SVG figure of panels with a common legend, whose ids start with `name`."""
    grid = PanelGrid(len(panels), frame.columns)
    looks = styles(line.label for panel in panels for line in panel.lines)
    with drawing():
        figure, places = grid.open()
        spans = _spans(panels, frame)
        budget = _ALL_POINTS // max(1, sum(len(panel.lines) for panel in panels))
        for index, (place, panel, span) in enumerate(zip(places, panels, spans, strict=True)):
            scale_x(place, span[0], numbers=grid.last(index) or not frame.share_x)
            scale_y(place, span[1], frame.log_y, grid.first(index) or not frame.share_y)
            if frame.invert_y:
                place.invert_yaxis()
            pen = Pen(place, frame.step, min(budget, _MOST_POINTS), *span)
            pen.rules(panel.marks, panel.level)
            if all(np.all(np.isnan(line.y)) for line in panel.lines):
                pen.nothing()
            for order, line in enumerate(panel.lines):
                stagger = (order + 0.5) / len(panel.lines)
                pen.line(line.x, line.y, line.spread, looks[line.label], stagger)
        grid.entitle(places, [p.title for p in panels], [p.note for p in panels])
        grid.label(figure, frame.x_label, frame.y_label)
        shown = {display_name(label): look for label, look in looks.items()}
        legend(figure, [handle(look) for look in shown.values()], list(shown))
        return svg_text(figure, name, _description(panels, frame, shown))


def _description(panels: Sequence[Panel], frame: Frame, labels: Iterable[str]) -> str:
    titles = ", ".join(panel.title for panel in panels if panel.title)
    return (
        f"{frame.y_label} over {frame.x_label}. Lines: {', '.join(labels)}. "
        f"{len(panels)} panel{'s' * (len(panels) > 1)}: {titles}."
    )


def _spans(panels: Sequence[Panel], frame: Frame) -> list[tuple[Limits, Limits]]:
    """The limits of each panel's axes."""
    lines = [panel.lines for panel in panels]
    every = [line for some in lines for line in some]
    across = [frame.x_limits or _across(every if frame.share_x else some) for some in lines]
    levels = [() if panel.level is None else (panel.level,) for panel in panels]
    if frame.share_y:
        joined = tuple(level for some in levels for level in some)
        low = min(limits[0] for limits in across), max(limits[1] for limits in across)
        up = [frame.y_limits or _up(every, low, joined, frame)] * len(panels)
    else:
        up = [
            frame.y_limits or _up(some, limits, level, frame)
            for some, limits, level in zip(lines, across, levels, strict=True)
        ]
    return list(zip(across, up, strict=True))


def _across(lines: Iterable[Line]) -> Limits:
    seen = np.concatenate([[], *(line.x[~np.isnan(line.y)] for line in lines)])
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _up(lines: Iterable[Line], across: Limits, levels: tuple[float, ...], frame: Frame) -> Limits:
    """The range of the values with errors within the x limits, with a margin."""
    seen = [np.asarray(levels, float)]
    for line in lines:
        start = max(0, int(np.searchsorted(line.x, across[0], "right")) - 1) if frame.step else 0
        inside = slice(start, int(np.searchsorted(line.x, across[1], "right")))
        y, spread = line.y[inside], np.nan_to_num(line.spread[inside])
        seen += [y, y - spread, y + spread]
    values = np.concatenate(seen)
    values = values[np.isfinite(values) & ((values > 0) | (not frame.log_y))]
    if not len(values):
        return (0.1, 1.0) if frame.log_y else (0.0, 1.0)
    values = np.log(values) if frame.log_y else values
    low, high = float(values.min()), float(values.max())
    more = 0.04 * (high - low) or 0.5
    low, high = low - more, high + more
    return (float(np.exp(low)), float(np.exp(high))) if frame.log_y else (low, high)
