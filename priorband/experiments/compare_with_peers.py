"""Compare our methods with other libraries at the same cost, under priors of all qualities.

    python -m priorband.experiments.compare_with_peers --results FOLDER --data DATA

It needs the extra `surrogates`, and `peers` (Optuna), `neps` or `smac`; the methods of a library
that is missing are left out. NePS and Optuna need different versions of BoTorch: run the command
once in an environment of each, with the same folder. Set OMP_NUM_THREADS=1, which makes the CPU
times comparable.

Every run may spend 20 full trainings. Results are appended to `peers.jsonl` in the folder, and an
interrupted command continues where it stopped. It writes `peers.md`: regret in points (0 is the
best known loss, 100 the median of random full trainings) after 5, 12 and 20 trainings, and paired
differences from our methods, with standard errors between problems. The seeds are confirmation
seeds, which have not been used to choose the rules of any method here.
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, final

from priorband.analysis.curves import incumbent_curve, value_at
from priorband.analysis.scale import RegretScale
from priorband.arguments import checked_count
from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.catalogue import benchmark, catalogue_entry
from priorband.errors import FormatError
from priorband.experiments.cases import (
    FIRST_CONFIRMATION_SEED,
    FLAT_PRIOR,
    Case,
    ignores_prior,
)
from priorband.experiments.peers import neps_peers, optuna_peers, smac_peers
from priorband.experiments.peers.comparison_table import (
    BUDGETS,
    PRIORS,
    Key,
    StoredRun,
    difference_table,
    regret_table,
)
from priorband.experiments.peers.training_log import TrainingLog
from priorband.experiments.prior_centres import paper_centres
from priorband.experiments.regret_scales import regret_scales
from priorband.experiments.rules import CaseSetup, Centres, set_up_case
from priorband.values import replaced
from priorband.workers.simulation import simulate

Run = Callable[[TrainingLog, Mapping[str, Any] | None, int], None]
OURS = ("hyperband", "priorband", "guardband", "guardband+bo", "pibo")
REFERENCES = ("guardband", "guardband+bo")
"""Our methods from which paired differences are taken."""
PROBLEMS = (
    *("hartmann3-good", "hartmann6-bad", "lcbench-3945", "lcbench-7593", "lcbench-34539"),
    *("pd1-imagenet-standin", "taskset-imdb_patch32_GRU128_bs128", "mixed-cifar10"),
)
FILE, TABLE_FILE = "peers.jsonl", "peers.md"
BEGIN, END = "<!-- tables of compare_with_peers -->", "<!-- end of tables -->"
"""The marks in a document between which `--document` writes the tables."""


@final
class Peer(NamedTuple):
    """A method of another library."""

    run: Run
    package: str
    modules: tuple[str, ...]
    """What it imports, before CPU time is taken."""


_NEPS = ("neural-pipeline-search", ("neps", "torch"))
PEERS = {
    "optuna-tpe-hyperband": Peer(optuna_peers.run_tpe_hyperband, "optuna", ("optuna",)),
    "optuna-gp": Peer(optuna_peers.run_gp, "optuna", ("optuna", "torch")),
    "neps-priorband": Peer(neps_peers.run_priorband, *_NEPS),
    "neps-pibo": Peer(neps_peers.run_pibo, *_NEPS),
    "smac-multi-fidelity": Peer(smac_peers.run_multi_fidelity, "smac", ("smac",)),
}
METHODS = (*OURS, *PEERS)


def run_values(case: Case, bench: Benchmark, centres: Centres) -> list[float]:
    """The loss of one run's incumbent after a full training, at each budget."""
    if case.method not in PEERS:
        return _our_values(set_up_case(case, bench, centres))
    setup = set_up_case(replaced(case, method="random"), bench, centres)
    log = TrainingLog(setup.benchmark, case.budget)
    mode = None if case.prior == FLAT_PRIOR else setup.study.prior.mode
    PEERS[case.method].run(log, mode, case.seed)
    return log.values(BUDGETS)


def _our_values(setup: CaseSetup) -> list[float]:
    bench = setup.benchmark
    runs = simulate(setup.study, bench, budget=max(BUDGETS))
    full = bench.fidelity.high
    curve = incumbent_curve(
        [run.cost for run in runs],
        [run.outcome.loss for run in runs],
        bench.evaluate_many([run.outcome.config for run in runs], full),
        full=full,
        configs=[run.outcome.trial.root for run in runs],
    )
    return [value_at(curve, budget) for budget in BUDGETS]


