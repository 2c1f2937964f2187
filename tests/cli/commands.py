"""The command line as a process, as people and scripts use it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import priorband as pb

WORKERS = Path(__file__).parents[1] / "workers"
"""The folder with the objectives."""

BASIC = ("--objective", "objectives:value", "--fidelity", "objectives:EPOCHS")
SLOW = ("--objective", "objectives:slow", "--fidelity", "objectives:EPOCHS")


def priorband(*words: object, cwd: Path = WORKERS) -> "subprocess.CompletedProcess[str]":
    """What a command prints, and its exit code."""
    command = [sys.executable, "-m", "priorband", *map(str, words)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=120, env=environment()
    )


def started(*words: object, cwd: Path = WORKERS) -> "subprocess.Popen[str]":
    """A command that goes on until it ends or is stopped."""
    return subprocess.Popen(
        [sys.executable, "-m", "priorband", *map(str, words)],
        cwd=cwd,
        text=True,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def environment() -> dict[str, str]:
    """Nobody's colours, width or debugging."""
    names = ("PRIORBAND_DEBUG", "FORCE_COLOR", "COLUMNS")
    return {name: value for name, value in os.environ.items() if name not in names}


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.05)


def under_way(where: Path | str, steps: int = 1) -> bool:
    """Whether a trial of a study runs, and has saved so many steps."""
    try:
        with pb.open_study(where, read_only=True) as study:
            running = [number for number, opened in study.ledger.running.items() if opened.held]
            folder = study.checkpoints
            assert folder is not None
            places = [folder.root / "trials" / str(number) for number in running]
    except pb.PriorbandError:
        return False
    return any(list(place.glob(f"*.step-{steps}")) for place in places)


def no_control_codes(text: str) -> bool:
    """Whether a text is nothing but printable lines."""
    return all(c.isprintable() or c == "\n" for c in text)
