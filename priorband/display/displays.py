"""How a running study is shown: live in a terminal, as plain lines elsewhere, as JSON, or not.

A display never ends a worker: storage that does not answer, a pipe that is closed and a mistake in
here cost the display, not the work.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, Protocol, final

from priorband.display.lines import JsonDisplay, PlainDisplay, QuietDisplay
from priorband.display.live import LiveDisplay
from priorband.durable.study import DurableStudy
from priorband.errors import ArgumentError

Show = Literal["live", "plain", "json", "quiet"]
SHOWS: tuple[Show, ...] = Show.__args__  # type: ignore[attr-defined]  # a Literal has them
ECHO = 2.0  # seconds in which the same message is an echo


class Display(Protocol):
    """Something that shows how a study goes."""

    def say(self, text: str) -> None:
        """A message for people; may be called by a signal handler, in the middle of anything."""

    def tick(self) -> None:
        """Called now and then: show what is new."""

    def finish(self, reason: str) -> None:
        """The study has ended, for now or for good."""


def given_show(show: str | None) -> Show:
    """A way to show; without one, live on a terminal and plain elsewhere."""
    if show is None:
        dumb = os.environ.get("TERM") in ("dumb", "unknown")
        return "live" if sys.stdout and sys.stdout.isatty() and not dumb else "plain"
    if show not in SHOWS:
        raise ArgumentError(
            f"`show` must be one of {', '.join(map(repr, SHOWS))}, or None for what fits the "
            f"place, got {show!r}."
        )
    return show


@contextmanager
def display(study: DurableStudy, show: str | None) -> Iterator[Display]:
    """The display that was asked for, or the one that fits the place."""
    chosen = given_show(show)
    if chosen == "live":
        with LiveDisplay(study) as live:
            yield SafeDisplay(live)
    elif chosen == "plain":
        yield SafeDisplay(PlainDisplay(study, sys.stdout))
    elif chosen == "json":
        yield SafeDisplay(JsonDisplay(study, sys.stdout))
    else:
        yield SafeDisplay(QuietDisplay(sys.stderr))


@final
class SafeDisplay:
    """A display whose mistakes harm nobody."""

    def __init__(self, shown: Display) -> None:
        self.shown = shown
        self._said = ("", -ECHO)

    def say(self, text: str) -> None:
        """As the display does; what several workers say at once is said once."""
        now = time.monotonic()
        before, self._said = self._said, (text, now)
        if text != before[0] or now - before[1] >= ECHO:
            self._try(lambda: self.shown.say(text))

    def tick(self) -> None:
        """As the display does."""
        self._try(self.shown.tick)

    def finish(self, reason: str) -> None:
        """As the display does."""
        self._try(lambda: self.shown.finish(reason))

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:
            self.shown = QuietDisplay(sys.stderr)
            self.shown.say(f"The display failed ({type(error).__name__}: {error}); work goes on.")
