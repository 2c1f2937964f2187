"""Kill a grid of benchmark runs at random moments: its results must be the same to the byte."""

import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from faults.results import Check, Result, expect_none, results_of
from faults.study_setup import ROOT, Setting
from priorband.experiments.result_store import ARCHIVE_FILE, LINES_FILE
from priorband.experiments.runner import TIMES_FILE

_LATEST = 0.1  # seconds at most from a finished run to the signal
_METHODS = ("random", "hyperband", "priorband", "asha+esp")
_SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def run(setting: Setting, kills: int, seeds: int) -> Iterator[Result]:
    """Run a grid to its end; then run the same grid, killed again and again."""
    rng = np.random.default_rng(setting.seed)
    with tempfile.TemporaryDirectory(prefix="priorband-faults-") as folder:
        undisturbed, killed = Path(folder, "undisturbed"), Path(folder, "killed")
        _start_grid(undisturbed, seeds).wait()
        share = len(_run_keys(undisturbed)) // (kills + 2)  # so that runs are left for each kill
        hits = progressed = 0
        for number in range(kills):
            before = _count_runs(killed)
            wanted = before + int(rng.integers(1, share)) if number else 0
            grid = _start_grid(killed, seeds)
            hits += _kill_when(lambda: _count_runs(killed) >= wanted, grid, rng)  # noqa: B023  # called within the loop
            progressed += _count_runs(killed) > before
        exit_code = _start_grid(killed, seeds).wait()
        action = f"{kills} kills, {progressed} of them after progress"
        same = exit_code == 0 and (
            (undisturbed / ARCHIVE_FILE).read_bytes() == (killed / ARCHIVE_FILE).read_bytes()
        )
        keys = Counter(_run_keys(killed))
        repeated = ["/".join(key) for key, times in keys.items() if times > 1]
        checks = [
            Check(
                f"{hits} of {kills} kills hit a running grid", f"> {kills // 2}", hits > kills // 2
            ),
            Check("the same bytes" if same else "other bytes", "the same bytes", same),
            expect_none(repeated, "finished runs done again", len(keys)),
        ]
        yield from results_of("grid", "files", action, checks)


def _start_grid(results: Path, seeds: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "priorband", "bench", "run", "--results", str(results)]
    command += ["--benchmarks", "hartmann3-good", "hartmann6-terrible", "--methods", *_METHODS]
    command += ["--seeds", str(seeds), "--budget", "20", "--processes", "2"]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _kill_when(
    is_time: Callable[[], bool], process: subprocess.Popen[bytes], rng: np.random.Generator
) -> bool:
    """End a grid when it is time, with or without its workers; whether it was still running."""
    while process.poll() is None and not is_time():
        time.sleep(0.005)
    time.sleep(float(rng.uniform(0, _LATEST)))
    alive = process.poll() is None
    number = _SIGNALS[int(rng.integers(len(_SIGNALS)))]
    if alive and rng.random() < 0.5:
        os.killpg(process.pid, number)
    elif alive:
        process.send_signal(number)
    process.wait()
    return alive


def _count_runs(results: Path) -> int:
    path = results / LINES_FILE
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def _run_keys(results: Path) -> list[tuple[str, ...]]:
    with open(results / TIMES_FILE, encoding="utf-8", newline="") as rows:
        return [tuple(row[:6]) for row in csv.reader(rows) if len(row) == 7]
