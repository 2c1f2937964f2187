"""How `tune` ends without a success, and after Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from objectives import EPOCHS, GATE, SPACE
from waiting import LONGEST, has_open, wait_until

import priorband as pb
from priorband.display.failure_reports import shown_path
from priorband.storage.write_lock import WriteLock
from priorband.workers.outcomes import TuningStopped, interruption
from priorband.workers.tuning import _raise_if_unfinished
from priorband.workers.worker import WorkerEnd

HERE = Path(__file__).parent
SCRIPT = """\
import sys; sys.path.insert(0, sys.argv[1])
import objectives as o, priorband as pb
if __name__ == '__main__':
    try:
        pb.tune(o.waits, o.SPACE, o.EPOCHS, budget=3, study='study', show=sys.argv[2],
                workers=int(sys.argv[3]))
    finally:
        print('cleaned up')
    print('as if tuning had finished')
"""


def nan(trial: pb.Attempt) -> float:
    return float("nan")


def odd(trial: pb.Attempt) -> float:
    if trial.id % 2:
        raise ValueError("odd")
    return float("nan")


def test_only_nan_stops_after_three_trials_and_again_after_a_resume(tmp_path: Path) -> None:
    for times in (1, 2):
        with pytest.raises(pb.errors.HaltedError) as raised:
            pb.tune(
                nan, SPACE, EPOCHS, budget=9, study=tmp_path, show="quiet", start="same-process"
            )
        with pb.open_study(tmp_path) as study:
            assert len(study.state.history) == 3 * times
        last, file, line = 3 * times - 1, shown_path(__file__), nan.__code__.co_firstlineno
        assert str(raised.value).splitlines()[:4] == [
            f"The first {3 * times} trials all failed in the same way (diverged). The study is "
            "stopped, since none has succeeded.",
            f"  trial {last}, diverged: the loss was nan",
            f"    {file}, line {line}, in nan: def nan(trial: pb.Attempt) -> float:",
            f"    log: {tmp_path}/trials/{last}/log-1.txt",
        ]


def test_the_live_view_has_shown_the_failures_that_the_error_leaves_out(tmp_path: Path) -> None:
    with pytest.raises(pb.errors.HaltedError) as raised:
        pb.tune(nan, SPACE, EPOCHS, budget=9, study=tmp_path, show="live", start="same-process")
    assert str(raised.value).splitlines()[1:] == [
        f"The failures are shown above, and again by: priorband status {tmp_path}"
    ]


def test_the_error_is_that_of_the_worker_whose_reason_is_shown() -> None:
    ends = [WorkerEnd("halted", "The first 4."), WorkerEnd("halted", "The first 3.")]
    with pytest.raises(pb.errors.HaltedError, match=r"The first 4\."):
        _raise_if_unfinished(ends, "runs/resnet", "")


def test_a_study_without_a_success_ends_with_an_error(tmp_path: Path) -> None:
    for _ in range(2):  # also if nothing is left to run
        with pytest.raises(pb.errors.HaltedError) as raised:
            pb.tune(
                odd,
                SPACE,
                EPOCHS,
                budget=pb.Budget(trials=4),
                study=tmp_path,
                show="quiet",
                start="same-process",
            )
        said = str(raised.value).splitlines()
        assert said[0] == "The budget of 4 trials is spent, but all 4 trials failed."
        assert said[1] == "  trial 3, raised: ValueError: odd"


def test_at_a_prompt_ctrl_c_raises_what_people_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = interruption()
    assert isinstance(stopped, TuningStopped) and stopped.code == 130
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert type(interruption()) is KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("show", ["plain", "quiet"])
def test_ctrl_c_ends_a_script_with_how_to_resume_and_no_traceback(
    tmp_path: Path, workers: int, show: str
) -> None:
    (tmp_path / "go.py").write_text(SCRIPT)
    command = [sys.executable, "go.py", str(HERE), show, str(workers)]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {GATE: str(tmp_path)},
        start_new_session=True,
    ) as tuning:
        try:
            trials = tmp_path / "study" / "trials"
            wait_until(lambda: list(trials.glob("*/1.step-*")), "a step that is saved")
            os.killpg(tuning.pid, signal.SIGINT)  # as a terminal does
            out, err = tuning.communicate(timeout=LONGEST)
        finally:
            tuning.kill()
    assert (tuning.returncode, err) == (130, "")
    said = out.splitlines()
    assert said[-1] == "cleaned up"
    if show == "plain":
        assert "Stopped by Ctrl-C." in said
        assert said[-2] == f"Run the same again to resume {tmp_path}/study."
    else:
        assert said == ["cleaned up"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_ctrl_c_while_a_study_is_opened_ends_a_script_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "go.py").write_text(SCRIPT)
    where = tmp_path / "study"
    pb.open_study(where, SPACE, EPOCHS).close()
    command = [sys.executable, "go.py", str(HERE), "plain", "1"]
    pipe = subprocess.PIPE
    lock = WriteLock(where)
    with (
        lock.acquire(),
        subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as tuning,
    ):
        try:
            wait_until(lambda: has_open(tuning.pid, lock.path), "the script to wait for the lock")
            tuning.send_signal(signal.SIGINT)
            out, err = tuning.communicate(timeout=LONGEST)
        finally:
            tuning.kill()
    lock.close()
    assert (tuning.returncode, out) == (130, "cleaned up\n")
    assert err == "Stopped by Ctrl-C.\nRun the same again to resume study.\n"
