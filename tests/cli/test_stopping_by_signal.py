"""Ctrl-C and SIGTERM: the trial goes back, the exit code says why, and the next run goes on."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import SLOW, WORKERS, environment, no_control_codes, priorband, started, until
from commands import under_way as steps_done

import priorband as pb


@pytest.mark.parametrize(
    ("workers", "number", "times", "code"),
    [
        (1, signal.SIGINT, 1, 130),
        (1, signal.SIGINT, 2, 130),
        (2, signal.SIGINT, 1, 130),
        (2, signal.SIGTERM, 1, 143),
    ],
)
def test_a_stopped_run_hands_its_trials_back_and_can_be_resumed(
    tmp_path: Path, workers: int, number: signal.Signals, times: int, code: int
) -> None:
    words = ("run", tmp_path / "s", *SLOW, "--trials", 2, "--workers", workers)
    process = started(*words)
    try:
        until(lambda: steps_done(tmp_path / "s"))
        for _ in range(times):
            process.send_signal(number)
            time.sleep(0.05)  # two signals at once are one
        stopped = time.monotonic()
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == code, err
    assert time.monotonic() - stopped < 10
    assert f"Stopped by {number.name}. Run the same again to resume" in out
    again = " ".join(map(str, words))
    assert err == f"To resume: priorband {again}\n" and no_control_codes(out)
    with pb.open_study(tmp_path / "s", read_only=True) as study:
        assert study.ledger.failures == {} and study.journal.leases() == []
        assert study.ledger.waiting.keys() == study.ledger.running.keys() != set()
    if times == 1 and workers == 1:
        done = priorband(*words)
        assert done.returncode == 0, done.stderr
        with pb.open_study(tmp_path / "s", read_only=True) as study:
            assert study.spending().trials == 2 and not study.ledger.running
            assert study.ledger.winners == {0: 2}  # the second attempt went on from the first


def test_a_terminal_is_left_as_it_was(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = ["run", str(tmp_path / "s"), *SLOW, "--trials", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "priorband", *words],
        cwd=WORKERS,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment() | {"TERM": "xterm", "COLUMNS": "60", "LINES": "20"},
    )
    os.close(theirs)
    shown = b""
    try:
        until(lambda: steps_done(tmp_path / "s"))
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        while process.poll() is None or select.select([ours], [], [], 0.2)[0]:
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    shown += os.read(ours, 65536)
                except OSError:
                    break
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    text = shown.decode()
    assert "1 running" in text and "To resume: priorband run" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") > 0
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l")
