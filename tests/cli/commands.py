"""The command line as a process, as people and scripts use it."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from waiting import LONGEST

import priorband as pb
from priorband.cli import main

WORKERS = Path(__file__).parents[1] / "workers"
"""The folder with the objectives."""

BASIC = ("--objective", "objectives:value", "--fidelity", "objectives:EPOCHS")
WAITS = ("--objective", "objectives:waits", "--fidelity", "objectives:EPOCHS")


def priorband(*words: object, cwd: Path = WORKERS) -> "subprocess.CompletedProcess[str]":
    """What a command prints, and its exit code."""
    command = [sys.executable, "-m", "priorband", *map(str, words)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=LONGEST, env=environment()
    )


def run_here(
    words: Sequence[object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> "subprocess.CompletedProcess[str]":
    """What `priorband` does in this process, from the folder with the objectives: quicker."""
    for name in {*os.environ} - {*environment()}:
        monkeypatch.delenv(name)
    monkeypatch.chdir(WORKERS)
    monkeypatch.setattr(sys, "path", [*sys.path])
    try:
        code = main([*map(str, words)])
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    said = capsys.readouterr()
    return subprocess.CompletedProcess([*map(str, words)], code, said.out, said.err)


@contextmanager
def started(
    *words: object, cwd: Path = WORKERS, **options: Any
) -> Iterator["subprocess.Popen[str]"]:
    """A command that goes on until it ends or is stopped; afterwards it is gone."""
    command = [sys.executable, "-m", "priorband", *map(str, words)]
    given: dict[str, Any] = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "env": environment(),
    } | options
    with subprocess.Popen(command, cwd=cwd, text=True, **given) as process:
        try:
            yield process
        finally:
            process.kill()


def environment() -> dict[str, str]:
    """Nobody's colours, width or debugging."""
    names = ("PRIORBAND_DEBUG", "FORCE_COLOR", "COLUMNS")
    return {name: value for name, value in os.environ.items() if name not in names}


def has_saved_a_step(where: Path | str) -> bool:
    """Whether a running trial of a study has saved a step; with `waits`, that stays true."""
    try:
        with pb.open_study(where, read_only=True) as study:
            running = [number for number, opened in study.ledger.running.items() if opened.held]
            folder = study.checkpoints
            assert folder is not None
            places = [folder.root / "trials" / str(number) for number in running]
    except pb.PriorbandError:
        return False
    return any(list(place.glob("*.step-*")) for place in places)


def no_control_codes(text: str) -> bool:
    """Whether a text is nothing but printable lines."""
    return all(c.isprintable() or c == "\n" for c in text)
