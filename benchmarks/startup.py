"""How long a trial takes to start: cold, warm, and next to a bare fork in the same run.

    python benchmarks/startup.py [--trials 12] [--rounds 3] [--epochs 90] [--cold] [--skip-training]

First, the seconds from a trial's claim to the first line of its objective, for a module that
imports numpy and for one that imports torch. The bare fork is `os.fork` in a process that has
imported the same module, up to the first line that runs in the child. A warm trial has two guard
processes as well, its own session, its log, and a pipe to its worker. The first trial of a worker
waits for the server's imports, and is given apart.

Then, the time of a whole `priorband run` of a torch training, in the worker's own process and warm,
and with --cold also cold. "Bare forks" is a run in the worker's own process whose objective forks
for each trial, with everything imported once: what a process for each trial costs at least. Seconds
are by the clock, and of processors in brackets, which depend less on what else the machine does.
Without torch (pip install torch) these parts are left out.
"""

import argparse
import importlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import priorband as pb
from priorband.durable.messages import Assignment, Idle, Report
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.trial_starter import Start
from priorband.workers.worker import Worker

WARM_GOAL = 0.060  # seconds beyond a bare fork
RUN_GOAL = 1.3  # times the run in the worker's own process
SPACE = pb.Space({"lr": pb.Float(1e-4, 1e-1, log=True, prior=1e-2)})
ROOT = Path(__file__).parents[1]

MODULE = """
import time
import {package}

def first_line(trial):
    return {{"loss": 0.5, "at": time.monotonic()}}
"""
TRAINING = """
import os, struct
import numpy as np
import torch
from torch import nn
import priorband as pb

SPACE = pb.Space({"lr": pb.Float(1e-4, 1e-1, log=True, prior=1e-2)})
FIDELITY = pb.Fidelity("epochs", 1, 9)

def train(trial):
    torch.set_num_threads(1)
    torch.manual_seed(trial.seed)
    with np.load(DIGITS) as file:
        images, labels = (torch.tensor(file[name]) for name in ("images", "labels"))
    images, labels = images.reshape(len(images), -1).float() / 16, labels.long()
    model = nn.Sequential(nn.Linear(images.shape[1], WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=float(trial.config["lr"]), momentum=0.9)
    if trial.resume_from:
        model.load_state_dict(torch.load(trial.resume_from / "model.pt"))
    for epoch in trial.steps():
        for batch in torch.randperm(len(images)).split(32):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            loss.backward()
            optimizer.step()
        torch.save(model.state_dict(), trial.checkpoint_dir / "model.pt")
    with torch.no_grad():
        return nn.functional.cross_entropy(model(images), labels).item()

def forks(trial):
    import torch._dynamo  # as the first step of an optimizer does
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:  # without the thread of the worker, to which it reports otherwise
            os.write(writing, struct.pack("d", train(pb.Attempt(trial.task))))
        finally:
            os._exit(0)
    os.close(writing)
    [loss] = struct.unpack("d", os.read(reading, 8))
    os.close(reading)
    os.waitpid(child, 0)
    return loss
"""
BARE_FORK = """
import os, statistics, struct, time
import {module}
seconds = []
for _ in range({times}):
    reading, writing = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if not child:
        os.write(writing, struct.pack("d", time.monotonic()))
        os._exit(0)
    [first] = struct.unpack("d", os.read(reading, 8))
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
    seconds.append(first - began)
print(statistics.median(seconds))
"""


class Starts(NamedTuple):
    """Seconds from a claim to the first line of the objective."""

    first: float
    """Of a worker's first trial."""
    later: float
    """The median of the others."""


def measured(module: str, start: Start, trials: int, where: Path) -> Starts:
    """Run trials that return at once, and compare when they were claimed and when they began."""
    claimed: list[float] = []
    with pb.open_study(where, SPACE, method="random") as study:
        study.limit(pb.Budget(trials=trials))
        turn = study.turn

        def timed_turn(report: Report | None, request: str) -> Assignment | Idle | None:
            answer = turn(report, request)
            if isinstance(answer, Assignment):
                claimed.append(time.monotonic())
            return answer

        vars(study)["turn"] = timed_turn
        objective = importlib.import_module(module).first_line
        end = Worker(study, objective, WorkerOptions(start), print).run()
        assert end.status == "done", end
        begun = [study.metrics(study.state.history.trial(n))["at"] for n in range(trials)]
    first, *later = [end - start for start, end in zip(claimed, begun, strict=True)]
    return Starts(first, statistics.median(later))


