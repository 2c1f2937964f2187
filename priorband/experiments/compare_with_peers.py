"""Compare our methods with other libraries at the same cost, under priors of all qualities.

    python -m priorband.experiments.compare_with_peers --results FOLDER --data DATA

It needs the extras `surrogates`, `peers` (Optuna), `neps` and `smac`; a library that is missing is
left out, and the table says so. Every run may spend 20 full trainings. Results are appended to
`peers.jsonl` in the folder, and an interrupted command continues where it stopped. It writes
`peers.md`: regret in points (0 is the best known loss, 100 the median of random full trainings)
after 5, 12 and 20 trainings, with standard errors between problems.
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from priorband.analysis.curves import incumbent_curve, value_at
from priorband.analysis.scale import CAP, RegretScale, regret_scale
from priorband.arguments import checked_count
from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.catalogue import benchmark
from priorband.benchmarks.priors import QUALITIES, benchmark_prior
from priorband.errors import ExtraError
from priorband.experiments.cases import ignores_prior
from priorband.experiments.peers import neps_peers, optuna_peers, smac_peers
from priorband.experiments.peers.training_log import TrainingLog
from priorband.space.prior import Independent
from priorband.study import Study
from priorband.workers.simulation import simulate

Run = Callable[[TrainingLog, Mapping[str, Any] | None, int], None]
Key = tuple[str, str, str, int]
BUDGETS = (5, 12, 20)
OURS = ("hyperband", "priorband", "guardband", "guardband+bo", "pibo")
FLAT = "flat"
PRIORS = (*QUALITIES, FLAT)
PROBLEMS = (
    *("hartmann3-good", "hartmann6-bad", "lcbench-3945", "lcbench-7593", "lcbench-34539"),
    *("pd1-imagenet-standin", "taskset-imdb_patch32_GRU128_bs128", "mixed-cifar10"),
)
FILE, TABLE_FILE = "peers.jsonl", "peers.md"


@final
class Peer(NamedTuple):
    """A method of another library."""

    run: Run
    package: str
    seeds: int
    """The largest number of seeds: a run of some takes ten seconds."""


PEERS = {
    "optuna-tpe-hyperband": Peer(optuna_peers.run_tpe_hyperband, "optuna", 50),
    "optuna-gp": Peer(optuna_peers.run_gp, "optuna", 50),
    "neps-priorband": Peer(neps_peers.run_priorband, "neural-pipeline-search", 50),
    "neps-pibo": Peer(neps_peers.run_pibo, "neural-pipeline-search", 3),
    "smac-multi-fidelity": Peer(smac_peers.run_multi_fidelity, "smac", 5),
}
METHODS = (*OURS, *PEERS)


class StoredRun(NamedTuple):
    """The incumbent's losses after full training at each budget, or why there are none."""

    values: list[float]
    seconds: float
    """CPU time, that of the benchmark included."""
    error: str


def run_values(method: str, bench: Benchmark, quality: str, seed: int) -> list[float]:
    """The loss of one run's incumbent after a full training, at each budget."""
    prior = None if quality == FLAT else benchmark_prior(bench, quality, seed)
    if method not in PEERS:
        return _our_values(bench, method, prior, seed)
    log = TrainingLog(bench, max(BUDGETS))
    PEERS[method].run(log, None if prior is None else prior.mode, seed)
    return log.values(BUDGETS)


def _our_values(bench: Benchmark, method: str, prior: Independent | None, seed: int) -> list[float]:
    study = Study(bench.space, bench.fidelity, method, seed, prior)
    runs = simulate(study, bench, budget=max(BUDGETS))
    at_full = bench.evaluate_many([run.outcome.config for run in runs], bench.fidelity.high)
    losses = [run.outcome.loss for run in runs]
    costs = [run.cost for run in runs]
    curve = incumbent_curve(costs, losses, at_full, full=bench.fidelity.high)
    return [value_at(curve, budget) for budget in BUDGETS]


