"""Choose how a running study is shown: live in a terminal, as plain lines, as JSON, or not at all.

A display must never stop a worker: if storage does not respond, a pipe is closed or the display has
a bug, only the display is affected.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol, final

from priorband.display.lines import JsonDisplay, MessageDisplay, PlainDisplay, QuietDisplay
from priorband.display.live import LiveDisplay
from priorband.durable.study import DurableStudy
from priorband.errors import ArgumentError
from priorband.numeric import one_of

Show = Literal["live", "plain", "json", "quiet"]
SHOWS: tuple[Show, ...] = Show.__args__  # type: ignore[attr-defined]  # a Literal has them
REPEAT_SECONDS = 2.0  # within this time a message that several workers send is shown once


class Display(Protocol):
    """Something that shows the progress of a study."""

    def say(self, text: str) -> None:
        """Show a message; may be called by a signal handler at any time."""

    def tick(self) -> None:
        """Show what is new, if it is time; called several times a second."""

    def finish(self, reason: str, notes: Sequence[str] = ()) -> None:
        """Show why the run has ended, the best result, and notes on it."""


def checked_show(show: str | None) -> Show:
    """Check `show`; without one, choose "live" in a terminal and "plain" elsewhere."""
    if show is None:
        dumb = os.environ.get("TERM") in ("dumb", "unknown")
        return "live" if sys.stdout and sys.stdout.isatty() and not dumb else "plain"
    if not one_of(show, SHOWS):
        raise ArgumentError(
            f"`show` must be one of {', '.join(map(repr, SHOWS))}, or None to choose between "
            f"'live' and 'plain' automatically, got {show!r}."
        )
    return show


@contextmanager
def display(study: DurableStudy, show: str | None) -> Iterator[Display]:
    """The display that `show` asks for, open within a `with` block."""
    chosen = checked_show(show)
    if chosen == "live":
        with LiveDisplay(study) as live:
            yield SafeDisplay(live)
    elif chosen == "plain":
        yield SafeDisplay(PlainDisplay(study, sys.stdout))
    elif chosen == "json":
        yield SafeDisplay(JsonDisplay(study, sys.stdout))
    else:
        yield SafeDisplay(QuietDisplay())


@final
class SafeDisplay:
    """Wraps a display so that an exception in it does not reach the worker."""

    def __init__(self, inner: Display) -> None:
        self.inner = inner
        self._last_message = ("", -REPEAT_SECONDS)

    def say(self, text: str) -> None:
        """Show a message, unless the same one was shown a moment ago."""
        now = time.monotonic()
        previous, self._last_message = self._last_message, (text, now)
        if text != previous[0] or now - previous[1] >= REPEAT_SECONDS:
            self._try(lambda: self.inner.say(text))

    def tick(self) -> None:
        """Pass the call on."""
        self._try(self.inner.tick)

    def finish(self, reason: str, notes: Sequence[str] = ()) -> None:
        """Pass the call on."""
        self._try(lambda: self.inner.finish(reason, notes))

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            self.inner = MessageDisplay(sys.stderr)
            self.inner.say(
                f"The display failed ({type(error).__name__}: {error}). The study continues "
                "without it."
            )
