"""Views that write lines: for people, for programs, or messages only."""

import json
import time
from collections.abc import Iterator
from typing import Any, TextIO, final

from priorband.durable import DurableStudy
from priorband.overview import Overview, Result, as_json
from priorband.trial import Observation
from priorband.views.summary import ending, progress, spent, standing
from priorband.views.watching import Sight
from priorband.views.writing import Lines
from priorband.wording import clock, paragraphs

TELL = 10.0  # seconds between lines that say how it goes


@final
class Quiet:
    """Shows nothing but messages."""

    def __init__(self, stream: TextIO | None) -> None:
        self._lines = Lines(stream)

    def say(self, text: str) -> None:
        """To the stream."""
        self._lines.write(paragraphs(text))

    def tick(self) -> None:
        """Nothing."""

    def finish(self, reason: str) -> None:
        """Nothing: whoever has asked for it gets the answer."""


@final
class Plain:
    """Lines for logs: a new best, and now and then how it goes. No control codes."""

    def __init__(self, study: DurableStudy, stream: TextIO | None) -> None:
        self._study = study
        self._lines = Lines(stream)
        self._sight = Sight(study)
        self._began = self._told = time.monotonic()
        self._ended = len(study.state.history.observations)
        self._best = study.best

    def say(self, text: str) -> None:
        """With the time in front."""
        self._write(paragraphs(text))

    def tick(self) -> None:
        """What is new."""
        seen = self._sight.look()
        if seen is None:
            return
        for better in self._improvements():
            self._write(f"{spent(seen)}: new best {_found(better, seen)}")
        if time.monotonic() - self._told >= TELL:
            self._write(progress(seen))

    def finish(self, reason: str) -> None:
        """Why it has ended, and what was found."""
        seen = self._sight.look(at_once=True) or self._sight.seen
        self._lines.write("\n".join(ending(seen, reason)) if seen else paragraphs(reason))

    def _write(self, text: str) -> None:
        self._told = time.monotonic()
        self._lines.write(f"[{clock(self._told - self._began)}] {text}")

    def _improvements(self) -> Iterator[Observation]:
        for outcome in self._study.state.history.observations_since(self._ended):
            self._ended += 1
            if not outcome.failed and (self._best is None or outcome.loss < self._best.loss):
                self._best = outcome
                yield outcome


@final
class Json:
    """One JSON object a line, for programs: how it goes, messages, and the end."""

    def __init__(self, study: DurableStudy, stream: TextIO | None) -> None:
        self._lines = Lines(stream)
        self._sight = Sight(study)
        self._told, self._ended = 0.0, -1

    def say(self, text: str) -> None:
        """A message."""
        self._write("message", {"text": text})

    def tick(self) -> None:
        """How it goes, when a trial has ended and now and then."""
        seen = self._sight.look()
        if seen is not None and (
            seen.ended != self._ended or time.monotonic() - self._told >= TELL
        ):
            self._ended, self._told = seen.ended, time.monotonic()
            self._write("progress", as_json(seen))

    def finish(self, reason: str) -> None:
        """Why it has ended, and what was found."""
        seen = self._sight.look(at_once=True) or self._sight.seen
        self._write("finish", {"reason": reason} | (as_json(seen) if seen else {}))

    def _write(self, event: str, about: dict[str, Any]) -> None:
        self._lines.write(json.dumps({"event": event} | about, allow_nan=False))


def _found(better: Observation, seen: Overview) -> str:
    """A result that led when it came, whether or not it still does."""
    value = -better.loss if seen.maximize else better.loss
    trial = better.trial
    return standing(Result(trial.id, value, trial.fidelity, trial.origin, trial.config), seen)
