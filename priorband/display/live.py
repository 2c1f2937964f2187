"""The live view: a panel at the bottom of a terminal, at any width."""

import time
from contextlib import suppress
from typing import Any, TextIO, final

from priorband.display.output import OutputQueue
from priorband.display.overview import Overview
from priorband.display.polling import Poller
from priorband.display.summary import best, cells, counts, ending, spent, workers
from priorband.display.text import paragraphs, printable
from priorband.durable.study import DurableStudy

_ALL = ("trial", "rung", "step", "value", "elapsed", "origin", "worker")
_WIDTHS = ((90, _ALL), (66, _ALL[:6]), (40, _ALL[:5]), (0, ("trial", "step", "value")))
_BESIDES = 7  # lines of the panel that are no trials
_RIGHT = ("trial", "rung", "step", "value", "elapsed")
MOST_ROWS = 16
DRAW = 0.3  # seconds between drawings


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
        console.on_broken_pipe = self._hush  # type: ignore[method-assign]  # it would exit
        self._sight = Poller(study)
        self._turns = OutputQueue()
        self._drawn = 0.0
        self._live = RichLive(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> "LiveDisplay":
        self._turns.take(self._live.start)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):  # a start that failed half-way cannot be stopped
            self._live.stop()

    def say(self, text: str) -> None:
        """Above the panel."""
        self._turns.take(lambda: self._print(paragraphs(text)))

    def tick(self) -> None:
        """Draw the panel again, if it is time."""
        if time.monotonic() - self._drawn < DRAW:
            return
        self._sight.look()
        self._drawn = time.monotonic()
        self._turns.take(self._draw)

    def finish(self, reason: str) -> None:
        """The panel goes; why it has ended and what was found stays."""
        seen = self._sight.look(at_once=True) or self._sight.seen
        self._turns.take(self._live.stop)
        said = "\n".join(ending(seen, reason)) if seen else paragraphs(reason)
        self._turns.take(lambda: self._print(said))

    def _draw(self) -> None:
        if self._sight.seen is not None:
            ahead = time.monotonic() - self._sight.since
            size = self._console.size
            made: Any = panel(self._sight.seen, size.width, size.height, ahead)
            self._live.update(made, refresh=True)

    def _hush(self) -> None:
        self._console.quiet = True

    def _print(self, text: str) -> None:
        from rich.text import Text

        self._console.print(Text(text), soft_wrap=True)


def panel(seen: Overview, width: int, height: int, ahead: float = 0.0) -> object:
    """The panel for a terminal of some size, so many seconds after the look."""
    from rich.console import Group
    from rich.text import Text

    def line(name: str, text: str) -> Text:
        made = Text(f"{name:<8}", style="dim", no_wrap=True, overflow="ellipsis")
        return made.append(text, style="not dim")

    rows = max(min(height - _BESIDES, MOST_ROWS), 1)
    parts: list[Any] = [
        Text(printable(seen.where), style="bold", no_wrap=True, overflow="ellipsis"),
        _bar(seen.share, max(min(width, 72), 1)),
        line("budget", spent(seen)),
        line("trials", counts(seen)),
        line("best", best(seen)),
        line("workers", workers(seen)),
    ]
    table: Any = [_table(seen, width, rows, ahead)] if seen.running else []
    return Group(*parts, *table)


def _bar(share: float, width: int) -> object:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    line = Table.grid()  # a bar alone does not end its line
    line.add_row(ProgressBar(total=1.0, completed=share, width=width))
    return line


def _table(seen: Overview, width: int, rows: int, ahead: float) -> object:
    """The running trials; if there are too many, the first and how many more."""
    from rich.table import Table
    from rich.text import Text

    names = next(columns for least, columns in _WIDTHS if width >= least)
    titles = {"step": printable(seen.fidelity), "value": "value" if seen.maximize else "loss"}
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in names:
        aligned = "right" if name in _RIGHT else "left"
        title = Text(titles.get(name, name))
        table.add_column(title, justify=aligned, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]  # two of its words
    few = seen.running if len(seen.running) <= rows else seen.running[: rows - 1]
    for one in few:
        shown = cells(one, ahead)
        style = "yellow" if one.lost else ""
        table.add_row(*(Text(shown[name]) for name in names), style=style)
    more = len(seen.running) - len(few)
    if more:
        table.add_row(Text(f"+{more}"), style="dim")
    return table
