"""CPU time of guardband+bo and of guardband, next to their references in the same process.

    python benchmarks/guardband_cost.py [--seeds 3] [--no-peers]

The first part takes whole runs with a budget of 20 full trainings: `guardband+bo` beside Optuna's
GPSampler, which is given the mode of the same prior as its first trial, on the same problem with
the same seed and in one thread. The problems cost next to nothing, so that it is the methods that
are measured. Both are run one after the other, seed by seed; what is loaded when first used is not
counted.

The second part takes the time of `ask` over the first 150 trials of a study: `guardband` beside
`priorband`. The first trials are those in which guardband watches the prior's mode, and
benchmarks/ask.py takes those after the first 1,000. A mode that wins is trained in full early on,
one that loses waits. The best of several rounds counts.

CPU time is taken, because machines are shared, and only ratios are judged.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

import priorband as pb
from benchmarks.ask import loss, mixed_space, verdict
from benchmarks.models import EPOCHS, THREADS, made_loss, made_space
from priorband.benchmarks import Hartmann
from priorband.experiments.peers.optuna_peers import run_gp
from priorband.experiments.peers.training_log import TrainingLog

BUDGET = 20
FIRST_TRIALS = 150
LESS, WITHIN = 10.0, 1.2
"""How many times less CPU time a run should take, and how many times as much an ask may."""


class MadeBenchmark(NamedTuple):
    """A function of numbers and choices, as in benchmarks/models.py."""

    space: pb.Space
    loss: Callable[[Mapping[str, Any], float], float]
    fidelity: pb.Fidelity = EPOCHS
    optimum: tuple[Any, float] | None = None

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """The loss of a configuration at a fidelity."""
        return self.loss(config, fidelity)

    def evaluate_many(self, configs: Sequence[Mapping[str, Any]], fidelity: Any) -> Any:
        """The losses of several configurations."""
        return np.array([self.loss(config, fidelity) for config in configs])


def problems(seed: int) -> dict[str, Any]:
    """Functions of three and six numbers, and one of five numbers and two choices."""
    space = made_space(5, 2)
    made = MadeBenchmark(space, made_loss(space, seed))
    return {"hartmann3": Hartmann(3), "hartmann6": Hartmann(6), "mixed7": made}


def centres(problem: Any, seed: int) -> dict[str, dict[str, Any] | None]:
    """A good and a bad configuration of 25 random ones, and none."""
    rows = problem.space.uniform(25, np.random.default_rng((seed, 25)))
    configs = [problem.space.config(row) for row in rows.tolist()]
    ranked = sorted(configs, key=lambda config: problem.evaluate(config, problem.fidelity.high))
    return {"good": dict(ranked[0]), "bad": dict(ranked[-1]), "flat": None}


def seconds_of_ours(problem: Any, mode: Mapping[str, Any] | None, seed: int) -> float:
    """CPU time of a whole run of guardband+bo."""
    belief = None if mode is None else pb.prior(problem.space, mode)
    start = time.process_time()
    study = pb.Study(problem.space, problem.fidelity, "guardband+bo", seed, belief)
    pb.simulate(study, problem, budget=BUDGET)
    return time.process_time() - start


def seconds_of_optuna(problem: Any, mode: Mapping[str, Any] | None, seed: int) -> float:
    """CPU time of a whole run of Optuna's GPSampler."""
    start = time.process_time()
    run_gp(TrainingLog(problem, BUDGET), mode, seed)
    return time.process_time() - start


def whole_runs(seeds: int) -> bool:
    """Print the CPU time of whole runs; whether the goal is met everywhere."""
    for run in (seconds_of_ours, seconds_of_optuna):
        run(Hartmann(3), None, 0)  # what is loaded when first used
    met = True
    print(f"CPU seconds of a run of {BUDGET} full trainings, medians of {seeds} seeds")
    print("problem     prior   guardband+bo   optuna GP   ratio")
    for name in problems(0):
        for prior in ("good", "bad", "flat"):
            ours, theirs = [], []
            for seed in range(seeds):
                problem = problems(seed)[name]
                mode = centres(problem, seed)[prior]
                ours.append(seconds_of_ours(problem, mode, seed))
                theirs.append(seconds_of_optuna(problem, mode, seed))
            mine, other = statistics.median(ours), statistics.median(theirs)
            met &= other / mine >= LESS
            mark = f"goal {LESS:g}: {'met' if other / mine >= LESS else 'MISSED'}"
            print(f"{name:11s} {prior:6s} {mine:13.3f} {other:11.3f} {other / mine:7.1f}   {mark}")
    return met


def seconds_of_asks(method: str, seed: int, mode_wins: bool) -> float:
    """CPU time of the first asks of a study."""
    study = pb.Study(mixed_space(7), EPOCHS, method, seed)
    seconds = 0.0
    for _ in range(FIRST_TRIALS):
        start = time.process_time()
        trial = study.ask()
        seconds += time.process_time() - start
        penalty = 0.0 if mode_wins or trial.origin != "mode" else 100.0
        study.tell(trial, loss(trial) + penalty)
    return seconds


def first_asks(rounds: int, seeds: int = 5) -> bool:
    """Print what guardband's first asks take beside priorband's; whether the goal is met."""
    met = True
    for mode_wins, which in ((True, "good"), (False, "bad")):
        sums = dict.fromkeys(("priorband", "guardband"), 0.0)
        for seed in range(seeds):
            best = dict.fromkeys(sums, float("inf"))
            for _ in range(rounds):
                for method in sums:
                    took = seconds_of_asks(method, seed, mode_wins)
                    best[method] = min(best[method], took)
            for method in sums:
                sums[method] += best[method]
        ratio = sums["guardband"] / sums["priorband"]
        met &= ratio <= WITHIN
        print(
            f"guardband, {which} mode: ask {ratio:.2f} times that of priorband over the first "
            f"{FIRST_TRIALS} trials, {verdict(ratio, WITHIN)}"
        )
    return met


def main() -> int:
    """Print all figures; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="runs of each method (default 3)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of asks (default 7)")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):  # read when numpy is imported
        os.execve(
            sys.executable,
            [sys.executable, "-m", "benchmarks.guardband_cost", *sys.argv[1:]],
            {**os.environ, **dict.fromkeys(THREADS, "1")},
        )
    met = first_asks(options.rounds)
    if options.peers and all(map(find_spec, ("optuna", "torch"))):
        met &= whole_runs(options.seeds)
    else:
        print("Optuna was not compared: pip install 'priorband[peers]'.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
