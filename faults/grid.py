"""A grid of benchmark runs ended at random moments: its results must be the same to the byte."""

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

from faults.findings import Figure, Finding, found, none_of
from faults.scene import ROOT, Setting
from priorband.experiments.running import TIMES
from priorband.experiments.store import LINES, SEALED

_LATER = 0.1  # seconds at most from a finished run to the signal
_NOWHERE = subprocess.DEVNULL
_METHODS = ("random", "hyperband", "priorband", "asha+esp")
_SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def run(setting: Setting, kills: int, seeds: int) -> Iterator[Finding]:
    """Run a grid to its end, and the same grid ended again and again."""
    rng = np.random.default_rng(setting.seed)
    with tempfile.TemporaryDirectory(prefix="priorband-faults-") as folder:
        whole, cut = Path(folder, "whole"), Path(folder, "cut")
        _command(whole, seeds).wait()
        share = len(_keys(whole)) // (kills + 2)  # so that some are left for each time, and more
        hit = grew = 0
        for number in range(kills):
            before = _lines(cut)
            wanted = before + int(rng.integers(1, share)) if number else 0
            hit += _ended(_command(cut, seeds), rng, lambda: _lines(cut) >= wanted)  # noqa: B023  # called within the loop
            grew += _lines(cut) > before
        last = _command(cut, seeds).wait()
        done = f"{kills} times ended, {grew} of them with more runs done"
        same = (whole / SEALED).read_bytes() == (cut / SEALED).read_bytes() if last == 0 else False
        keys = Counter(_keys(cut))
        twice = ["/".join(key) for key, times in keys.items() if times > 1]
        figures = [
            Figure(f"{hit} of {kills} met it at work", f"> {kills // 2}", hit > kills // 2),
            Figure("the same bytes" if same else "other bytes", "the same bytes", same),
            none_of(twice, "finished runs done again", len(keys)),
        ]
        yield from found("grid", "files", done, figures)


def _command(results: Path, seeds: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "priorband", "bench", "run", "--results", str(results)]
    command += ["--benchmarks", "hartmann3-good", "hartmann6-terrible", "--methods", *_METHODS]
    command += ["--seeds", str(seeds), "--budget", "20", "--processes", "2"]
    return subprocess.Popen(
        command, cwd=ROOT, start_new_session=True, stdout=_NOWHERE, stderr=_NOWHERE
    )


def _ended(
    process: subprocess.Popen[bytes], rng: np.random.Generator, is_time: Callable[[], bool]
) -> bool:
    """End it when it is time, alone or with all its processes; whether it was still at work."""
    while process.poll() is None and not is_time():
        time.sleep(0.005)
    time.sleep(float(rng.uniform(0, _LATER)))
    alive = process.poll() is None
    how = _SIGNALS[int(rng.integers(len(_SIGNALS)))]
    if alive and rng.random() < 0.5:
        os.killpg(process.pid, how)
    elif alive:
        process.send_signal(how)
    process.wait()
    return alive


def _lines(results: Path) -> int:
    path = results / LINES
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def _keys(results: Path) -> list[tuple[str, ...]]:
    with open(results / TIMES, encoding="utf-8", newline="") as rows:
        return [tuple(row[:6]) for row in csv.reader(rows) if len(row) == 7]
