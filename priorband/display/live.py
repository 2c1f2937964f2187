"""The live display: a panel at the bottom of a terminal of any width."""

import time
from contextlib import suppress
from typing import Any, TextIO, final

from priorband.display.output import OutputQueue
from priorband.display.overview import Overview
from priorband.display.polling import Poller
from priorband.display.summary import (
    best_text,
    budget_text,
    final_lines,
    running_cells,
    trials_text,
    workers_text,
)
from priorband.display.text import paragraphs, printable
from priorband.durable.study import DurableStudy

_ALL = ("trial", "rung", "step", "value", "elapsed", "origin", "worker")
_WIDTHS = ((90, _ALL), (66, _ALL[:6]), (40, _ALL[:5]), (0, ("trial", "step", "value")))
_OTHER_LINES = 7  # of the panel, besides the running trials
_RIGHT = ("trial", "rung", "step", "value", "elapsed")
MOST_ROWS = 16
REDRAW_SECONDS = 0.3


@final
class LiveDisplay:
    """A panel at the bottom of a terminal; messages scroll above it."""

    def __init__(
        self, study: DurableStudy, stream: TextIO | None = None, size: tuple[int, int] | None = None
    ) -> None:
        from rich.console import Console
        from rich.live import Live as RichLive

        width, height = size or (None, None)
        self._console = console = Console(
            file=stream,
            width=width,
            height=height,
            force_terminal=True if size else None,
            markup=False,
            highlight=False,
            emoji=False,
        )
        console.on_broken_pipe = self._mute  # type: ignore[method-assign]  # rich would exit
        self._poller = Poller(study)
        self._queue = OutputQueue()
        self._drawn_at = 0.0
        self._live = RichLive(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> "LiveDisplay":
        self._queue.run(self._live.start)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):  # it may not have started completely
            self._live.stop()

    def say(self, text: str) -> None:
        """Print a message above the panel."""
        self._queue.run(lambda: self._print(paragraphs(text)))

    def tick(self) -> None:
        """Redraw the panel, if it is time."""
        if time.monotonic() - self._drawn_at < REDRAW_SECONDS:
            return
        self._poller.poll()
        self._drawn_at = time.monotonic()
        self._queue.run(self._draw)

    def finish(self, reason: str) -> None:
        """Replace the panel with why the run has ended, and the best result."""
        overview = self._poller.poll(force=True) or self._poller.latest
        self._queue.run(self._live.stop)
        lines = final_lines(overview, reason) if overview else [paragraphs(reason)]
        text = "\n".join(lines)
        self._queue.run(lambda: self._print(text))

    def _draw(self) -> None:
        if self._poller.latest is not None:
            seconds_since = time.monotonic() - self._poller.latest_at
            size = self._console.size
            drawn: Any = panel(self._poller.latest, size.width, size.height, seconds_since)
            self._live.update(drawn, refresh=True)

    def _mute(self) -> None:
        self._console.quiet = True

    def _print(self, text: str) -> None:
        from rich.text import Text

        self._console.print(Text(text), soft_wrap=True)


def panel(overview: Overview, width: int, height: int, seconds_since: float = 0.0) -> object:
    """The panel for a terminal of this size, `seconds_since` the overview was read."""
    from rich.console import Group
    from rich.text import Text

    def line(name: str, text: str) -> Text:
        label = Text(f"{name:<8}", style="dim", no_wrap=True, overflow="ellipsis")
        return label.append(text, style="not dim")

    rows = max(min(height - _OTHER_LINES, MOST_ROWS), 1)
    parts: list[Any] = [
        Text(printable(overview.where), style="bold", no_wrap=True, overflow="ellipsis"),
        _bar(overview.share, max(min(width, 72), 1)),
        line("budget", budget_text(overview)),
        line("trials", trials_text(overview)),
        line("best", best_text(overview)),
        line("workers", workers_text(overview)),
    ]
    table: Any = [_table(overview, width, rows, seconds_since)] if overview.running else []
    return Group(*parts, *table)


def _bar(share: float, width: int) -> object:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    line = Table.grid()  # a bar alone does not end its line
    line.add_row(ProgressBar(total=1.0, completed=share, width=width))
    return line


def _table(overview: Overview, width: int, rows: int, seconds_since: float) -> object:
    """The running trials; if there are too many, the first ones and the number of the others."""
    from rich.table import Table
    from rich.text import Text

    names = next(columns for min_width, columns in _WIDTHS if width >= min_width)
    value_title = "value" if overview.maximize else "loss"
    titles = {"step": printable(overview.fidelity), "value": value_title}
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in names:
        aligned = "right" if name in _RIGHT else "left"
        title = Text(titles.get(name, name))
        table.add_column(title, justify=aligned, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]  # two of the literals
    fits = len(overview.running) <= rows
    shown = overview.running if fits else overview.running[: rows - 1]
    for running in shown:
        cells = running_cells(running, seconds_since)
        style = "yellow" if running.lost else ""
        table.add_row(*(Text(cells[name]) for name in names), style=style)
    more = len(overview.running) - len(shown)
    if more:
        table.add_row(Text(f"+{more}"), style="dim")
    return table
