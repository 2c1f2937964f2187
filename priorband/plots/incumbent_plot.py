"""The best value over budget or time."""

from typing import TYPE_CHECKING, Literal, final

import numpy as np

from priorband.errors import ArgumentError, suggestion
from priorband.plots.drawing.finish import finished, say
from priorband.plots.drawing.grid import PanelGrid, legend
from priorband.plots.drawing.pen import Array, Pen, handle
from priorband.plots.drawing.points import MOST_POINTS, dot, draw_points
from priorband.plots.drawing.style import DOTS, RED, Style
from priorband.plots.drawing.svg import drawing
from priorband.plots.drawing.texts import counted, sentences, short
from priorband.plots.drawing.theme import Theme, theme_of
from priorband.plots.drawing.ticks import scale_x
from priorband.plots.drawing.times import time_unit
from priorband.plots.drawing.value_axis import value_axis
from priorband.plots.studies import NO_RESULT, AnyStudy, as_data, rung_legend
from priorband.study_analysis.incumbent import (
    IncumbentHistory,
    IncumbentSteps,
    incumbent_over_budget,
)
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.spread import spread_positions
from priorband.values import frozen

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Over = Literal["budget", "time"]
OVER = ("budget", "time")
FULL = Style(RED, width=1.9)
ANY = Style(RED, DOTS, width=1.4)
_NO_CLOCK = "a study in memory has no clock: plot it over the budget"


@final
@frozen
class Abscissa:
    """The x-axis: budget or time, and how to read it from the steps of an incumbent."""

    over: Over
    end: float
    """Where the study is now; NaN if unknown."""
    unit: float
    label: str

    def of(self, steps: IncumbentSteps) -> Array:
        """Where each step lies."""
        return steps.spent if self.over == "budget" else steps.time / self.unit


def abscissa(over: str, spent: float, elapsed: float) -> Abscissa:
    """The x-axis of a study; `spent` is in full trainings, `elapsed` in seconds."""
    if over == "budget":
        return Abscissa("budget", spent, 1.0, "budget spent, in full trainings")
    if over == "time":
        name, length = time_unit(elapsed)
        return Abscissa("time", elapsed / length, length, f"{name} since the study was created")
    raise ArgumentError(
        f"`over` must be 'budget' or 'time', got {over!r}. {suggestion(over, OVER)}"
    )


def incumbent(study: AnyStudy, *, over: Over = "budget", dark: bool = False) -> "Figure":
    """Plot the best value so far over the budget or the time, and the results of all trials.

    The solid line is the best full training. The dotted one is the incumbent: the best
    configuration, each taken at the highest fidelity that it has finished. It can get worse, when a
    configuration that led at a low fidelity turns out worse at a higher one. Points are trials, the
    darker (on a dark background, the lighter) the higher their fidelity.

    Args:
        study: a study, or `study_data` of one.
        over: "budget" in full trainings, or "time" since the study was created.
        dark: whether the background is dark.

    Returns:
        The figure. `plots.save` writes it to a file.

    Raises:
        ArgumentError: if `over` is something else.
        ExtraError: if matplotlib is not installed.

    >>> from priorband import Fidelity, Float, Space, Study, plots
    >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "sh")
    >>> for loss in (0.5, 0.7, 0.2):
    ...     _ = study.tell(study.ask(), loss)
    >>> figure = plots.incumbent(study)
    >>> figure.savefig("incumbent.png")  # doctest: +SKIP
    """
    data, theme = as_data(study), theme_of(dark)
    found = incumbent_over_budget(data)
    axis = abscissa(over, found.spent, found.elapsed)
    grid = PanelGrid(1, 1, theme, 7.0, 3.1)
    with drawing(theme):
        figure, [axes] = grid.open()
        notes = [_notes(data)]
        if not len(found.any_fidelity.value):
            say(axes, NO_RESULT, theme)
        elif over == "time" and np.isnan(found.elapsed):
            say(axes, _NO_CLOCK, theme)
        else:
            notes += _draw(axes, data, found, axis, theme)
            handles, labels = _legend(data, theme)
            legend(figure, handles, labels, length=2.4)
        title = f"{short(data.name)}: {'highest' if data.maximize else 'lowest'} value so far"
        grid.entitle([axes], [title], [sentences(*notes)])
        grid.label(figure, axis.label, "value")
        return finished(figure, f"{title}, over {axis.label}. {sentences(*notes)}")


def _draw(
    axes: "Axes", data: StudyData, found: IncumbentHistory, axis: Abscissa, theme: Theme
) -> list[str]:
    """Draw points and lines, and return what the figure does not show."""
    trials = data.trials
    order = trials.order
    ended = order[np.isfinite(data.values[order])]
    where = np.full(len(trials), np.nan)
    if axis.over == "budget":
        where[order] = np.cumsum(trials.units[order]) / data.full
    else:
        where = data.times.ended / axis.unit
    some = ended[spread_positions(len(ended), MOST_POINTS)]
    lines = (found.full, found.any_fidelity)
    shown = value_axis(
        data.values[ended], data.maximize, np.concatenate([steps.value[-1:] for steps in lines])
    )
    end = axis.end if axis.end > 0 else 1.0
    across = (0.0, end * 1.01)
    scale_x(axes, across)
    shown.apply(axes)
    colours = {-1: theme.faint, **dict(enumerate(theme.ordered(data.ladder.top + 1)))}
    draw_points(axes, where[some], shown.within(data.values[some]), trials.rung[some], colours)
    pen = Pen(axes, True, 2000, across, shown.limits, theme)
    for steps, look in zip(lines, (FULL, ANY), strict=True):
        if len(steps.value):
            x, y = np.append(axis.of(steps), axis.end), np.append(steps.value, steps.value[-1])
            pen.line(x, y, np.full(len(x), np.nan), look, 0.5)
    left_out = len(ended) - len(some)
    beyond = shown.beyond(data.values[ended])
    return [
        f"{len(some):,} of {counted(len(ended), 'result')} are drawn" if left_out else "",
        f"{counted(beyond, 'worse result')} at the edge" if beyond else "",
    ]


def _notes(data: StudyData) -> str:
    statuses = np.bincount(data.trials.status, minlength=3)
    running, succeeded, failed = statuses.tolist()
    parts = [counted(succeeded, "result"), f"{failed:,} failed", f"{running:,} running"]
    return ", ".join(part for part, count in zip(parts, (1, failed, running), strict=True) if count)


def _legend(data: StudyData, theme: Theme) -> "tuple[list[Artist], list[str]]":
    lines = [(handle(FULL, theme), "best full training"), (handle(ANY, theme), "incumbent")]
    entries = lines + rung_legend(data, theme)
    if np.any(data.trials.rung == -1):
        entries.append((dot(theme.faint), "another"))
    return [mark for mark, _ in entries], [label for _, label in entries]
