"""The panel of the live view: as much about a study as fits a terminal of any size.

What a narrow or low terminal has no room for is left out, the least important part first.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from priorband.display.overview import Overview
from priorband.display.recent_text import (
    bests_text,
    bracket_text,
    config_text,
    finished_cells,
    latest_failure_lines,
    sampled_text,
)
from priorband.display.sparkline import ascii_only
from priorband.display.summary import (
    best_text,
    budget_text,
    running_cells,
    trials_text,
    workers_text,
)
from priorband.display.text import printable

LABEL = 9  # characters
MOST_ROWS = 16
NARROW = 60  # columns: below it, only the most important parts are shown
WIDE = 80  # columns: from here on, everything
_ALL = ("trial", "rung", "step", "value", "elapsed", "origin", "worker")
_RUNNING = ((90, _ALL), (66, _ALL[:6]), (40, _ALL[:5]), (0, ("trial", "step", "value")))
_FINISHED = (
    (66, ("trial", "rung", "step", "value", "place", "outcome", "origin")),
    (0, ("trial", "step", "value", "place", "outcome")),
)
_RIGHT = ("trial", "rung", "step", "value", "place", "elapsed")
_CORE = 7  # lines: the place, the bar, four lines, and one for the cursor
_TALL = 20  # lines: from here on, running trials leave room for other parts

Lines = Sequence[tuple[str, str]]
"""Labels and texts."""


def panel(
    overview: Overview,
    width: int,
    height: int,
    seconds_since: float = 0.0,
    only_ascii: bool = False,
) -> object:
    """The panel for a terminal of this size, `seconds_since` the overview was read."""
    from rich.console import Group
    from rich.text import Text

    plain: Callable[[str], str] = ascii_only if only_ascii else str

    def line(name: str, text: str) -> Text:
        label = Text(f"{name:<{LABEL}}", style="dim", no_wrap=True, overflow="ellipsis")
        style = "yellow" if name == "failed" else "not dim"
        return label.append(plain(text), style=style)

    room = height - _CORE
    most = min(room, MOST_ROWS) if height < _TALL else min(room // 2, MOST_ROWS)
    rows = max(most, 1)
    running = min(len(overview.running), rows) + 1 if overview.running else 0
    more = _sections(overview, width, room - running)
    parts: list[Any] = [
        Text(printable(overview.where), style="bold", no_wrap=True, overflow="ellipsis"),
        _bar(overview.share, max(min(width, 72), 1)),
        line("budget", budget_text(overview)),
        line("trials", trials_text(overview, width >= WIDE)),
        line("best", best_text(overview)),
        *(line(*one) for one in more.get("best", ())),
        line("workers", workers_text(overview)),
    ]
    for name in ("sampled", "brackets", "failed"):
        parts += [line(*one) for one in more.get(name, ())]
    if overview.running:
        cells = [running_cells(one, seconds_since) for one in overview.running]
        styles = ["yellow" if one.lost else "" for one in overview.running]
        parts.append(_table(overview, _columns(_RUNNING, width), cells, styles, rows))
    if "finished" in more:
        shown = overview.recent.finished[: len(more["finished"]) - 1]
        cells = [finished_cells(one) for one in shown]
        styles = ["yellow" if one.failure else "" for one in shown]
        parts.append(
            _table(overview, _columns(_FINISHED, width), cells, styles, MOST_ROWS, "ended")
        )
    return Group(*parts)


def _sections(overview: Overview, width: int, room: int) -> dict[str, Lines]:
    """The parts that there is room for, by name; the most important ones are chosen first."""
    recent, wide = overview.recent, width >= WIDE
    inner = width - LABEL
    failed = [("", text) for text in latest_failure_lines(recent)]
    found: dict[str, list[tuple[str, str]]] = {"failed": failed[: 6 if wide else 3]}
    if width >= NARROW:
        best = [] if overview.best is None else config_text(overview.best.config, inner, 2)
        bests = bests_text(recent, inner)
        found["best"] = [("", text) for text in (bests, *best) if text]
        brackets = [(f"#{one.number} {bracket_text(one)}") for one in recent.brackets]
        found["brackets"] = [("", text) for text in brackets[-4 if wide else -2 :]]
        found["sampled"] = [("", text) for text in [sampled_text(recent)] if text]
        count = len(recent.finished) if wide else min(len(recent.finished), 3)
        found["finished"] = [("", "")] * (count + 1 if count else 0)
    chosen: dict[str, Lines] = {}
    for name, lines in found.items():
        fits = lines[: max(room, 0)]
        if fits and not (name == "finished" and len(fits) < 2):
            room -= len(fits)
            label = "" if name == "best" else name
            chosen[name] = [(label, fits[0][1]), *fits[1:]]
    return chosen


def _bar(share: float, width: int) -> object:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    line = Table.grid()  # a bar alone does not end its line
    line.add_row(ProgressBar(total=1.0, completed=share, width=width))
    return line


def _columns(choices: Sequence[tuple[int, tuple[str, ...]]], width: int) -> tuple[str, ...]:
    return next(columns for min_width, columns in choices if width >= min_width)


def _table(  # noqa: PLR0913  # the rows, and how to show them
    overview: Overview,
    names: tuple[str, ...],
    cells: Sequence[Mapping[str, str]],
    styles: Sequence[str],
    rows: int,
    first: str = "",
) -> object:
    """A table of trials; if there are too many, the first ones and the number of the others."""
    from rich.table import Table
    from rich.text import Text

    value_title = "value" if overview.maximize else "loss"
    titles = {"step": printable(overview.fidelity), "value": value_title, "trial": first or "trial"}
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in names:
        aligned = "right" if name in _RIGHT else "left"
        title = Text(titles.get(name, name))
        table.add_column(title, justify=aligned, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]  # two of the literals
    shown = len(cells) if len(cells) <= rows else rows - 1
    for row, style in zip(cells[:shown], styles, strict=False):
        table.add_row(*(Text(row[name]) for name in names), style=style)
    if len(cells) > shown:
        table.add_row(Text(f"+{len(cells) - shown}"), style="dim")
    return table
