"""The worker timeline: what each worker did when."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorband.plots.drawing.finish import finished, say
from priorband.plots.drawing.grid import PanelGrid, legend
from priorband.plots.drawing.points import RASTER_FROM, patch
from priorband.plots.drawing.style import ORANGE, RED, SMALL
from priorband.plots.drawing.svg import drawing
from priorband.plots.drawing.texts import counted, sentences, short
from priorband.plots.drawing.theme import Theme, theme_of
from priorband.plots.drawing.ticks import scale_x
from priorband.plots.drawing.times import duration, time_unit
from priorband.plots.studies import AnyStudy, as_data, rung_legend
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.timeline import WorkerSpans, worker_timeline

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_WORKERS = 60
_NAMED = 32
"""With at most this many workers, each has its name and idle time beside its row."""
_HALF = 0.36
_STARTUP = 0.14
"""Half the heights of a span and of its start-up, in rows."""
_AT_ONCE = 2000
"""How many bars are one path: a renderer has a limit."""
_ENDED_BADLY = {"failed": RED, "lost": RED, "returned": ORANGE, "overtaken": ORANGE}
_HATCHED = ("lost", "overtaken")


def timeline(study: AnyStudy, *, dark: bool = False) -> "Figure":
    """Plot what each worker did when: a row for each worker, a bar for each attempt at a trial.

    Bars have the colour of their rung, or that of a bad end. The thin part at the start of a bar is
    start-up, before the objective ran. Gaps are idle time, whose share stands at the right.

    Args:
        study: a stored study, or `study_data` of one; a study in memory has no clock.
        dark: whether the background is dark.

    Returns:
        The figure. `plots.save` writes it to a file.

    Raises:
        ExtraError: if matplotlib is not installed.

    >>> import tempfile, priorband as pb
    >>> from priorband import plots
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with pb.open_study(folder, pb.Space(x=pb.Float(0, 1)), method="random") as study:
    ...         for loss in (0.5, 0.25):
    ...             _ = study.tell(study.ask(), loss)
    ...         figure = plots.timeline(study)
    """
    data, theme = as_data(study), theme_of(dark)
    spans = worker_timeline(data)
    rows = min(len(spans.workers), _MOST_WORKERS)
    grid = PanelGrid(1, 1, theme, 7.0, float(np.clip(0.55 + 0.17 * rows, 1.2, 8.0)))
    unit, length = time_unit(spans.elapsed if spans.elapsed > 0 else 1.0)
    title = f"{short(data.name)}: what each worker did"
    with drawing(theme):
        figure, [axes] = grid.open()
        if not len(spans.worker):
            nothing = (
                "no trial yet" if data.where else "a study in memory has no clock and no workers"
            )
            say(axes, nothing, theme)
            note = ""
        else:
            endings = _draw(axes, spans, data, length, theme)
            _label_rows(axes, spans, rows, theme)
            legend(figure, *_legend(data, endings, theme), length=1.4)
            note = _note(spans, rows)
            grid.label(figure, f"{unit} since the study was created", "")
        grid.entitle([axes], [title], [note])
        return finished(figure, sentences(title, note))


def _draw(
    axes: "Axes", spans: WorkerSpans, data: StudyData, length: float, theme: Theme
) -> list[str]:
    """Draw the spans of the workers that are shown; return the bad ends among them."""
    shown = spans.worker < _MOST_WORKERS
    colours = {-1: theme.faint, **dict(enumerate(theme.ordered(data.ladder.top + 1)))}
    names = np.array(spans.endings)[spans.ending]
    badly = np.isin(names, list(_ENDED_BADLY))
    start, end = spans.start / length, spans.end / length
    startup = np.minimum(np.nan_to_num(spans.startup) / length, end - start)
    for row in range(min(len(spans.workers), _MOST_WORKERS)):
        ends = spans.first[row] / length, spans.last[row] / length
        axes.plot(ends, (row, row), color=theme.grid, linewidth=1.0, zorder=1)
    for rung, colour in colours.items():
        own = shown & (spans.rung == rung) & ~badly
        running = own & (names == "running")
        _bars(
            axes,
            spans.worker[own & ~running],
            (start + startup)[own & ~running],
            end[own & ~running],
            colour,
        )
        _bars(
            axes,
            spans.worker[running],
            start[running],
            end[running],
            colour,
            hatch="////",
            back=theme.background,
        )
    for name, colour in _ENDED_BADLY.items():
        own = shown & (names == name)
        back = theme.background if name in _HATCHED else ""
        hatch = "xxxx" if name in _HATCHED else ""
        _bars(axes, spans.worker[own], start[own], end[own], theme.colour(colour), hatch, back)
    begun = shown & (startup > 0) & (names != "running")
    _bars(
        axes, spans.worker[begun], start[begun], (start + startup)[begun], theme.ink, half=_STARTUP
    )
    scale_x(axes, (0.0, max(float(spans.end.max()) / length, 1e-9) * 1.005))
    axes.set_ylim(min(len(spans.workers), _MOST_WORKERS) - 0.4, -0.6)
    return sorted(set(names[badly].tolist()))


def _bars(  # noqa: PLR0913  # the places, and how they look
    axes: "Axes",
    rows: NDArray[np.int64],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    colour: str,
    hatch: str = "",
    back: str = "",
    half: float = _HALF,
) -> None:
    """Draw bars from start to end, each in its row; hatched ones are of the background's colour."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners = np.empty((len(rows), 4, 2))
    corners[:, (0, 3), 0], corners[:, (1, 2), 0] = start[:, None], end[:, None]
    corners[:, :2, 1], corners[:, 2:, 1] = (rows - half)[:, None], (rows + half)[:, None]
    for some in np.array_split(corners, -(-len(rows) // _AT_ONCE) or 1):
        if len(some):
            bars = PathPatch(
                Path.make_compound_path_from_polys(some),
                facecolor=back or colour,
                edgecolor=colour if hatch else "none",
                hatch=hatch or None,
                linewidth=0.6 if hatch else 0,
                zorder=2,
                rasterized=len(rows) > RASTER_FROM,
            )
            bars.set_in_layout(False)
            axes.add_artist(bars)  # `add_patch` looks at each corner, and takes long


def _label_rows(axes: "Axes", spans: WorkerSpans, rows: int, theme: Theme) -> None:
    """Write the workers' names at the left, and how idle they were at the right."""
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    if rows > _NAMED:
        axes.set_yticks([])
        return
    axes.set_yticks(range(rows), [short(name, 24) for name in spans.workers[:rows]])
    whole = np.maximum(spans.busy + spans.idle, 1e-12)
    for row in range(rows):
        text = f"{spans.idle[row] / whole[row]:.0%} idle"
        axes.annotate(
            text + (f", {spans.lost[row]:,} lost" if spans.lost[row] else ""),
            (1, row),
            (4, 0),
            ("axes fraction", "data"),
            "offset points",
            va="center",
            fontsize=SMALL,
            color=theme.ink,
        )


def _legend(data: StudyData, endings: list[str], theme: Theme) -> "tuple[list[Artist], list[str]]":
    texts = [text for _, text in rung_legend(data, theme)]
    marks = [patch(colour) for colour in theme.ordered(len(texts))]
    for name in endings:
        colour = theme.colour(_ENDED_BADLY[name])
        hatched = name in _HATCHED
        marks.append(patch(theme.background if hatched else colour, "xxxx" * hatched, colour))
    running = bool(np.any(data.attempts.ending == 0))
    marks += [patch(theme.background, "////", theme.ramp[1])] * running + [patch(theme.ink)]
    return marks, [*texts, *endings, *["running"] * running, "start-up"]


def _note(spans: WorkerSpans, rows: int) -> str:
    whole = float(spans.busy.sum() + spans.idle.sum())
    idle = f", {spans.idle.sum() / whole:.0%} of the time idle" if whole else ""
    count = len(spans.workers)
    startup = float(spans.startup_seconds.sum())
    return sentences(
        f"{counted(len(spans.worker), 'attempt')} of {counted(count, 'worker')}{idle}",
        f"{duration(startup)} of start-up in all" if startup else "",
        f"The first {rows} of {count:,} workers are drawn" if rows < count else "",
    )
