"""The live display: a panel at the bottom of a terminal of any width."""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TextIO, final

from priorband.display.output import OutputQueue
from priorband.display.panel import panel
from priorband.display.polling import Poller
from priorband.display.summary import final_lines
from priorband.display.text import paragraphs, wrapped
from priorband.durable.study import DurableStudy

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
        self._poller = Poller(study, in_full=True)
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

    def finish(self, reason: str, notes: Sequence[str] = ()) -> None:
        """Replace the panel with why the run has ended, the best result, and notes on it."""
        overview = self._poller.poll(force=True) or self._poller.latest
        self._queue.run(self._live.stop)
        lines = final_lines(overview, reason, notes) if overview else [paragraphs(reason)]
        text = "\n".join(wrapped(lines, self._console.width))
        self._queue.run(lambda: self._print(text))

    def _draw(self) -> None:
        if self._poller.latest is not None:
            seconds_since = time.monotonic() - self._poller.latest_at
            size = self._console.size
            plain = self._console.options.ascii_only
            drawn: Any = panel(self._poller.latest, size.width, size.height, seconds_since, plain)
            self._live.update(drawn, refresh=True)

    def _mute(self) -> None:
        self._console.quiet = True

    def _print(self, text: str) -> None:
        from rich.text import Text

        self._console.print(Text(text), soft_wrap=True)
