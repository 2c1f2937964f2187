"""What ask, tell, import and memory cost, as ratios to a reference measured in the same run.

    python benchmarks/ask.py [--largest 100000]

R is the time to draw one uniform unit vector and decode it into a configuration. Machines are
shared and noisy, so absolute times mean little: each figure is divided by the R of the same moment,
and the best of several rounds is taken.
"""

import argparse
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import priorband as pb
from priorband.values import replaced

SIZES = (100, 1_000, 10_000, 100_000)
GOALS = {
    **{"ask": 5.0, "growth": 1.6, "tell": 2.0, "import": 1.5, "memory": 60.0},
    **{"conditional": 1.5, "guardband": 1.2},
}


def mixed_space(parameters: int) -> pb.Space:
    """Log and plain floats, integers, a categorical and an ordinal, some with a prior."""
    kinds: list[pb.Float | pb.Integer | pb.Categorical | pb.Ordinal] = [
        pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
        pb.Float(0.0, 0.9, prior=0.2),
        pb.Integer(16, 512, log=True, prior=64),
        pb.Categorical(["sgd", "adam", "rmsprop"], prior="adam"),
        pb.Ordinal([2, 4, 8, 16], prior=4),
        pb.Float(0.8, 0.999),
        pb.Integer(1, 12, prior=6),
    ]
    return pb.Space({f"p{i}": kinds[i % len(kinds)] for i in range(parameters)})


def conditional_space() -> pb.Space:
    """Fourteen parameters; five of them depend on others, in chains of up to three."""
    when: dict[str, dict[str, Any]] = {
        "p8": {"p3": "adam"},
        "p9": {"p3": ["sgd", "adam"]},
        "p10": {"p9": pb.at_least(64)},
        "p12": {"p10": ["sgd", "adam"], "p1": pb.at_most(0.6)},
        "p13": {"p4": [4, 8, 16]},
    }
    flat = mixed_space(14).parameters.items()
    return pb.Space({name: replaced(p, when=when.get(name)) for name, p in flat})


def conditional_ratio(rounds: int = 7, window: int = 400) -> tuple[float, float]:
    """Time of ask and of tell in a conditional space over that in a flat one; best rounds."""
    spaces = {"flat": mixed_space(14), "conditional": conditional_space()}
    studies = {
        name: pb.Study(space, pb.Fidelity("epochs", 1, 81), "priorband", seed=1)
        for name, space in spaces.items()
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in spaces}
    for _ in range(rounds):
        for name, study in studies.items():
            asks = tells = 0.0
            for _ in range(window):
                start = time.process_time()
                trial = study.ask()
                middle = time.process_time()
                study.tell(trial, loss(trial))
                asks, tells = asks + middle - start, tells + time.process_time() - middle
            taken[name].append((asks, tells))
    best = {
        name: [min(column) for column in zip(*rows[1:], strict=True)]
        for name, rows in taken.items()
    }
    ask, tell = (c / f for c, f in zip(best["conditional"], best["flat"], strict=True))
    return ask, tell


def guardband_ratio(mode_wins: bool, rounds: int = 7, window: int = 200) -> float:
    """Time of guardband's ask over that of priorband's after 1,000 trials; best rounds.

    A mode that wins is trained in full early on; one that loses waits.
    """
    studies = {
        name: pb.Study(mixed_space(7), pb.Fidelity("epochs", 1, 81), name, seed=1)
        for name in ("priorband", "guardband")
    }
    taken: dict[str, list[float]] = {name: [] for name in studies}
    for study in studies.values():
        _asking(study, 1_000, mode_wins)
    for _ in range(rounds):
        for name, study in studies.items():
            taken[name].append(_asking(study, window, mode_wins))
    return min(taken["guardband"]) / min(taken["priorband"])


def _asking(study: pb.Study, trials: int, mode_wins: bool) -> float:
    """Seconds that `ask` takes for a number of trials, each of which is told at once."""
    seconds = 0.0
    for _ in range(trials):
        start = time.process_time()
        trial = study.ask()
        seconds += time.process_time() - start
        penalty = 0.0 if mode_wins or trial.origin != "mode" else 100.0
        study.tell(trial, loss(trial) + penalty)
    return seconds


def reference(space: pb.Space, rounds: int = 2_000) -> float:
    """R: seconds to draw one uniform row and decode it, without the checks that `decode` makes."""
    rng = np.random.default_rng(0)
    start = time.process_time()
    for _ in range(rounds):
        space.config(space.uniform(1, rng)[0].tolist())
    return (time.process_time() - start) / rounds


def loss(trial: pb.Trial) -> float:
    """A cheap objective: better near the middle of the range, and with more training."""
    return abs(float(trial.config["p1"]) - 0.4) + 1.0 / trial.fidelity


