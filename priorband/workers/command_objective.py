"""A command as an objective: run a script for a trial, and take the metric that it reports."""

import math
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, final

from priorband.errors import FormatError, MismatchError
from priorband.values import frozen
from priorband.workers.attempt import Attempt, Interrupted, task_checkpoints
from priorband.workers.command_failure import PREEMPTED, CommandFailed, handed_back
from priorband.workers.command_words import as_json, as_word, expanded
from priorband.workers.metric_reports import REPORT
from priorband.workers.script_metrics import (
    PrintedMetric,
    ReportedPoint,
    ReportFile,
    printed_names,
)
from priorband.workers.script_process import ScriptProcess
from priorband.workers.trial_runner import GRACE

_LOOK = 0.1  # seconds between two looks at the file of reports
_LAST_LINES = 20
_MOST_NAMES = 20
_LONGEST_PAUSE = 30.0  # seconds before a trial that was handed back is taken again
_TAKEN_NAMES = ("loss", "value", "self", "step", "cost")


@final
@frozen
class CommandObjective:
    """An objective that runs a command for each trial.

    The value can be sent to another process. The script gets the trial as arguments and in
    environment variables; it reports with `report_metric`, in the file `$PRIORBAND_REPORT`, or by
    printing.

    Args:
        command: the program and its arguments, with placeholders: see command_words.py.
        metric: the name of the metric.
        directory: the folder in which the script runs.
        fidelity: the name of the fidelity; None if each trial is a full training.
        pattern: a regular expression that finds the metric in a printed line.
        grace: seconds between asking the script to stop and killing it.
    """

    command: tuple[str, ...]
    metric: str
    directory: str
    fidelity: str | None = None
    pattern: str | None = None
    grace: float = GRACE

    def __call__(self, attempt: Attempt) -> dict[str, Any]:
        """Run the script, and return its metrics with the study's own as `loss`."""
        folder = Path(os.path.abspath(attempt.checkpoint_dir))
        reports = ReportFile(folder.parent / "report.jsonl")
        settings = dict(attempt.config)
        if self.fidelity is not None:
            settings[self.fidelity] = attempt.fidelity
        built_in = _built_in(attempt, folder)
        words = expanded(self.command, built_in, settings)
        environment = _environment(built_in, settings, reports.path)
        results = _ScriptRun(self, attempt, reports)
        try:
            script = ScriptProcess(words, self.directory, environment)
        except OSError as error:
            raise _not_started(words[0], self.directory, error) from None
        with script:
            results.follow(script)
            return results.outcome(script.code)


