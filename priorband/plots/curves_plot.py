"""Learning curves, joined along promotions."""

from typing import TYPE_CHECKING

import numpy as np

from priorband.plots.drawing.finish import finished, say
from priorband.plots.drawing.grid import PanelGrid, legend
from priorband.plots.drawing.pen import Array, handle
from priorband.plots.drawing.points import RASTER_FROM
from priorband.plots.drawing.style import GREY, RED, Style
from priorband.plots.drawing.svg import drawing
from priorband.plots.drawing.texts import counted, sentences, short
from priorband.plots.drawing.theme import Theme, theme_of
from priorband.plots.drawing.ticks import Limits, number, scale_x
from priorband.plots.drawing.value_axis import ValueAxis, value_axis
from priorband.plots.studies import NO_RESULT, AnyStudy, as_data
from priorband.study import BaseStudy
from priorband.study_analysis.curves import CurveColumns, learning_curves, no_points, study_points
from priorband.study_analysis.ranked_configs import ranked_configs
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.spread import spread_positions
from priorband.study_analysis.trial_columns import Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BEST = 10
_MOST_CURVES, _MOST_FILES = 2000, 500
"""How many curves are drawn of results alone, and of reports, which are a file for each trial."""
_MOST_POINTS = 60_000
_LOG_FROM = 10.0
"""The ratio of the highest to the lowest step from which their axis is logarithmic."""


def curves(study: AnyStudy, *, dark: bool = False) -> "Figure":
    """Plot learning curves, each joined along the promotions of its configuration.

    The ten best configurations are emphasised, and the incumbent most. A stored study has the
    values that objectives report step by step; a study in memory, and `study_data`, only have the
    results on the rungs, which are the dotted lines.

    Args:
        study: a study, or `study_data` of one.
        dark: whether the background is dark.

    Returns:
        The figure. `plots.save` writes it to a file.

    Raises:
        ExtraError: if matplotlib is not installed.

    >>> from priorband import Fidelity, Float, Space, Study, plots
    >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "sh")
    >>> for loss in range(13):
    ...     _ = study.tell(study.ask(), 1 / (1 + loss))
    >>> figure = plots.curves(study)
    """
    data, theme = as_data(study), theme_of(dark)
    points = study_points(study) if isinstance(study, BaseStudy) else no_points
    ranked = data.trials.root[ranked_configs(data)]
    roots = _chosen(data, ranked, _MOST_CURVES if points is no_points else _MOST_FILES)
    found = learning_curves(data, points, roots, _MOST_POINTS)
    title = f"{short(data.name)}: learning curves"
    grid = PanelGrid(1, 1, theme, 7.0, 3.1)
    with drawing(theme):
        figure, [axes] = grid.open()
        note = ""
        if not len(found.value):
            say(axes, NO_RESULT, theme)
        else:
            best = ranked[:_BEST]
            axis = value_axis(found.value, data.maximize, _values_of(found, best))
            span = _scale(axes, data, found.step)
            axis.apply(axes)
            _draw(axes, found, best, axis, theme)
            for fidelity in data.ladder.fidelities:
                if span[0] < fidelity < span[1]:
                    axes.axvline(fidelity, color=theme.grid, linewidth=0.8, zorder=1)
            _legend(figure, len(best), len(np.unique(found.root)), theme)
            note = _note(data, found, axis, len(roots))
        grid.entitle([axes], [title], [note])
        grid.label(figure, short(data.problem.fidelity.name, 40), "value")
        return finished(figure, sentences(title, note))


def _chosen(data: StudyData, ranked: Ints, most: int) -> Ints:
    """The first trials of the curves to draw: the best, and others spread evenly over the study."""
    every = np.unique(data.trials.root)
    rest = np.setdiff1d(every, ranked[:_BEST])
    return np.union1d(ranked[:_BEST], rest[spread_positions(len(rest), most - _BEST)])


def _values_of(found: CurveColumns, roots: Ints) -> Array:
    return found.value[np.isin(found.root, roots)]


def _scale(axes: "Axes", data: StudyData, steps: Array) -> Limits:
    """Set the x-axis: logarithmic if the steps span a factor of ten."""
    low, high = min(float(steps.min()), data.ladder.fidelities[0]), data.full
    if low > 0 and high / low >= _LOG_FROM:
        from matplotlib.ticker import NullLocator

        span = low / 1.08, high * 1.08
        axes.set_xscale("log")
        axes.set_xlim(*span)
        shown = [each for each in data.ladder.fidelities if low <= each <= high]
        axes.set_xticks(shown, [number(each) for each in shown])
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        more = 0.03 * (high - low) or 0.5
        span = low - more, high + more
        scale_x(axes, span)
    return span


def _looks(theme: Theme) -> tuple[Style, Style, Style]:
    """Of the incumbent, of the best and of others."""
    faint = theme.faint if theme.lighter else GREY
    return Style(RED, width=2.4), Style(RED, width=1.1), Style(faint, width=0.8)


def _draw(axes: "Axes", found: CurveColumns, best: Ints, axis: ValueAxis, theme: Theme) -> None:
    from matplotlib.collections import LineCollection

    starts = np.flatnonzero(np.diff(found.root, prepend=-1))
    points = np.stack((found.step, axis.within(found.value)), axis=1)
    paths = np.split(points, starts[1:])
    names = found.root[starts]
    many = len(paths) > RASTER_FROM // 3
    first = names == (best[0] if len(best) else -1)
    groups = (first, np.isin(names, best) & ~first, ~np.isin(names, best))
    for order, (group, look) in enumerate(zip(groups, _looks(theme), strict=True)):
        own = [paths[index] for index in np.flatnonzero(group).tolist()]
        colour = theme.colour(look.colour)
        alpha = 1.0 if order < 2 else float(np.clip(80 / max(len(own), 1), 0.15, 0.7))
        lines = [path for path in own if len(path) > 1]
        axes.add_collection(
            LineCollection(
                lines,
                colors=colour,
                linewidths=look.width,
                alpha=alpha,
                zorder=4 - order,
                rasterized=many and order == 2,
            )
        )
        single = np.array([path[0] for path in own if len(path) == 1]).reshape(-1, 2)
        axes.scatter(
            single[:, 0],
            single[:, 1],
            s=8 if order == 2 else 18,
            color=colour,
            alpha=alpha,
            linewidths=0,
            zorder=4 - order,
            rasterized=many and order == 2,
        )


def _legend(figure: "Figure", best: int, count: int, theme: Theme) -> None:
    texts = ["incumbent", f"the other {best - 1} of the best {best}", "others"]
    kept = [best > 0, best > 1, count > best]
    looks = [look for look, keep in zip(_looks(theme), kept, strict=True) if keep]
    legend(
        figure,
        [handle(look, theme) for look in looks],
        [text for text, keep in zip(texts, kept, strict=True) if keep],
    )


def _note(data: StudyData, found: CurveColumns, axis: ValueAxis, chosen: int) -> str:
    every = len(np.unique(data.trials.root))
    drawn = len(np.unique(found.root))
    beyond = axis.beyond(found.value)
    return sentences(
        f"{drawn:,} of {counted(every, 'curve')} are drawn"
        if chosen < every
        else counted(drawn, "curve"),
        f"{len(found.value):,} of {counted(found.points, 'point')}"
        if len(found.value) < found.points
        else "",
        f"{counted(beyond, 'worse value')} at the edge" if beyond else "",
    )
