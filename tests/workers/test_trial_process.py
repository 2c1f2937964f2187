"""Trials that fail in a process of their own: told apart, and the worker goes on."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from single_trial import trial_end
from waiting import wait_until

import priorband as pb
from priorband.workers import trial_process

Objective = Callable[[pb.Attempt], Any]


def hangs(trial: pb.Attempt) -> float:
    time.sleep(600)
    return 0.0


def exits(trial: pb.Attempt) -> float:
    os._exit(3)


def quits(trial: pb.Attempt) -> float:
    sys.exit("enough")


def segfaults(trial: pb.Attempt) -> float:
    return float(ctypes.string_at(0)[0])


def is_killed(trial: pb.Attempt) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def hogs(trial: pb.Attempt) -> float:
    raise MemoryError("no more")


def diverges(trial: pb.Attempt) -> float:
    for step in trial.steps():
        trial.report(step, loss=float("nan"))
    return 0.0


def returns_nan(trial: pb.Attempt) -> float:
    return float("nan")


def returns_text(trial: pb.Attempt) -> str:
    return "0.5"


def leaves_a_child(trial: pb.Attempt) -> dict[str, Any]:
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    return {"loss": 0.5, "left": left.pid}


def terminates_a_fork(trial: pb.Attempt) -> float:
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
    process.start()
    process.terminate()
    process.join()
    assert process.exitcode == -signal.SIGTERM
    return 0.5


def prints(trial: pb.Attempt) -> float:
    for _ in range(20):
        print("x" * 100_000)
    return 0.5


@pytest.mark.parametrize(
    ("objective", "kind", "said", "attempts"),
    [
        (exits, "crashed", "ended with 3", 2),
        (quits, "crashed", "sys.exit('enough')", 2),
        (segfaults, "crashed", "SIGSEGV", 2),
        (is_killed, "memory", "killed, probably because memory ran out", 2),
        (hogs, "memory", "MemoryError: no more", 2),
        (diverges, "diverged", "the loss was nan at step 1", 1),
        (returns_nan, "diverged", "the loss was nan", 1),
        (returns_text, "invalid", "returned the text '0.5'", 1),
    ],
)
def test_failures_are_told_apart(
    tmp_path: Path, objective: Objective, kind: str, said: str, attempts: int
) -> None:
    ended = trial_end(tmp_path, objective)
    assert (ended["kind"], ended["attempt"]) == (kind, attempts)
    assert said in ended["reason"]


@pytest.mark.parametrize("limit", ["trial_seconds", "step_seconds"])
def test_a_trial_that_hangs_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(trial_process, "AFTER_TERM", 0.1)
    ended = trial_end(tmp_path, hangs, **{limit: 1.0})
    assert ended["kind"] == "timeout" and "1 s" in ended["reason"]


def test_what_a_trial_leaves_running_is_ended_with_it(tmp_path: Path) -> None:
    left = trial_end(tmp_path, leaves_a_child)["metrics"]["left"]
    status = Path(f"/proc/{int(left)}/status")

    def is_gone() -> bool:
        try:
            return "State:\tZ" in status.read_text()
        except OSError:
            return True

    wait_until(is_gone, "the child to be ended")


def test_a_process_that_a_trial_forks_can_be_terminated(tmp_path: Path) -> None:
    assert trial_end(tmp_path, terminates_a_fork, trial_seconds=60.0)["loss"] == 0.5


def test_what_a_trial_prints_goes_to_its_log(tmp_path: Path) -> None:
    assert trial_end(tmp_path, prints)["loss"] == 0.5
    assert (tmp_path / "trials/0/log-1.txt").stat().st_size > 2_000_000
