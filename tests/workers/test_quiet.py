"""`show="quiet"`: nothing is printed, whatever goes wrong; an exception says what it was."""

import errno
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amounts import slow
from objectives import EPOCHS, SPACE, raises, value
from servers import Server, fresh_url

import priorband as pb
from priorband.storage.checkpoints import Checkpoints
from priorband.storage.high_water import HighWater
from priorband.workers import open_with_retry


@pytest.fixture
def silent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Afterwards nothing was printed, and nothing was warned about that would be printed."""
    monkeypatch.setenv("PRIORBAND_SPOOL", str(tmp_path / "spool"))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield
    assert capfd.readouterr() == ("", "") and warned == []


QUIET: dict[str, Any] = {"show": "quiet", "start": "same-process"}


def full(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.usefixtures("silent")
def test_a_range_of_one_rung_is_not_mentioned(tmp_path: Path) -> None:
    assert pb.tune(value, SPACE, budget=2, study=tmp_path, **QUIET).best is not None


@pytest.mark.usefixtures("silent")
def test_a_disk_that_takes_nothing_more_is_not_mentioned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def objective(trial: pb.Attempt) -> float:
        for step in trial.steps():
            (trial.checkpoint_dir / "step").write_text(str(step))
            trial.report(step, loss=1.0)
        return value(trial)

    monkeypatch.setattr(HighWater, "write", full)
    for name in ("add_point", "seal", "sync"):
        monkeypatch.setattr(Checkpoints, name, full)
    pb.tune(objective, SPACE, EPOCHS, budget=1, study=tmp_path, **QUIET)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=slow)])
def test_an_objective_that_always_fails_is_in_the_exception_only(
    tmp_path: Path, workers: int
) -> None:
    how = QUIET | {"workers": workers, "start": "warm" if workers > 1 else "same-process"}
    with pytest.raises(pb.errors.HaltedError, match="all failed in the same way"):
        pb.tune(raises, SPACE, EPOCHS, budget=9, study=tmp_path, **how)


@pytest.mark.usefixtures("silent")
def test_storage_that_does_not_answer_is_in_the_exception_only(
    tmp_path: Path, new_postgres: Callable[[], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, where = new_postgres(), ""
    where = fresh_url(server)

    def unlucky(trial: pb.Attempt) -> float:
        server.kill()
        return 0.25

    with pytest.raises(pb.errors.StorageError, match="cannot be reached"):
        pb.tune(unlucky, SPACE, EPOCHS, budget=1, study=where, folder=tmp_path, patience=0, **QUIET)
    real = open_with_retry.open_with_retry
    monkeypatch.setattr(
        "priorband.workers.tuning.open_with_retry", lambda opening, say: real(opening, say, 0.2)
    )
    monkeypatch.setattr(open_with_retry, "PAUSE", 0.01)
    with pytest.raises(pb.errors.StorageError, match="cannot be reached"):
        pb.tune(value, study=where, folder=tmp_path, **QUIET)


@slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_is_only_in_the_exit_code(tmp_path: Path, workers: int) -> None:
    (tmp_path / "go.py").write_text(
        "import os, signal, sys, threading; sys.path.insert(0, sys.argv[1])\n"
        "import objectives as o, priorband as pb\n"
        "class Pulls:\n"
        "    def __init__(self, pid): self.pid = pid\n"
        "    def __call__(self, trial):\n"
        "        os.kill(self.pid, signal.SIGTERM)\n"
        "        while not trial.should_stop: pass\n"
        "        return 0.5\n"
        "if __name__ == '__main__':\n"
        "    pb.tune(Pulls(os.getpid()), o.SPACE, o.EPOCHS, budget=3, study='s', show='quiet',\n"
        f"            workers={workers})\n"
    )
    command = [sys.executable, "go.py", str(Path(__file__).parent)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGTERM, "", "")
