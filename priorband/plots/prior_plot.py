"""The prior against what was found: a panel for each parameter."""

from typing import TYPE_CHECKING

import numpy as np

from priorband.plots.drawing.finish import finished
from priorband.plots.drawing.grid import PanelGrid, legend
from priorband.plots.drawing.parameter_axis import parameter_ticks
from priorband.plots.drawing.pen import Array, handle
from priorband.plots.drawing.points import patch
from priorband.plots.drawing.style import BLUE, DOTS, RED, Style
from priorband.plots.drawing.svg import drawing
from priorband.plots.drawing.texts import counted, short
from priorband.plots.drawing.theme import Theme, theme_of
from priorband.plots.studies import AnyStudy, as_data
from priorband.space.base import Parameter
from priorband.study_analysis.config_columns import ParameterColumn, config_columns
from priorband.study_analysis.prior_densities import PriorDensity, prior_densities
from priorband.study_analysis.ranked_configs import ranked_configs
from priorband.study_analysis.trial_columns import Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHARE, _LEAST, _MOST = 0.1, 5, 100
"""The best configurations are a tenth of all, at least 5 and at most 100."""
_BINS = 12
_HISTOGRAM_FROM = 10
_MOST_PANELS = 24
_MODE = Style(BLUE, DOTS, width=1.5)
_INCUMBENT = Style(RED, width=1.5)


def prior(study: AnyStudy, *, dark: bool = False) -> "Figure":
    """Plot the prior of each parameter against the best configurations that were found.

    The filled area is the density of the prior on the parameter's scale; of choices, bars are the
    probabilities. The best configurations, a tenth of all, are ticks at the bottom and, if there
    are 10 or more, a histogram. Vertical lines are the prior's mode and the incumbent. Where the
    two areas do not overlap, the prior points elsewhere than the results.

    Args:
        study: a study, or `study_data` of one.
        dark: whether the background is dark.

    Returns:
        The figure. `plots.save` writes it to a file.

    Raises:
        ExtraError: if matplotlib is not installed.

    >>> from priorband import Fidelity, Float, Space, Study, plots
    >>> study = Study(Space(x=Float(0, 1, prior=0.3)), Fidelity("epochs", 1, 9), "priorband")
    >>> for _ in range(15):
    ...     trial = study.ask()
    ...     _ = study.tell(trial, (trial.config["x"] - 0.6) ** 2)
    >>> figure = plots.prior(study)
    """
    data, theme = as_data(study), theme_of(dark)
    columns, densities = config_columns(data).parameters, prior_densities(data)
    ranked = ranked_configs(data)
    best = ranked[: max(min(round(_SHARE * len(ranked)), _MOST), min(_LEAST, len(ranked)))]
    shown = min(len(columns), _MOST_PANELS)
    grid = PanelGrid(shown, 3 if shown > 4 else max(2, shown), theme, 7.0, 1.35)
    with drawing(theme):
        figure, places = grid.open()
        for axes, column, density in zip(places, columns, densities, strict=False):
            _panel(axes, data.problem.space.searched[column.name], column, density, best, theme)
        notes = [_panel_note(c, d, best) for c, d in zip(columns, densities, strict=True)][:shown]
        grid.entitle(places, [short(column.name, 60) for column in columns[:shown]], notes)
        marks = [patch(theme.colour(BLUE), alpha=0.35), handle(_MODE, theme)]
        names = ["prior", "its mode"]
        if len(best):
            marks += [patch(theme.colour(RED), alpha=0.45), handle(_INCUMBENT, theme)]
            names += [f"the best {counted(len(best), 'configuration')}", "incumbent"]
        legend(figure, marks, names, length=1.8)
        grid.label(figure, _below(data.name, len(ranked), len(columns) - shown), "density")
        return finished(figure, f"The prior of each parameter and what was found in {data.name}.")


def _below(name: str, ranked: int, dropped: int) -> str:
    results = (
        counted(ranked, "configuration") + " with a result" if ranked else "no successful trial yet"
    )
    more = f", {counted(dropped, 'more parameter')} not drawn" if dropped else ""
    return f"{short(name)}: {results}{more}"


def _panel(  # noqa: PLR0913  # one panel: what, where and how
    axes: "Axes",
    parameter: Parameter,
    column: ParameterColumn,
    density: PriorDensity,
    best: Ints,
    theme: Theme,
) -> None:
    found = column.unit[best]
    found = found[~np.isnan(found)]
    if column.labels:
        _bars(axes, density, found, theme)
    else:
        _areas(axes, density, found, theme)
    if not np.isnan(density.mode) and not density.flat:
        _vertical(axes, density.mode, _MODE, theme)
    if len(best) and not np.isnan(column.unit[best[0]]):
        _vertical(axes, float(column.unit[best[0]]), _INCUMBENT, theme)
    ticks = parameter_ticks(parameter, most=4, width=10)
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set_yticks([])
    axes.set_ylim(bottom=0)
    axes.grid(visible=False)


def _areas(axes: "Axes", density: PriorDensity, found: Array, theme: Theme) -> None:
    """A number: densities on its scale."""
    blue, red = theme.colour(BLUE), theme.colour(RED)
    axes.fill_between(density.position, density.density, color=blue, alpha=0.35, linewidth=0)
    axes.plot(density.position, density.density, color=blue, linewidth=1.0)
    if len(found) >= _HISTOGRAM_FROM:
        axes.hist(found, _BINS, range=(0, 1), density=True, color=red, alpha=0.45, linewidth=0)
    if len(found):
        axes.eventplot(
            found,
            lineoffsets=0.05,
            linelengths=0.1,
            colors=red,
            linewidths=0.8,
            transform=axes.get_xaxis_transform(),
        )
    axes.set_xlim(-0.03, 1.03)


def _bars(axes: "Axes", density: PriorDensity, found: Array, theme: Theme) -> None:
    """Choices: their probabilities, and their shares among the best."""
    width = 0.38 / max(len(density.position) - 1, 1)
    axes.bar(
        density.position - width / 2, density.density, width, color=theme.colour(BLUE), alpha=0.35
    )
    if len(found):
        shares = np.isclose(found[:, None], density.position).mean(axis=0)
        axes.bar(density.position + width / 2, shares, width, color=theme.colour(RED), alpha=0.45)
    axes.set_xlim(-1.6 * width, 1 + 1.6 * width)
    if len(density.position) == 1:
        axes.set_xlim(0, 1)


def _vertical(axes: "Axes", at: float, look: Style, theme: Theme) -> None:
    drawn = handle(look, theme)
    drawn.set_data([at, at], [0, 0.97])
    drawn.set_transform(axes.get_xaxis_transform())
    drawn.set_zorder(4)
    axes.add_line(drawn)


def _panel_note(column: ParameterColumn, density: PriorDensity, best: Ints) -> str:
    """What a panel does not say by itself."""
    active = int(np.count_nonzero(~np.isnan(column.unit[best])))
    parts = [
        "no belief" if density.flat else "",
        "density counted from draws" if density.sampled else "",
    ]
    parts += [f"active in {active} of the best {len(best)}" if active < len(best) else ""]
    return ", ".join(part for part in parts if part)
