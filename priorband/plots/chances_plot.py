"""The probabilities of the sources of new configurations over the budget, and the evidence."""

from typing import TYPE_CHECKING

import numpy as np

from priorband.plots.drawing.finish import finished, say
from priorband.plots.drawing.grid import PanelGrid, legend
from priorband.plots.drawing.pen import Pen, handle
from priorband.plots.drawing.points import patch
from priorband.plots.drawing.style import BLUE, DOTS, RED, SMALL, Style
from priorband.plots.drawing.svg import drawing
from priorband.plots.drawing.texts import counted, sentences, short
from priorband.plots.drawing.theme import Theme, theme_of
from priorband.plots.drawing.ticks import number, scale_y
from priorband.plots.studies import AnyStudy, as_data, rung_legend
from priorband.study_analysis.chances import ChancesOverBudget, chances_over_budget
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.spread import spread_positions
from priorband.study_analysis.trial_columns import Bools

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SCORES = {
    "score of the prior": Style(BLUE, width=1.5),
    "score of the incumbent": Style(RED, DOTS, width=1.5),
}
_STRIP = (-0.12, -0.04)
"""Where the strip with the rungs is, on the axis of the probabilities."""
_TICKS = 9


def chances(study: AnyStudy, *, dark: bool = False) -> "Figure":
    """Plot with which probability new configurations were drawn from each source, over the budget.

    Each column is one draw, with the probabilities of the sources one above the other. The strip
    below says at which fidelity the configuration starts, on which the probabilities depend. The
    lower panel has the evidence behind them: the log scores of the prior and of the density around
    the incumbent on the best trials. The one with the higher score is drawn from more often.

    Args:
        study: a study, or `study_data` of one.
        dark: whether the background is dark.

    Returns:
        The figure. `plots.save` writes it to a file.

    Raises:
        ExtraError: if matplotlib is not installed.

    >>> from priorband import Fidelity, Float, Space, Study, plots
    >>> study = Study(Space(x=Float(0, 1, prior=0.3)), Fidelity("epochs", 1, 9), "priorband")
    >>> for loss in range(15):
    ...     _ = study.tell(study.ask(), loss)
    >>> figure = plots.chances(study)
    """
    data, theme = as_data(study), theme_of(dark)
    found = chances_over_budget(data)
    known: Bools = np.any(np.isfinite(found.probability), axis=0)
    scored = bool(np.any(np.isfinite(found.prior_score)))
    title = f"{short(data.name)}: where new configurations were drawn from"
    note = f"{found.repeated:,} of {counted(found.decisions, 'draw')} are drawn, evenly spread"
    note = sentences(note if found.repeated < found.decisions else "")
    with drawing(theme):
        grid = PanelGrid(1 + scored, 1, theme, 7.0, 1.75 if scored else 2.4)
        figure, places = grid.open()
        if not known.any():
            say(places[0], _why_nothing(found), theme)
        else:
            colours = theme.origins(found.sources)
            _areas(places[0], found, colours)
            _strip(places[0], data, found, theme)
            if scored:
                _evidence(places[1], found, theme)
            for index, axes in enumerate(places):
                _number_draws(axes, found, grid.last(index))
            _legend(figure, data, colours, scored, theme)
            below = "trial, and budget spent when it was drawn, in full trainings"
            grid.label(figure, below, "")
            places[0].set_ylabel("probability", fontsize=SMALL + 1)
        grid.entitle(places, [title, *["evidence"] * scored], [note, *[""] * scored])
        return finished(figure, sentences(title, note))


def _why_nothing(found: ChancesOverBudget) -> str:
    if not found.decisions:
        return "no configuration was drawn yet"
    return "this method draws from one source at a time, without probabilities"


def _areas(axes: "Axes", found: ChancesOverBudget, colours: dict[str, str]) -> None:
    """Draw the probabilities of each draw, one above the other; nothing where they are unknown."""
    edges = np.arange(len(found.trial) + 1)
    rows = np.column_stack((found.probability, found.probability[:, -1]))
    tops = np.cumsum(np.nan_to_num(rows), axis=0)
    below = np.zeros(len(edges))
    for top, colour in zip(tops, colours.values(), strict=True):
        axes.fill_between(edges, below, top, step="post", color=colour, linewidth=0, zorder=2)
        below = top
    axes.set_ylim(_STRIP[0] - 0.03, 1)
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.grid(visible=False)


def _strip(axes: "Axes", data: StudyData, found: ChancesOverBudget, theme: Theme) -> None:
    """Draw the rung on which each configuration starts, as a strip of colours."""
    colours = [theme.faint, *theme.ordered(data.ladder.top + 1)]
    for rung in np.unique(found.rung).tolist():
        places = [(int(at), 1) for at in np.flatnonzero(found.rung == rung)]
        low, high = _STRIP
        colour = colours[rung + 1]
        axes.broken_barh(places, (low, high - low), facecolors=colour, linewidth=0, zorder=2)


def _evidence(axes: "Axes", found: ChancesOverBudget, theme: Theme) -> None:
    rows = np.stack((found.prior_score, found.incumbent_score))
    known = rows[np.isfinite(rows)]
    low, high = float(known.min()), float(known.max())
    more = 0.06 * (high - low) or 0.5
    limits = (low - more, high + more)
    scale_y(axes, limits, log=False)
    across = np.arange(len(found.trial) + 1.0)
    pen = Pen(axes, True, len(across), (0.0, across[-1]), limits, theme)
    for row, look in zip(rows, _SCORES.values(), strict=True):
        pen.line(across, np.append(row, row[-1]), np.full(len(across), np.nan), look, 0.5)
    axes.set_ylabel("log score", fontsize=SMALL + 1)


def _number_draws(axes: "Axes", found: ChancesOverBudget, numbers: bool) -> None:
    """Label some draws with their trial and the budget spent before them."""
    count = len(found.trial)
    axes.set_xlim(0, count)
    some = spread_positions(count, _TICKS)
    spent = [number(float(f"{found.spent[i]:.3g}")) for i in some.tolist()]
    texts = [f"{n:,}\n{each}" for n, each in zip(found.trial[some].tolist(), spent, strict=True)]
    axes.set_xticks(some + 0.5, texts if numbers else [""] * len(some))


def _legend(
    figure: "Figure", data: StudyData, colours: dict[str, str], scored: bool, theme: Theme
) -> None:
    entries = [(patch(colour), short(name, 30)) for name, colour in colours.items()]
    texts = [text for _, text in rung_legend(data, theme)]
    shades = zip(theme.ordered(len(texts)), texts, strict=True)
    entries += [(patch(colour), text) for colour, text in shades]
    entries += [(handle(look, theme), text) for text, look in _SCORES.items() if scored]
    legend(figure, [mark for mark, _ in entries], [text for _, text in entries], length=1.6)
