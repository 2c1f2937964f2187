"""Rung flow: which origins the trials of each rung have, and what became of them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from priorband.plots.drawing.finish import finished, say
from priorband.plots.drawing.grid import PanelGrid, legend
from priorband.plots.drawing.pen import Array
from priorband.plots.drawing.points import patch
from priorband.plots.drawing.style import SMALL
from priorband.plots.drawing.svg import drawing
from priorband.plots.drawing.texts import counted, sentences, short
from priorband.plots.drawing.theme import ORIGINS, Theme, theme_of
from priorband.plots.drawing.ticks import number
from priorband.plots.studies import AnyStudy, as_data
from priorband.study_analysis.rung_flow import RungFlow
from priorband.study_analysis.rung_flow import rung_flow as flow_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HALF = 0.24
"""Half the width of a rung's column."""
_OTHERS = 0.38
"""How strong the colour of trials is that did not go on."""
_ROWS = ("started", "promoted", "finished", "stopped", "open", "failed", "running")


def rung_flow(study: AnyStudy, *, dark: bool = False) -> "Figure":
    """Plot the origins of the trials on each rung, and how many went on.

    Each column is a rung, and has the share of each origin among the trials that started there. The
    strong part of a colour went on to a higher rung, or finished on the highest; bands lead from
    what was promoted to the next rung. The table below has the counts. An origin whose share grows
    from rung to rung brings better configurations than the others.

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
    >>> figure = plots.rung_flow(study)
    """
    data, theme = as_data(study), theme_of(dark)
    flow = flow_of(data)
    grid = PanelGrid(1, 1, theme, 7.0, 3.2)
    with drawing(theme):
        figure, [axes] = grid.open()
        if flow.started.sum():
            colours = _draw(axes, flow, theme)
            _table(axes, flow, data.problem.fidelity.name, theme)
            marks = [patch(colour) for colour in colours.values()]
            marks += [patch(theme.ink), patch(theme.ink, alpha=_OTHERS)]
            names = [
                *(short(name, 30) for name in colours),
                "went on or finished",
                "not, or not yet",
            ]
            legend(figure, marks, names, length=1.4)
            grid.label(figure, "", "share of the trials on the rung")
        else:
            say(axes, "no trial yet", theme)
        title = f"{short(data.name)}: from rung to rung, by origin"
        aside = f"{counted(flow.off_ladder, 'trial')} between the rungs are not drawn"
        note = sentences(aside if flow.off_ladder else "")
        grid.entitle([axes], [title], [note])
        return finished(figure, sentences(title, note))


def _draw(axes: "Axes", flow: RungFlow, theme: Theme) -> dict[str, str]:
    """Draw the columns and the bands between them, and return the colours of the origins."""
    known = [name for name in ORIGINS if name in flow.origins]
    order = known + sorted(set(flow.origins) - set(known))
    columns = [flow.origins.index(name) for name in order]
    colours = theme.origins(order)
    totals = np.maximum(flow.started.sum(axis=1), 1)
    started, went = (flow.started / totals[:, None])[:, columns], flow.promoted + flow.finished
    gone = (went / totals[:, None])[:, columns]
    base = np.cumsum(started, axis=1) - started
    for place, colour in enumerate(colours.values()):
        _segments(axes, base[:, place], gone[:, place], started[:, place], colour, theme)
        for rung in range(len(totals) - 1):
            moved = float(flow.promoted[rung, columns[place]])
            if moved:
                left = base[rung, place] + np.array([0, moved / totals[rung]])
                share = min(moved / totals[rung + 1], started[rung + 1, place])
                _band(axes, rung, left, base[rung + 1, place] + np.array([0, share]), colour)
    axes.set_xlim(-0.6, len(totals) - 0.4)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.grid(visible=False)
    return colours


def _segments(
    axes: "Axes", base: Array, gone: Array, started: Array, colour: str, theme: Theme
) -> None:
    """Draw the part of one origin in each column: what went on is at the bottom."""
    places = np.arange(len(base))
    edge: dict[str, Any] = {
        "edgecolor": theme.background,
        "linewidth": 0.6,
        "width": 2 * _HALF,
        "zorder": 3,
    }
    axes.bar(places, started - gone, bottom=base + gone, color=colour, alpha=_OTHERS, **edge)
    axes.bar(places, gone, bottom=base, color=colour, **edge)


def _band(axes: "Axes", rung: int, left: Array, right: Array, colour: str) -> None:
    share = np.linspace(0, 1, 24)
    bend = share**2 * (3 - 2 * share)
    x = rung + _HALF + share * (1 - 2 * _HALF)
    low, high = (left[i] + (right[i] - left[i]) * bend for i in (0, 1))
    axes.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0, zorder=2)


def _table(axes: "Axes", flow: RungFlow, fidelity: str, theme: Theme) -> None:
    """Write the counts below the columns."""
    counts = {name: getattr(flow, name).sum(axis=1) for name in _ROWS}
    shown = {name: each for name, each in counts.items() if name == "started" or each.any()}
    lines = [number(float(each)) for each in flow.fidelities]
    for each in shown.values():
        lines = [f"{line}\n{count:,}" for line, count in zip(lines, each.tolist(), strict=True)]
    axes.set_xticks(range(len(lines)), lines, linespacing=1.35)
    axes.tick_params(axis="x", length=0)
    axes.annotate(
        "\n".join([short(fidelity, 12), *shown]),
        (0, 0),
        (-4, -2),
        "axes fraction",
        "offset points",
        ha="right",
        va="top",
        fontsize=SMALL,
        color=theme.ink,
        linespacing=1.35,
    )
