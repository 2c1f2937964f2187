"""A study that is the same everywhere and every time, and the screens that show it."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console

import priorband as pb
from priorband.cli.status_commands import status_lines
from priorband.display.failure_reports import FailureReport
from priorband.display.overview import Overview, Running
from priorband.display.panel import panel
from priorband.display.polling import StudyWatcher
from priorband.display.summary import final_lines
from priorband.display.text import wrapped
from priorband.display.trial_details import TrialDetails, trial_details
from priorband.display.trial_text import trial_lines
from priorband.durable.messages import Assignment, Report
from priorband.planning.announce import start_lines
from priorband.planning.text import plan_lines
from priorband.values import replaced

WIDTHS = (60, 80, 120)
HEIGHT = 40
SPACE = pb.Space(
    {
        "learning_rate": pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
        "optimizer": pb.Categorical(["sgd", "adam"], prior="adam"),
        "momentum": pb.Float(0, 0.99, prior=0.9, when={"optimizer": "sgd"}),
        "layers": pb.Integer(1, 8, prior=2),
        "width": pb.Integer(8, 512, log=True),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 27)
FRAMES = [
    ["train.py", 41, "train", "loss = step(model, batch)"],
    ["train.py", 17, "step", "return model(batch.x).loss"],
]
DIED = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x10 and 12x5)"
WHERE = "runs/digits"
FAILED, CONTINUED = 9, 25
"""Trials that are shown in full."""
LAST = "Stopped by Ctrl-C.\nRun the same again to resume runs/digits."
NOTES = (
    "Checkpoint of trial 37: runs/digits/trials/37/1-9f3c2ab1/checkpoint",
    "Trial 37 was trained up to epochs=9 of 27. To train its configuration in full: priorband best "
    "runs/digits --train-in-full",
)


def make_study(where: Path, trials: int = 40) -> pb.DurableStudy:
    """A study with results, two kinds of failure and three running trials."""
    study = pb.open_study(where, SPACE, EPOCHS, seed=3)
    study.limit(12)
    for number in range(trials):
        claim = _claimed(study, f"{number}")
        trial = claim.trial
        if trial.id in (5, FAILED):
            frames = {"frames": FRAMES, "where": f"RuntimeError in step, {trial.id}"}
            frames |= {"traceback": f"Traceback (most recent call last):\n  ...\n{DIED}\n"}
            report = Report(trial.id, claim.attempt, None, "raised", DIED, frames)
        elif trial.id == 3:
            report = Report(trial.id, claim.attempt, None, "diverged", "the loss was nan")
        else:
            details = {"metrics": {"accuracy": 0.5}, "seconds": 12.0}
            report = Report(trial.id, claim.attempt, _loss(trial), details=details)
        study.turn(report, "")
    for number in range(3):
        _claimed(study, f"last {number}")
    return study


def make_halted_study(where: Path) -> pb.DurableStudy:
    """A study whose first three trials failed in the same way."""
    study = pb.open_study(where, SPACE, EPOCHS, seed=3)
    study.limit(12)
    for number in range(3):
        claim = _claimed(study, f"{number}")
        details = {"frames": FRAMES, "where": "RuntimeError in step"}
        study.turn(Report(claim.trial.id, 1, None, "raised", DIED, details), "")
    return study


def _claimed(study: pb.DurableStudy, request: str) -> Assignment:
    claim = study.turn(None, request)
    assert isinstance(claim, Assignment)
    return claim


def _loss(trial: pb.Trial) -> float:
    distance = abs(trial.config["layers"] - 3) / 8 + abs(trial.config["learning_rate"] - 0.002)
    return float(round(0.03 + distance + 0.5 / trial.fidelity, 5))


def screens(study: pb.DurableStudy, halted: pb.DurableStudy) -> dict[str, str]:
    """Every screen at every width, by the name of its file."""
    shown, bad = _overview(study), _overview(halted)
    reason = "The first 3 trials all failed in the same way (raised RuntimeError in step). The "
    reason += "study is stopped, since none has succeeded."
    planned = pb.plan(EPOCHS, "priorband", budget=4, workers=2)
    short = pb.plan(EPOCHS, "priorband", budget=2, workers=2)
    found: dict[str, str] = {}
    for width in WIDTHS:
        made = {
            "live": _drawn(shown, width, HEIGHT),
            "live-low": _drawn(shown, width, 16),
            "live-halted": _drawn(bad, width, HEIGHT),
            "status": _wrapped(status_lines(study, shown, width), width),
            "status-halted": _wrapped(status_lines(halted, bad, width), width),
            "show": _wrapped(trial_lines(_details(study, CONTINUED), width), width),
            "show-failed": _wrapped(trial_lines(_details(study, FAILED), width), width),
            "last": _wrapped(final_lines(shown, LAST, NOTES), width),
            "last-halted": _wrapped(final_lines(bad, reason), width),
            "plan": "".join(f"{line}\n" for line in plan_lines(planned, width)),
            "start": _wrapped(start_lines(planned), width),
            "start-short": _wrapped(start_lines(short), width),
        }
        found |= {f"{name}-{width}.txt": text for name, text in made.items()}
    return found


def _overview(study: pb.DurableStudy) -> Overview:
    """An overview without what differs from one time to the next."""
    overview = StudyWatcher(study, in_full=True).read()
    running = tuple(map(_running, range(len(overview.running)), overview.running))
    recent = overview.recent
    failures = tuple(_failure(report) for report in recent.failures)
    return replaced(
        overview,
        where=WHERE,
        created=1.8e9,
        running=running,
        workers=len(running),
        seconds_left=700.0 if running else None,
        recent=replaced(recent, failures=failures),
    )


def _running(number: int, running: Running) -> Running:
    steps: dict[str, Any] = {"step": float(number), "value": 0.5 - number / 8}
    return replaced(running, worker=f"gpu-{number}", seconds=61.0 * number, **steps)


def _failure(report: FailureReport) -> FailureReport:
    log = Path(WHERE, "trials", str(report.trial), "log-1.txt")
    return replaced(report, log=log, worker="gpu-1", at=0.0)


def _details(study: pb.DurableStudy, number: int) -> TrialDetails:
    details = trial_details(study, number)
    attempts = [
        replaced(attempt, worker=f"gpu-{attempt.number}", began=1.8e9, ended=1.8e9 + 75)
        for attempt in details.attempts
    ]
    here = Path(WHERE, "trials", str(number))
    curve = tuple((float(step), 0.9 / step + 0.03) for step in range(1, 10))
    failure = details.failure and _failure(details.failure)
    saved = None if failure else here / "1-9f3c2ab1" / "checkpoint"
    return replaced(
        details,
        where=WHERE,
        attempts=tuple(attempts),
        curve=() if failure else curve,
        checkpoint=saved,
        logs=(here / "log-1.txt",),
        failure=failure,
    )


def _drawn(overview: Overview, width: int, height: int) -> str:
    console = Console(width=width, height=height, record=True, file=io.StringIO())
    console.print(panel(overview, width, height))
    return "".join(f"{line.rstrip()}\n" for line in console.export_text().splitlines())


def _wrapped(lines: Iterable[str], width: int) -> str:
    return "".join(f"{line.rstrip()}\n" for line in wrapped(lines, width))