def stored_runs(path: Path) -> dict[Key, StoredRun]:
    """The results in a file. A last line that was not written to its end is left out."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return {
        (r["method"], r["problem"], r["prior"], r["seed"]): StoredRun(
            r["values"], r["seconds"], r["error"], r["package"]
        )
        for r in lines
    }


def missing_cases(
    done: Collection[Key], problems: Iterable[str], methods: Sequence[str], seeds: Iterable[int]
) -> Iterator[Case]:
    """The cases that are not done yet, seed by seed."""
    for seed, problem, quality, method in product(seeds, problems, PRIORS, methods):
        once = ignores_prior(method) and quality != FLAT_PRIOR
        if not once and (method, problem, quality, seed) not in done:
            yield Case("paper", problem, quality, method, 1, seed, max(BUDGETS))


def run_missing(
    path: Path, cases: Iterable[Case], problems: Mapping[str, Benchmark], centres: Centres
) -> None:
    """Run cases, and append their results to a file. A run that raises an error is failed."""
    _drop_torn_line(path)
    for case in cases:
        run = _run(case, problems[case.benchmark], centres)
        key: dict[str, Any] = {"method": case.method, "problem": case.benchmark}
        key |= {"prior": case.prior, "seed": case.seed}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(key | run._asdict()) + "\n")


def _run(case: Case, bench: Benchmark, centres: Centres) -> StoredRun:
    peer = PEERS.get(case.method)
    for module in peer.modules if peer else ():
        import_module(module)
    start = time.process_time()
    try:
        values, error = run_values(case, bench, centres), ""
    except Exception as problem:  # whatever another library raises
        values, error = [math.nan] * len(BUDGETS), f"{type(problem).__name__}: {problem}"
    seconds = time.process_time() - start
    package = peer.package if peer else "priorband"
    return StoredRun(values, seconds, error, f"{package} {version(package)}")


def _drop_torn_line(path: Path) -> None:
    data = path.read_bytes() if path.is_file() else b""
    if data and not data.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)


def tables(runs: Mapping[Key, StoredRun], scales: Mapping[str, RegretScale]) -> str:
    """All tables in markdown, with the versions of what was run and the names of what was not."""
    lines = ["Regret:", "", *regret_table(runs, scales, METHODS)]
    for reference in REFERENCES:
        lines += ["", f"Regret minus that of `{reference}` on the same problems and seeds:", ""]
        lines += difference_table(runs, scales, METHODS, reference)
    missing = ", ".join(sorted(set(METHODS) - {key[0] for key in runs})) or "nothing"
    packages = ", ".join(sorted({run.package for run in runs.values()}))
    return "\n".join([*lines, "", f"Versions: {packages}. Not run: {missing}.", ""])


def with_tables(document: str, text: str) -> str:
    """A document with the tables between its two marks."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise FormatError(f"The document needs two lines, {BEGIN!r} and {END!r}.")
    return f"{before}{begin}\n\n{text}\n{end}{after}"


def _installed(methods: Sequence[str]) -> list[str]:
    return [m for m in methods if m not in PEERS or all(map(find_spec, PEERS[m].modules))]


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
    parser.add_argument("--document", type=Path, help="a file to write the tables into, too")
    options = parser.parse_args(arguments)
    checked_count("seeds", options.seeds)
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / FILE
    problems = {name: benchmark(name, options.data) for name in options.problems}
    entries = [catalogue_entry(name) for name in problems]
    seeds = range(FIRST_CONFIRMATION_SEED, FIRST_CONFIRMATION_SEED + options.seeds)
    todo = [*missing_cases(stored_runs(path), problems, _installed(options.methods), seeds)]
    run_missing(path, todo, problems, paper_centres(entries, options.data, options.results))
    scales = regret_scales(entries, options.data, options.results)
    text = tables(stored_runs(path), scales)
    (options.results / TABLE_FILE).write_text(text, encoding="utf-8")
    if options.document is not None:
        document = options.document.read_text(encoding="utf-8")
        options.document.write_text(with_tables(document, text), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