def bare_fork(module: str, times: int) -> float:
    """Seconds from `os.fork` to the first line of the child, with the same modules."""
    code = BARE_FORK.format(module=module, times=times)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def compare_starts(package: str, folder: Path, trials: int, rounds: int) -> bool:
    """Print how long trials take to start; whether the goal is met."""
    module = f"imports_{package}"
    (folder / f"{module}.py").write_text(MODULE.format(package=package))
    bare, warm, cold = list[float](), list[Starts](), list[Starts]()
    for number in range(rounds):
        bare.append(bare_fork(module, trials))
        warm.append(measured(module, "warm", trials, folder / f"{package}-warm-{number}"))
        cold.append(measured(module, "cold", 4, folder / f"{package}-cold-{number}"))
    fork, late = statistics.median(bare), statistics.median(one.later for one in warm)
    cold_late = statistics.median(one.later for one in cold)
    first = statistics.median(one.first for one in warm)
    extra = statistics.median(one.later - each for one, each in zip(warm, bare, strict=True))
    print(
        f"{package:<6} bare fork {fork * 1e3:6.1f} ms   warm {late * 1e3:6.1f} ms (the first "
        f"{first * 1e3:.0f})   cold {cold_late * 1e3:7.1f} ms, {cold_late / late:.0f} times warm"
    )
    verdict = "met" if extra < WARM_GOAL else "MISSED"
    print(
        f"{'':<6} warm beyond a bare fork: {extra * 1e3:.1f} ms, "
        f"goal < {WARM_GOAL * 1e3:g}: {verdict}"
    )
    return extra < WARM_GOAL


class RunTime(NamedTuple):
    """Seconds of a whole `priorband run`."""

    clock: float
    processors: float

    def __str__(self) -> str:
        return f"{self.clock:.1f} s ({self.processors:.1f})"


def run_time(start: Start, folder: Path, epochs: int, objective: str = "train") -> RunTime:
    """Run the torch training."""
    words = ["run", folder / f"run-{start}-{time.monotonic_ns()}", "--start", start, "--seed", 1]
    words += ["--objective", f"trains_digits:{objective}", "--budget", epochs / 9, "--quiet"]
    began, used = time.monotonic(), _processor_seconds()
    subprocess.run(
        [sys.executable, "-m", "priorband", *map(str, words)],
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return RunTime(time.monotonic() - began, _processor_seconds() - used)


def _processor_seconds() -> float:
    """Of all processes that this one has waited for, and those that these have waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ratio(ones: list[RunTime], others: list[RunTime]) -> RunTime:
    """The median of how many times as long one run took as the other of the same round."""
    pairs = [*zip(ones, others, strict=True)]
    clock = statistics.median(one.clock / other.clock for one, other in pairs)
    return RunTime(clock, statistics.median(o.processors / p.processors for o, p in pairs))


def compare_runs(folder: Path, epochs: int, rounds: int, with_cold: bool = False) -> bool:
    """Print how long whole runs take; whether the goal is met."""
    digits = repr(str(ROOT / "examples" / "digits.npz"))
    text = TRAINING.replace("DIGITS", digits).replace("WIDTH", "256")
    (folder / "trains_digits.py").write_text(text)
    here, forks, warm = list[RunTime](), list[RunTime](), list[RunTime]()
    for _ in range(rounds):
        here.append(run_time("same-process", folder, epochs))
        forks.append(run_time("same-process", folder, epochs, "forks"))
        warm.append(run_time("warm", folder, epochs))
    reference = _median(here)
    print(f"run    same process {reference}   bare forks {_median(forks)}   warm {_median(warm)}")
    if with_cold:
        cold = run_time("cold", folder, epochs)
        print(f"{'':<6} cold {cold}, {cold.clock / reference.clock:.1f} times the same process")
    times, least = ratio(warm, here), ratio(forks, here)
    verdict = "met" if times.clock < RUN_GOAL else "MISSED"
    print(
        f"{'':<6} times the same process: bare forks {least.clock:.2f} ({least.processors:.2f}), "
        f"warm {times.clock:.2f} ({times.processors:.2f}), goal < {RUN_GOAL:g}: {verdict}"
    )
    return times.clock < RUN_GOAL


def _median(runs: list[RunTime]) -> RunTime:
    return RunTime(*(statistics.median(seconds) for seconds in zip(*runs, strict=True)))


def main() -> int:
    """The command; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=12, help="in each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=90, help="of the training, in all")
    parser.add_argument(
        "--cold", action="store_true", help="run the training cold, too: it is slow"
    )
    parser.add_argument("--skip-training", action="store_true", help="measure the start only")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        sys.path.insert(0, made)
        os.environ["PYTHONPATH"] = made
        met = [compare_starts("numpy", folder, options.trials, options.rounds)]
        if find_spec("torch") is None:
            print("torch is not installed (pip install torch): its measurements are left out.")
            return 0 if all(met) else 1
        met.append(compare_starts("torch", folder, options.trials, options.rounds))
        if not options.skip_training:
            met.append(compare_runs(folder, options.epochs, options.rounds, options.cold))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
