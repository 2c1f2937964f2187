"""Displays that print lines for people or for programs, only messages, or nothing."""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any, TextIO, final

from priorband.display.failure_reports import (
    advice_lines,
    failure_json,
    output_lines,
    place_lines,
    summary_line,
)
from priorband.display.new_failures import NewFailures
from priorband.display.output import LineWriter
from priorband.display.overview import Overview, Result, as_json
from priorband.display.polling import Poller
from priorband.display.summary import budget_text, final_lines, progress_line, result_text
from priorband.display.text import elapsed_text, paragraphs
from priorband.durable.study import DurableStudy
from priorband.trial import Observation

PROGRESS_SECONDS = 10.0  # between lines that show the progress


@final
class QuietDisplay:
    """Prints nothing: the caller of `tune` gets the result, or an exception."""

    def say(self, text: str) -> None:
        """Do nothing."""

    def tick(self) -> None:
        """Do nothing."""

    def finish(self, reason: str, notes: Sequence[str] = ()) -> None:
        """Do nothing."""


@final
class MessageDisplay:
    """Prints messages only."""

    def __init__(self, stream: TextIO | None) -> None:
        self._lines = LineWriter(stream)

    def say(self, text: str) -> None:
        """Print a message."""
        self._lines.write(paragraphs(text))

    def tick(self) -> None:
        """Do nothing."""

    def finish(self, reason: str, notes: Sequence[str] = ()) -> None:
        """Do nothing: the caller of `tune` gets the result."""


@final
class PlainDisplay:
    """Prints lines for a log, without control codes.

    These are each new best, each failure, and the progress at times.
    """

    def __init__(self, study: DurableStudy, stream: TextIO | None) -> None:
        self._study = study
        self._lines = LineWriter(stream)
        self._poller = Poller(study)
        self._started = self._last_line = time.monotonic()
        self._results_read = study.state.history.observation_count
        self._best = study.best
        self._failures = NewFailures(study)

    def say(self, text: str) -> None:
        """Print a message with the elapsed time."""
        self._write(paragraphs(text))

    def tick(self) -> None:
        """Print new bests, and the progress if nothing was printed for a while."""
        overview = self._poller.poll()
        if overview is None:
            return
        for best in self._new_bests():
            self._write(f"{budget_text(overview)}: new best {_best_text(best, overview)}")
        self._show_failures(overview.maximize)
        if time.monotonic() - self._last_line >= PROGRESS_SECONDS:
            self._write(progress_line(overview))

    def finish(self, reason: str, notes: Sequence[str] = ()) -> None:
        """Print why the run has ended, the best result, and notes on it."""
        overview = self._poller.poll(force=True) or self._poller.latest
        if overview is not None:
            self._show_failures(overview.maximize)
        lines = final_lines(overview, reason, notes, False) if overview else [paragraphs(reason)]
        self._lines.write("\n".join(lines))

    def _show_failures(self, maximize: bool) -> None:
        for failure, first in self._failures.read():
            verb = "failed: " if failure.ended else "was given back: "
            self._write(verb + summary_line(failure))
            if first:  # of its kind: the others need not say again where, and what to do
                more = [*output_lines(failure), *place_lines(failure)]
                more += advice_lines(failure, maximize)
                self._lines.write("\n".join(f"    {line}" for line in more))

    def _write(self, text: str) -> None:
        self._last_line = time.monotonic()
        self._lines.write(f"[{elapsed_text(self._last_line - self._started)}] {text}")

    def _new_bests(self) -> Iterator[Observation]:
        for outcome in self._study.state.history.observations_since(self._results_read):
            self._results_read += 1
            if not outcome.failed and (self._best is None or outcome.loss < self._best.loss):
                self._best = outcome
                yield outcome


@final
class JsonDisplay:
    """Prints one JSON object per line: the progress, failures, messages, and the end."""

    def __init__(self, study: DurableStudy, stream: TextIO | None) -> None:
        self._lines = LineWriter(stream)
        self._poller = Poller(study)
        self._last_line, self._ended = 0.0, -1
        self._failures = NewFailures(study)

    def say(self, text: str) -> None:
        """Print a message."""
        self._write("message", {"text": text})

    def tick(self) -> None:
        """Print the progress when a trial has ended, and every few seconds."""
        overview = self._poller.poll()
        if overview is not None and (
            overview.ended != self._ended or time.monotonic() - self._last_line >= PROGRESS_SECONDS
        ):
            self._ended, self._last_line = overview.ended, time.monotonic()
            self._show_failures(overview.maximize)
            self._write("progress", as_json(overview))

    def finish(self, reason: str, notes: Sequence[str] = ()) -> None:
        """Print notes on the best result, why the run has ended, and the final overview."""
        overview = self._poller.poll(force=True) or self._poller.latest
        for note in notes:
            self.say(note)
        if overview is not None:
            self._show_failures(overview.maximize)
        self._write("finish", {"reason": reason} | (as_json(overview) if overview else {}))

    def _show_failures(self, maximize: bool) -> None:
        for failure, _ in self._failures.read():
            self._write("failure", failure_json(failure, maximize))

    def _write(self, event: str, data: dict[str, Any]) -> None:
        self._lines.write(json.dumps({"event": event} | data, allow_nan=False))


def _best_text(best: Observation, overview: Overview) -> str:
    """A result that was the best when it arrived, even if a later one is better."""
    value = -best.loss if overview.maximize else best.loss
    trial = best.trial
    result = Result(trial.id, value, trial.fidelity, trial.origin, trial.config)
    return result_text(result, overview)
