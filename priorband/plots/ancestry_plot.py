"""Ancestry: where a configuration comes from."""

from typing import TYPE_CHECKING

import numpy as np

from priorband.plots.drawing.finish import finished, say
from priorband.plots.drawing.grid import PanelGrid, legend
from priorband.plots.drawing.points import dot
from priorband.plots.drawing.style import SMALL
from priorband.plots.drawing.svg import drawing
from priorband.plots.drawing.texts import counted, sentences, short
from priorband.plots.drawing.theme import Theme, theme_of
from priorband.plots.drawing.ticks import number
from priorband.plots.studies import NO_RESULT, AnyStudy, as_data
from priorband.study_analysis.ancestry import Lineage
from priorband.study_analysis.ancestry import ancestry as ancestry_of
from priorband.study_analysis.source import StudyData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 12
"""The number of generations that are drawn."""


def ancestry(study: AnyStudy, trial: int | None = None, *, dark: bool = False) -> "Figure":
    """Plot where a configuration comes from: its trials, and the incumbents it was drawn near.

    Each row is a configuration, and each point one of its trials, from rung to rung, with its
    value. An arrow leads from an incumbent to a configuration that was drawn near it; the lowest
    row is the configuration itself.

    Args:
        study: a study, or `study_data` of one.
        trial: the id of a trial; None for the incumbent.
        dark: whether the background is dark.

    Returns:
        The figure. `plots.save` writes it to a file.

    Raises:
        TrialError: if there is no such trial.
        ExtraError: if matplotlib is not installed.

    >>> from priorband import Fidelity, Float, Space, Study, plots
    >>> study = Study(Space(x=Float(0, 1, prior=0.3)), Fidelity("epochs", 1, 9), "priorband")
    >>> for loss in range(15):
    ...     _ = study.tell(study.ask(), loss)
    >>> figure = plots.ancestry(study)
    """
    data, theme = as_data(study), theme_of(dark)
    found = ancestry_of(data, trial)
    generations = int(found.generation.max(initial=-1)) + 1
    rows = min(generations, _MOST)
    grid = PanelGrid(1, 1, theme, 7.0, float(np.clip(0.75 + 0.42 * rows, 1.5, 6.0)))
    with drawing(theme):
        figure, [axes] = grid.open()
        note = ""
        if not generations:
            say(axes, NO_RESULT, theme)
        else:
            colours = theme.origins(found.origin)
            _draw(axes, data, found, rows, colours, theme)
            legend(
                figure, [dot(c, 6) for c in colours.values()], [short(n, 30) for n in colours], 1
            )
            older = generations - rows
            note = sentences(
                f"{counted(older, 'older configuration')} are not drawn" if older else ""
            )
            grid.label(figure, short(data.problem.fidelity.name, 40), "")
        of = "the incumbent" if trial is None else f"trial {trial}"
        title = f"{short(data.name)}: where {of} comes from"
        grid.entitle([axes], [title], [note])
        return finished(figure, sentences(title, note))


def _draw(  # noqa: PLR0913  # one panel: what, where and how
    axes: "Axes", data: StudyData, found: Lineage, rows: int, colours: dict[str, str], theme: Theme
) -> None:
    fidelities = sorted({*data.ladder.fidelities, *found.fidelity.tolist()})
    across = np.searchsorted(fidelities, found.fidelity)
    names = dict[int, str]()
    for row in range(rows):
        own = np.flatnonzero(found.generation == row)
        colour = colours[found.origin[own[0]]]
        axes.plot(across[own], [row] * len(own), color=colour, linewidth=1.6, zorder=2)
        axes.scatter(across[own], [row] * len(own), color=colour, s=36, zorder=3, linewidths=0)
        for index in own.tolist():
            _value(axes, found, index, (float(across[index]), row), theme)
        names[row] = f"trial {found.trial[own[0]]}, {short(found.origin[own[0]], 20)}"
        if row + 1 < rows:
            source = int(np.flatnonzero(found.generation == row + 1)[0])
            start, end = (float(across[source]), row + 1.0), (float(across[own[0]]), float(row))
            _arrow(axes, start, end, theme)
    axes.set_yticks(list(names), list(names.values()))
    axes.set_ylim(-0.6, rows - 0.35)
    axes.set_xlim(-0.3, len(fidelities) - 0.5)
    axes.set_xticks(range(len(fidelities)), [number(each) for each in fidelities])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def _value(axes: "Axes", found: Lineage, index: int, at: tuple[float, float], theme: Theme) -> None:
    """Write the value of a trial above its point, or what became of it."""
    value = float(found.value[index])
    text = found.statuses[found.status[index]] if np.isnan(value) else number(float(f"{value:.4g}"))
    axes.annotate(text, at, (4, 4), "data", "offset points", fontsize=SMALL, color=theme.text)


def _arrow(
    axes: "Axes", start: tuple[float, float], end: tuple[float, float], theme: Theme
) -> None:
    look = {"arrowstyle": "-|>", "color": theme.ink, "linewidth": 0.9, "shrinkA": 4, "shrinkB": 4}
    axes.annotate("", end, start, "data", "data", arrowprops=look, zorder=1)
