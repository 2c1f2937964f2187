"""Several studies: their best values over the budget, on one axis."""

from typing import TYPE_CHECKING

import numpy as np

from priorband.plots.drawing.finish import finished, say
from priorband.plots.drawing.grid import PanelGrid, legend
from priorband.plots.drawing.pen import Array, Pen, handle
from priorband.plots.drawing.style import Style, styles
from priorband.plots.drawing.svg import drawing
from priorband.plots.drawing.texts import sentences, short
from priorband.plots.drawing.theme import Theme, theme_of
from priorband.plots.drawing.ticks import scale_x
from priorband.plots.drawing.value_axis import ValueAxis, value_axis
from priorband.plots.studies import NO_RESULT, AnyStudy, as_data
from priorband.study_analysis.compare import IncumbentComparison, compare_incumbents

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS = ("best full training", "incumbent, at any fidelity")


def compare(*studies: AnyStudy, dark: bool = False) -> "Figure":
    """Plot the best values of several studies over the budget.

    The left panel has the best full training of each study. The right one has the incumbent: the
    best configuration, each taken at the highest fidelity that it has finished. The budget is
    counted in full trainings of each study, so studies with the same full training are comparable.

    Args:
        studies: the studies, or `study_data` of each. All maximise, or none does.
        dark: whether the background is dark.

    Returns:
        The figure. `plots.save` writes it to a file.

    Raises:
        ArgumentError: if there is no study, or some maximise and others do not.
        ExtraError: if matplotlib is not installed.

    >>> from priorband import Fidelity, Float, Space, Study, plots
    >>> space, epochs = Space(x=Float(0, 1, prior=0.3)), Fidelity("epochs", 1, 9)
    >>> one, other = Study(space, epochs, "priorband"), Study(space, epochs, "hyperband")
    >>> for loss in range(12):
    ...     _ = one.tell(one.ask(), 1 / (1 + loss)), other.tell(other.ask(), 2 / (1 + loss))
    >>> figure = plots.compare(one, other)
    """
    found = compare_incumbents([as_data(study) for study in studies])
    theme = theme_of(dark)
    grid = PanelGrid(2, 2, theme, 7.0, 2.6)
    names = [short(name, 45) for name in found.names]
    looks = list(styles(f"study {index}" for index in range(len(names))).values())
    with drawing(theme):
        figure, places = grid.open()
        tables = (found.full, found.any_fidelity)
        axis = value_axis(np.concatenate([each.ravel() for each in tables]), found.maximize)
        notes = [
            _draw(axes, found, table, axis, looks, theme)
            for axes, table in zip(places, tables, strict=True)
        ]
        legend(figure, [handle(look, theme) for look in looks], names)
        grid.entitle(places, _PANELS, notes)
        grid.label(figure, "budget spent, in full trainings of each study", "value")
        about = f"The best values of {', '.join(names)} over the budget"
        return finished(figure, sentences(about, *(note for note in notes if note)))


def _draw(  # noqa: PLR0913  # one panel: what, where and how
    axes: "Axes",
    found: IncumbentComparison,
    table: Array,
    axis: ValueAxis,
    looks: list[Style],
    theme: Theme,
) -> str:
    """Draw a line for each study, and return which ones have none."""
    if np.all(np.isnan(table)):
        say(axes, NO_RESULT, theme)
        return ""
    end = float(found.spent[-1]) or 1.0
    scale_x(axes, (0.0, end * 1.01))
    axis.apply(axes)
    pen = Pen(axes, True, 2000, (0.0, end * 1.01), axis.limits, theme)
    nothing = np.full(len(found.spent), np.nan)
    for index, (row, look) in enumerate(zip(table, looks, strict=True)):
        pen.line(found.spent, row, nothing, look, (index + 0.5) / len(looks))
    without = [
        short(n, 30) for n, row in zip(found.names, table, strict=True) if np.all(np.isnan(row))
    ]
    return f"none yet: {', '.join(without)}" if without else ""