@final
class _ScriptRun:
    """What a running script has reported so far."""

    def __init__(self, objective: CommandObjective, attempt: Attempt, reports: ReportFile) -> None:
        self.objective = objective
        self.attempt = attempt
        self.reports = reports
        self.printed = PrintedMetric(objective.metric, objective.pattern, objective.fidelity)
        self.latest: dict[str, float] = {}
        """The last value of each metric."""
        self.in_file = False
        """Whether the metric was reported to the file, which counts more than what is printed."""
        self.names: dict[str, None] = {}
        """What else the script has printed as `name=value`, the first `_MOST_NAMES` of it."""
        self.step: float | None = None
        self.last_lines: dict[str, deque[str]] = {
            "stderr": deque(maxlen=_LAST_LINES),
            "stdout": deque(maxlen=_LAST_LINES),
        }
        self.stop_reason = ""
        self._asked_at = 0.0
        self._sealed: tuple[object, ...] = ()
        self._checkpoints = task_checkpoints(attempt.task)

    def follow(self, script: ScriptProcess) -> None:
        """Read what the script says until it ends; pass on requests to stop."""
        while not script.ended:
            out, err = script.read(_LOOK)
            self._take_reports()
            self.last_lines["stdout"].extend(line for line in out if line.strip())
            self.last_lines["stderr"].extend(line for line in err if line.strip())
            for line in (*out, *err):
                point = None if self.in_file else self.printed.find(line)
                if point is not None:
                    self._take(point)
                elif self.objective.metric not in self.latest and len(self.names) < _MOST_NAMES:
                    self.names |= dict.fromkeys(printed_names(line))
            self._stop_if_asked(script)
        self._take_reports()

    def outcome(self, code: int) -> dict[str, Any]:
        """What the objective returns for an exit code; raise if there is no result."""
        if self.stop_reason and not (code == 0 and self._complete):
            if code in (0, PREEMPTED):  # it had the time to save
                self._seal()
            raise Interrupted(self.stop_reason)
        if code == PREEMPTED:
            self._seal()
            self._pause()
            raise Interrupted(handed_back(self.step))
        if code:
            raise self._failure(code)
        if self.objective.metric not in self.latest:
            raise self._without_result()
        return self._result()

    @property
    def _complete(self) -> bool:
        """Whether the script has reported the last step."""
        reached = self.step is not None and self.step >= self.attempt.fidelity
        return reached and self.objective.metric in self.latest

    def _take_reports(self) -> None:
        for point in self.reports.new_points():
            self.in_file = self.in_file or self.objective.metric in point.metrics
            self._take(point)

    def _take(self, point: ReportedPoint) -> None:
        """Record a point; one with a step goes to the learning curve."""
        self.latest |= point.metrics
        if point.step is None:
            return
        self.step = point.step
        value = point.metrics.get(self.objective.metric)
        with suppress(Interrupted):  # the script is asked to stop, and may still save
            self.attempt.report(point.step, value, **self._others(point.metrics))
        if point.step < self.attempt.fidelity:
            self._seal()

    def _others(self, metrics: dict[str, float]) -> dict[str, float]:
        """The other metrics, under names that do not clash with our own."""
        return {
            f"script_{name}" if name in _TAKEN_NAMES else name: value
            for name, value in metrics.items()
            if name != self.objective.metric
        }

    def _result(self) -> dict[str, Any]:
        metrics = dict(self.latest)
        result: dict[str, Any] = {"loss": metrics[self.objective.metric]}
        if self.objective.metric != "cost" and math.isfinite(metrics.get("cost", math.inf)):
            result["cost"] = metrics.pop("cost")
        if self.objective.metric not in _TAKEN_NAMES:
            result[self.objective.metric] = metrics[self.objective.metric]
        return result | self._others(metrics)

    def _stop_if_asked(self, script: ScriptProcess) -> None:
        if not self.stop_reason:
            self.stop_reason = self.attempt.should_stop
            if self.stop_reason:
                self._asked_at = time.monotonic()
                script.terminate()
        elif time.monotonic() - self._asked_at > self.objective.grace:
            script.kill()

    def _seal(self) -> None:
        """Copy the checkpoint for other workers, if it has changed and nobody is writing to it."""
        if self.step is None or not 0 <= self.step < self.attempt.fidelity:
            return
        number, attempt = self.attempt.id, self.attempt.attempt
        step = int(self.step) if float(self.step).is_integer() else self.step
        try:
            stamp = self._checkpoints.stamp(number, attempt)
            changed = stamp and stamp != self._sealed
            if changed and self._checkpoints.seal(number, attempt, step, stamp):
                self._sealed = stamp
        except (OSError, FormatError, MismatchError) as error:
            print(f"The checkpoint of step {step:g} could not be kept: {error}", file=sys.stderr)

    def _pause(self) -> None:
        """Wait a little, so that a script that always hands back does not keep a worker busy."""
        end = time.monotonic() + min(self.attempt.attempt, _LONGEST_PAUSE)
        while time.monotonic() < end and not self.attempt.should_stop:
            time.sleep(_LOOK)

    def _failure(self, code: int) -> CommandFailed:
        lines = self.last_lines["stderr"] or self.last_lines["stdout"]
        output = "\n".join(lines)
        last = f": {lines[-1].strip()}" if lines else ", and it printed nothing"
        number = -code if code < 0 else code - 128  # a shell's exit code for a signal
        if number == signal.SIGKILL:
            return CommandFailed("memory", "the script was killed, probably as memory ran out")
        if code < 0:
            name = _signal_name(-code)
            return CommandFailed("crashed", f"the script died of {name}{last}", output)
        kind = _kind_of_failure(lines)
        return CommandFailed(kind, f"the script ended with exit code {code}{last}", output)

    def _without_result(self) -> CommandFailed:
        name = self.objective.metric
        names = {**self.latest, **self.names}
        close = get_close_matches(name, names, n=1)
        found = ", ".join(f"`{other}`" for other in close or names)
        meant = "is that" if len(close or names) == 1 else "is one of them"
        seen = f" It reported {found}: {meant} meant by `metric`?" if found else ""
        if self.reports.rejected:
            seen += f" This line in $PRIORBAND_REPORT is no report: {self.reports.rejected}"
        return CommandFailed(
            "invalid",
            f"the script ended with exit code 0, but did not report `{name}`.{seen} Call "
            f"priorband.report_metric({as_keyword(name)}) in it, or print {name}=0.31.",
        )


def as_keyword(name: str) -> str:
    """A metric as an argument of `report_metric`.

    >>> as_keyword("val_loss"), as_keyword("val/loss")
    ('val_loss=0.31', "**{'val/loss': 0.31}")
    """
    return f"{name}=0.31" if name.isidentifier() else f"**{{{name!r}: 0.31}}"


def _built_in(attempt: Attempt, folder: Path) -> dict[str, Any]:
    resume = attempt.resume_from
    return {
        "checkpoint_dir": str(folder),
        "resume_from": "" if resume is None else os.path.abspath(resume),
        "fidelity": attempt.fidelity,
        "start": attempt.start,
        "seed": attempt.seed,
        "trial": attempt.id,
        "attempt": attempt.attempt,
        "python": sys.executable,
    }


def _environment(
    built_in: dict[str, Any], settings: dict[str, Any], report: Path
) -> dict[str, str]:
    """The environment of the script: this one, and the trial."""
    ours = {f"PRIORBAND_{name.upper()}": as_word(value) for name, value in built_in.items()}
    ours |= {REPORT: str(report), "PRIORBAND_CONFIG": as_json(settings)}
    unbuffered = {"PYTHONUNBUFFERED": "1"}  # or else lines arrive when the script ends
    return {**unbuffered, **os.environ, **ours}


def _not_started(program: str, directory: str, error: OSError) -> CommandFailed:
    what = error.strerror or type(error).__name__
    if not os.path.isdir(directory):
        return CommandFailed("raised", f"the folder {directory} is not there: {what}")
    return CommandFailed("raised", f"the program {program!r} cannot be started: {what}")


def _kind_of_failure(lines: Iterable[str]) -> Any:
    """Whether memory ran out, as the last lines of a script say."""
    text = "\n".join(lines)
    signs = ("MemoryError", "OutOfMemoryError", "CUDA out of memory", "std::bad_alloc")
    return "memory" if any(sign in text for sign in signs) else "raised"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
