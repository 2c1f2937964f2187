"""Ctrl-C and SIGTERM: the trial goes back, the exit code says why, and the next run goes on."""

import os
import pty
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import (
    WAITS,
    environment,
    has_saved_a_step,
    no_control_codes,
    priorband,
    started,
)
from waiting import LONGEST, has_open, wait_until

import priorband as pb
from priorband.storage.write_lock import WriteLock


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the objective `waits` looks at."""
    folder = tmp_path / "gate"
    folder.mkdir()
    monkeypatch.setenv("PRIORBAND_TEST_GATE", str(folder))
    return folder


@pytest.mark.parametrize(
    ("workers", "number", "times", "code"),
    [
        (1, signal.SIGINT, 1, 130),
        (1, signal.SIGINT, 2, 130),
        (2, signal.SIGINT, 1, 130),
        (2, signal.SIGTERM, 1, 143),
    ],
)
def test_a_stopped_run_hands_its_trials_back_and_can_be_resumed(  # noqa: PLR0913  # a matrix
    tmp_path: Path, gate: Path, workers: int, number: signal.Signals, times: int, code: int
) -> None:
    words = ("run", tmp_path / "s", *WAITS, "--trials", 2, "--workers", workers)
    if times == 2:
        (gate / "ignore-stop").touch()
    with started(*words) as process:
        wait_until(lambda: has_saved_a_step(tmp_path / "s"), "the first step")
        process.send_signal(number)
        if times == 2:
            wait_until((gate / "asked").exists, "the trial to be asked to stop")
            process.send_signal(number)
        out, err = process.communicate(timeout=LONGEST)
    assert process.returncode == code, err
    by = "Ctrl-C" if number == signal.SIGINT else number.name
    assert f"Stopped by {by}.\n" in out and "Run the same again to resume" in out.splitlines()[-1]
    assert err == "" and no_control_codes(out)
    with pb.open_study(tmp_path / "s", read_only=True) as study:
        assert study.ledger.failures == {} and study.journal.leases() == []
        assert study.ledger.waiting.keys() == study.ledger.running.keys() != set()
    if times == 1 and workers == 1:
        (gate / "go").touch()
        done = priorband(*words)
        assert done.returncode == 0, done.stderr
        with pb.open_study(tmp_path / "s", read_only=True) as study:
            assert study.spending().trials == 2 and not study.ledger.running
            assert study.ledger.winners == {0: 2}  # the second attempt went on from the first


def chunks(terminal: int) -> Iterator[bytes]:
    """What is written on a terminal, until all who write have closed it."""
    deadline = time.monotonic() + LONGEST
    while select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # nobody has it open any longer
            return
        yield chunk
    raise AssertionError(f"the terminal is still in use after {LONGEST:g} s")


@pytest.mark.usefixtures("gate")
def test_a_terminal_is_left_as_it_was(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    look = environment() | {"TERM": "xterm", "COLUMNS": "60", "LINES": "20"}
    streams: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    words = ("run", tmp_path / "s", *WAITS, "--trials", 2)
    try:
        with started(*words, env=look, **streams) as process:
            os.close(theirs)
            shown, asked = b"", False
            for chunk in chunks(ours):
                shown += chunk
                if b"1 running" in shown and not asked:
                    process.send_signal(signal.SIGINT)
                    asked = True
            assert process.wait(LONGEST) == 130
    finally:
        os.close(ours)
    text = shown.decode()
    assert (
        "1 running" in text and text.count("resume") == 1 and "Run the same again to resume" in text
    )
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") > 0
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
@pytest.mark.parametrize("show", ["plain", "quiet"])
def test_ctrl_c_while_a_study_is_opened_says_how_to_resume(tmp_path: Path, show: str) -> None:
    where = tmp_path / "s"
    pb.open_study(where, pb.Space(x=pb.Float(0, 1)), pb.Fidelity("epochs", 1, 9)).close()
    words = ("run", where, "--objective", "objectives:value", "--budget", 1, f"--{show}")
    lock = WriteLock(where)
    with lock.acquire(), started(*words) as process:
        wait_until(lambda: has_open(process.pid, lock.path), "the run to wait for the write lock")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONGEST)
    lock.close()
    said = ["Stopped by Ctrl-C.", f"Run the same again to resume {where}."]
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert err.splitlines()[-2:] == (said if show == "plain" else [])