def latencies(
    space: pb.Space, size: int, rounds: int = 5, window: int = 400
) -> tuple[float, float, float]:
    """Mean ask, median ask and mean tell in units of R after `size` finished trials; best round."""
    study = pb.Study(space, pb.Fidelity("epochs", 1, 81), "priorband", seed=1)
    for _ in range(size):
        trial = study.ask()
        study.tell(trial, loss(trial))
    gc.collect()
    results = []
    for _ in range(rounds):
        unit = min(reference(space) for _ in range(2))
        asks, tells = [], []
        for _ in range(window):
            start = time.process_time()
            trial = study.ask()
            middle = time.process_time()
            study.tell(trial, loss(trial))
            asks.append(middle - start)
            tells.append(time.process_time() - middle)
        results.append((np.mean(asks) / unit, np.median(asks) / unit, np.mean(tells) / unit))
    ask, median, tell = (min(column) for column in zip(*results, strict=True))
    return float(ask), float(median), float(tell)


FIRST_NAMES = "Study, Space, Float, Integer, Categorical, Ordinal, Fidelity"


def import_ratio(runs: int = 9) -> float:
    """CPU time of importing what an ask needs over that of importing numpy alone; the median.

    Names of the package are imported when they are used, so `import priorband` alone says nothing.
    Both are taken in one fresh process, whose bytecode an earlier one has written.
    """
    code = (
        "import resource\n"
        "def cpu():\n"
        "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    return used.ru_utime + used.ru_stime\n"
        f"start = cpu(); import numpy; middle = cpu(); from priorband import {FIRST_NAMES}\n"
        "end = cpu()\n"
        "print((end - start) / (middle - start))"
    )
    return float(np.median([float(in_fresh_process(code)) for _ in range(runs + 1)][1:]))


def in_fresh_process(code: str) -> str:
    """What a Python process prints that may write bytecode, whatever this one may do."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout


def peak_megabytes(trials: int) -> float:
    """Peak resident memory of a fresh process that runs a study of so many trials."""
    code = (
        "import runpy\n"
        f"bench = runpy.run_path({os.path.abspath(__file__)!r})\n"
        f"bench['play'](bench['mixed_space'](7), {trials})\n"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    return float(in_fresh_process(code)) / 1024


def play(space: pb.Space, trials: int) -> None:
    """A whole study."""
    study = pb.Study(space, pb.Fidelity("epochs", 1, 81), "priorband", seed=1)
    for _ in range(trials):
        trial = study.ask()
        study.tell(trial, loss(trial))


def verdict(value: float, goal: float) -> str:
    """Whether a goal is met."""
    return f"goal {goal:g}: {'met' if value <= goal else 'MISSED'}"


def report(largest: int, emit: Callable[[str], None] = print) -> bool:
    """Print all figures; whether all goals are met."""
    met = True
    emit("parameters   trials   ask mean   ask median   tell mean   (in units of R)")
    for parameters in (7, 14):
        space = mixed_space(parameters)
        asks = {}
        for size in (size for size in SIZES if size <= largest):
            ask, median, tell = latencies(space, size)
            asks[size] = ask
            marks = [verdict(tell, GOALS["tell"])]
            met &= tell <= GOALS["tell"]
            if size == 1_000:
                marks.insert(0, "ask " + verdict(ask, GOALS["ask"]))
                met &= ask <= GOALS["ask"]
            emit(
                f"{parameters:10d} {size:8d} {ask:10.2f} {median:12.2f} {tell:11.2f}   "
                f"{'; tell '.join(marks) if len(marks) > 1 else 'tell ' + marks[0]}"
            )
        emit(f"{'':10s} R = {reference(space) * 1e6:.1f} us here")
        if max(asks) > 1_000:
            growth = asks[max(asks)] / asks[1_000]
            met &= growth <= GOALS["growth"]
            emit(
                f"{'':10s} ask grows {growth:.2f}x from 1,000 to {max(asks):,} trials, "
                f"{verdict(growth, GOALS['growth'])}"
            )
    conditional, tell = conditional_ratio()
    met &= conditional <= GOALS["conditional"]
    emit(
        f"5 of 14 parameters conditional: ask {conditional:.2f}, tell {tell:.2f} times those of "
        f"the flat space, ask {verdict(conditional, GOALS['conditional'])}"
    )
    for mode_wins, which in ((True, "good"), (False, "bad")):
        guarded = guardband_ratio(mode_wins)
        met &= guarded <= GOALS["guardband"]
        emit(
            f"guardband, {which} mode: ask {guarded:.2f} times that of priorband after 1,000 "
            f"trials, {verdict(guarded, GOALS['guardband'])}"
        )
    ratio = import_ratio()
    megabytes = peak_megabytes(10_000)
    met &= ratio <= GOALS["import"] and megabytes <= GOALS["memory"]
    emit(
        f"import of Study and Space / import numpy: {ratio:.2f}, {verdict(ratio, GOALS['import'])}"
    )
    emit(f"peak memory of 10,000 trials: {megabytes:.0f} MB, {verdict(megabytes, GOALS['memory'])}")
    return met


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="the longest study to time")
    sys.exit(0 if report(parser.parse_args().largest) else 1)