def stored_runs(path: Path) -> dict[Key, StoredRun]:
    """The results in a file. A last line that was not written to its end is left out."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return {
        (r["method"], r["problem"], r["prior"], r["seed"]): StoredRun(
            r["values"], r["seconds"], r["error"]
        )
        for r in lines
    }


def run_missing(
    path: Path, problems: Mapping[str, Benchmark], methods: Sequence[str], seeds: int
) -> None:
    """Run what is not stored yet, seed by seed. A run that raises an error is stored as failed."""
    done = stored_runs(path)
    _drop_torn_line(path)
    for seed, problem, quality, method in product(range(seeds), problems, PRIORS, methods):
        if method in PEERS and seed >= PEERS[method].seeds:
            continue
        if ignores_prior(method) and quality != FLAT:
            continue
        if (method, problem, quality, seed) not in done:
            run = _run(method, problems[problem], quality, seed)
            key = {"method": method, "problem": problem, "prior": quality, "seed": seed}
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(key | run._asdict()) + "\n")


def _run(method: str, bench: Benchmark, quality: str, seed: int) -> StoredRun:
    start = time.process_time()
    try:
        values, error = run_values(method, bench, quality, seed), ""
    except ExtraError:
        raise
    except Exception as problem:  # whatever another library raises
        values, error = [math.nan] * len(BUDGETS), f"{type(problem).__name__}: {problem}"
    return StoredRun(values, time.process_time() - start, error)


def _drop_torn_line(path: Path) -> None:
    data = path.read_bytes() if path.is_file() else b""
    if data and not data.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)


def table(runs: Mapping[Key, StoredRun], scales: Mapping[str, RegretScale]) -> Iterator[str]:
    """The lines of a table in markdown: mean regret over problems, with its standard error."""
    budgets = " | ".join(f"{budget}x" for budget in BUDGETS)
    yield f"| prior | method | {budgets} | problems | seeds | failed | CPU s a run |"
    yield "|---|---|" + "---|" * (len(BUDGETS) + 4)
    for quality, method in product(PRIORS, METHODS):
        prior = FLAT if ignores_prior(method) else quality
        cell = {k: run for k, run in runs.items() if k[0] == method and k[2] == prior}
        if cell:
            yield f"| {quality} | {method} | {_cells(cell, scales)} |"


def _cells(runs: Mapping[Key, StoredRun], scales: Mapping[str, RegretScale]) -> str:
    problems = sorted({key[1] for key in runs} & scales.keys())
    means = []
    for problem in problems:
        values = [run.values for key, run in runs.items() if key[1] == problem and not run.error]
        points = scales[problem].points(np.array(values).reshape(-1, len(BUDGETS)))
        if len(points):
            means.append(np.where(np.isnan(points), CAP, points).mean(axis=0))
    columns = np.array(means).reshape(-1, len(BUDGETS)).T.tolist()
    regrets = [
        f"{statistics.fmean(column):.1f} ± {statistics.stdev(column) / math.sqrt(len(column)):.1f}"
        if len(column) > 1
        else f"{column[0]:.1f}"
        if column
        else "–"
        for column in columns
    ]
    failed = sum(bool(run.error) for run in runs.values())
    seconds = statistics.fmean(run.seconds for run in runs.values())
    seeds = len({key[3] for key in runs})
    return " | ".join([*regrets, str(len(means)), str(seeds), str(failed), f"{seconds:.2f}"])


def versions() -> str:
    """The other libraries and their versions, as text."""
    found = dict.fromkeys(peer.package for peer in PEERS.values())
    return ", ".join(f"{package} {_version(package)}" for package in found)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed: not run"


def _installed(methods: Sequence[str]) -> list[str]:
    missing = "not installed: not run"
    return [m for m in methods if m not in PEERS or _version(PEERS[m].package) != missing]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        "python -m priorband.experiments.compare_with_peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--results", type=Path, required=True, help="the folder of the results")
    parser.add_argument("--data", type=Path, help="the benchmarks' data")
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, metavar="NAME")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=10, help="runs of each method (default 10)")
    options = parser.parse_args(arguments)
    checked_count("seeds", options.seeds)
    problems = {name: benchmark(name, options.data) for name in options.problems}
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / FILE
    run_missing(path, problems, _installed(options.methods), options.seeds)
    scales = {name: regret_scale(bench) for name, bench in problems.items()}
    text = "\n".join([*table(stored_runs(path), scales), "", f"Versions: {versions()}.", ""])
    (options.results / TABLE_FILE).write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
