"""Parallel coordinates: configurations as lines across one axis for each parameter."""

from typing import TYPE_CHECKING, final

import numpy as np

from priorband.errors import ArgumentError
from priorband.numeric import whole
from priorband.plots.drawing.finish import finished, say
from priorband.plots.drawing.grid import PanelGrid, legend
from priorband.plots.drawing.parameter_axis import parameter_ticks
from priorband.plots.drawing.pen import Array, handle
from priorband.plots.drawing.points import RASTER_FROM
from priorband.plots.drawing.style import GREY, RED, SMALL, Style
from priorband.plots.drawing.svg import drawing
from priorband.plots.drawing.texts import counted, folded_name, sentences, short
from priorband.plots.drawing.theme import Theme, theme_of
from priorband.plots.drawing.ticks import number
from priorband.plots.drawing.value_axis import ValueAxis, value_axis
from priorband.plots.studies import NO_RESULT, AnyStudy, as_data
from priorband.space.space import Space
from priorband.study_analysis.config_columns import ConfigTable, ParameterColumn, config_columns
from priorband.study_analysis.ranked_configs import ranked_configs
from priorband.study_analysis.spread import spread_positions
from priorband.study_analysis.trial_columns import FAILED, Ints
from priorband.values import frozen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LINES = 3000
_MOST_PARAMETERS = 24
_INACTIVE = -0.12
"""Where lines pass an axis whose parameter is inactive."""


@final
@frozen
class _Lines:
    """The configurations as rows of positions, one column for each axis; the best rows first."""

    positions: Array
    best: int
    ranked: int
    """How many configurations there are in all."""


def parallel(study: AnyStudy, *, best: int = 10, dark: bool = False) -> "Figure":
    """Plot configurations as lines across one axis for each parameter, and the value at the right.

    Axes of parameters with a logarithmic scale are logarithmic. The best configurations are
    emphasised. Each counts with the value at the highest fidelity that it has finished. A line that
    passes below an axis does not have that parameter.

    Args:
        study: a study, or `study_data` of one.
        best: how many of the best configurations to emphasise.
        dark: whether the background is dark.

    Returns:
        The figure. `plots.save` writes it to a file.

    Raises:
        ArgumentError: if `best` is not a whole number of at least 0.
        ExtraError: if matplotlib is not installed.

    >>> from priorband import Categorical, Float, Space, Study, plots
    >>> space = Space(lr=Float(1e-5, 1e-1, log=True), act=Categorical(["relu", "gelu"]))
    >>> study = Study(space, method="random")
    >>> for loss in range(15):
    ...     _ = study.tell(study.ask(), loss)
    >>> figure = plots.parallel(study, best=3)
    """
    if not whole(best) or best < 0:
        raise ArgumentError(f"`best` must be a whole number of at least 0, got {best!r}.")
    data, theme = as_data(study), theme_of(dark)
    table, ranked = config_columns(data), ranked_configs(data)
    shown = min(len(table.parameters), _MOST_PARAMETERS)
    grid = PanelGrid(1, 1, theme, max(7.0, 0.85 * (shown + 1)), 3.2)
    title = f"{short(data.name)}: configurations and their values"
    with drawing(theme):
        figure, [axes] = grid.open()
        note = ""
        if not len(ranked):
            say(axes, NO_RESULT, theme)
        else:
            axis = value_axis(table.value[ranked], data.maximize)
            lines = _lines(table, ranked, shown, axis, int(best))
            _draw(axes, lines, theme)
            _axes(axes, data.problem.space, table.parameters[:shown], axis, theme)
            names = [f"the best {lines.best}", "others" if lines.best else "configurations"]
            kept = [lines.best > 0, len(lines.positions) > lines.best]
            looks = [look for look, keep in zip(_looks(theme), kept, strict=True) if keep]
            marks = [handle(look, theme) for look in looks]
            legend(figure, marks, [name for name, keep in zip(names, kept, strict=True) if keep])
            note = _note(table, ranked, lines, axis)
        grid.entitle([axes], [title], [note])
        return finished(figure, sentences(title, note))


def _looks(theme: Theme) -> tuple[Style, Style]:
    return Style(RED, width=1.5), Style(theme.faint if theme.lighter else GREY, width=0.8)


def _lines(table: ConfigTable, ranked: Ints, shown: int, axis: ValueAxis, best: int) -> _Lines:
    emphasised = min(best, len(ranked))
    rest = ranked[emphasised:]
    some = np.concatenate(
        (ranked[:emphasised], rest[spread_positions(len(rest), _MOST_LINES - emphasised)])
    )
    columns = [parameter.unit[some] for parameter in table.parameters[:shown]]
    columns = [np.where(np.isnan(each), _INACTIVE, each) for each in columns]
    return _Lines(
        np.stack([*columns, axis.share(table.value[some])], axis=1), emphasised, len(ranked)
    )


def _draw(axes: "Axes", lines: _Lines, theme: Theme) -> None:
    from matplotlib.collections import LineCollection

    across = np.arange(lines.positions.shape[1])
    paths = np.stack([np.broadcast_to(across, lines.positions.shape), lines.positions], axis=2)
    best, other = _looks(theme)
    count = len(paths) - lines.best
    axes.add_collection(
        LineCollection(
            list(paths[lines.best :]),
            colors=other.colour,
            linewidths=other.width if count < 300 else 0.5,
            alpha=float(np.clip(60 / max(count, 1), 0.12, 0.7)),
            zorder=2,
            rasterized=count > RASTER_FROM // 2,
        )
    )
    axes.add_collection(
        LineCollection(
            list(paths[: lines.best]),
            colors=theme.colour(best.colour),
            linewidths=best.width,
            zorder=3,
        )
    )


def _axes(
    axes: "Axes",
    space: Space,
    parameters: tuple[ParameterColumn, ...],
    values: ValueAxis,
    theme: Theme,
) -> None:
    """Draw the axes of the parameters and of the value, with their names and numbers."""
    shown = len(parameters)
    for place, parameter in enumerate(parameters):
        _axis(axes, place, parameter_ticks(space.searched[parameter.name]), theme)
    _axis(axes, shown, _value_ticks(values), theme)
    inactive = any(np.isnan(parameter.unit).any() for parameter in parameters)
    axes.set_xlim(-0.15, shown + 0.4)
    axes.set_ylim(_INACTIVE - 0.05 if inactive else -0.04, 1.04)
    if inactive:
        _text(axes, (-0.1, _INACTIVE), "inactive", theme, ha="right")
    room = axes.bbox.width * 72 / axes.figure.dpi / (shown + 0.6)
    names = [folded_name(parameter.name, max(8, int(room / 4.4))) for parameter in parameters]
    axes.set_xticks(range(shown + 1), [*names, "value"], fontsize=SMALL, color=theme.text)
    axes.set_yticks([])
    axes.tick_params(axis="x", length=0, pad=5)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _axis(axes: "Axes", place: int, ticks: dict[float, str], theme: Theme) -> None:
    axes.plot((place, place), (0, 1), color=theme.ink, linewidth=0.8, zorder=4)
    for height, text in ticks.items():
        axes.plot((place, place + 0.03), (height, height), color=theme.ink, linewidth=0.8, zorder=4)
        _text(axes, (place + 0.05, height), text, theme)


def _text(axes: "Axes", at: tuple[float, float], text: str, theme: Theme, ha: str = "left") -> None:
    """Write a text that lines behind it do not make hard to read."""
    drawn = axes.text(*at, text, ha=ha, va="center", fontsize=SMALL, color=theme.text, zorder=5)
    drawn.set_bbox({"facecolor": theme.background, "alpha": 0.75, "linewidth": 0, "pad": 0.6})


def _value_ticks(values: ValueAxis) -> dict[float, str]:
    from matplotlib.ticker import LogLocator, MaxNLocator

    locator = LogLocator(subs=(1, 2, 5)) if values.log else MaxNLocator(5, steps=[1, 2, 5, 10])
    low, high = values.limits
    ticks = np.array([tick for tick in locator.tick_values(low, high) if low <= tick <= high])
    texts = [number(float(tick)) for tick in ticks]
    return dict(zip(values.share(ticks).tolist(), texts, strict=True))


def _note(table: ConfigTable, ranked: Ints, lines: _Lines, axis: ValueAxis) -> str:
    drawn, beyond = len(lines.positions), axis.beyond(table.value[ranked])
    dropped = len(table.parameters) - (lines.positions.shape[1] - 1)
    failed = int(np.count_nonzero(table.status == FAILED))
    return sentences(
        f"{drawn:,} of {counted(lines.ranked, 'configuration')} are drawn"
        if drawn < lines.ranked
        else counted(lines.ranked, "configuration"),
        f"{counted(failed, 'failed trial')} not drawn" if failed else "",
        f"{counted(beyond, 'worse value')} at the edge" if beyond else "",
        f"The first {_MOST_PARAMETERS} parameters, without {dropped:,} more" if dropped else "",
    )
