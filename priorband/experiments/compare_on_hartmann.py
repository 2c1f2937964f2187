"""Compare methods under good and bad priors on Hartmann functions.

    python -m priorband.experiments.compare_on_hartmann [--methods NAME ...] [--seeds 50]

It prints the mean regret over seeds and its standard error after 5, 12 and 20 full trainings, for
functions whose fidelities correlate well and badly. The regret is that of the incumbent (the
configuration with the lowest loss so far, at any fidelity) after a full training, so it can rise.
Random search, Hyperband and other methods ignore the prior, so their numbers are the same in every
block. To compare methods with models:

    python -m priorband.experiments.compare_on_hartmann --seeds 20 \\
        --methods random bo pibo priorband priorband+bo
"""

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context

import numpy as np

from priorband.analysis.curves import incumbent_curve, value_at
from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.hartmann import Hartmann
from priorband.benchmarks.priors import QUALITIES, benchmark_prior
from priorband.errors import MethodError
from priorband.experiments.cases import PRIOR_FREE_METHODS
from priorband.named_methods import optimizer
from priorband.study import Study
from priorband.workers.simulation import simulate

METHODS = ("random", "hyperband", "hyperband+prior", "priorband")
BUDGETS = (5, 12, 20)
CORRELATIONS = {"good": "good", "bad": "terrible"}
"""The paper's names for the correlation, and the names of the variants it used."""

Regrets = list[float]


def regrets(dimensions: int, correlation: str, quality: str, method: str, seed: int) -> Regrets:
    """The regret of one run at each budget; nan if no trial had ended yet."""
    benchmark = Hartmann(dimensions, correlation, seed)
    prior = benchmark_prior(benchmark, quality, seed)
    return run_regrets(Study(benchmark.space, benchmark.fidelity, method, seed, prior), benchmark)


def run_regrets(study: Study, benchmark: Benchmark) -> Regrets:
    """Run a study on a benchmark; the regret at each budget."""
    runs = simulate(study, benchmark, budget=max(BUDGETS))
    assert benchmark.optimum is not None
    _, best = benchmark.optimum
    full = benchmark.fidelity.high
    at_full = benchmark.evaluate_many([run.outcome.config for run in runs], full)
    losses = [run.outcome.loss for run in runs]
    curve = incumbent_curve([run.cost for run in runs], losses, at_full, full=full)
    return [value_at(curve, budget) - best for budget in BUDGETS]


def regret_rows(
    dimensions: int,
    correlation: str,
    methods: Sequence[str],
    seeds: Sequence[int],
    pool: ProcessPoolExecutor,
) -> Iterator[tuple[str, str, list[tuple[float, float]]]]:
    """For each prior and method, the mean and standard error of the regret at each budget."""
    cells = list(product(QUALITIES, methods))
    jobs = {
        (quality, method): [
            pool.submit(regrets, dimensions, correlation, quality, method, seed) for seed in seeds
        ]
        for quality, method in cells
        if method not in PRIOR_FREE_METHODS or quality == QUALITIES[0]
    }
    for quality, method in cells:
        runs = jobs.get((quality, method)) or jobs[QUALITIES[0], method]
        values = np.array([run.result() for run in runs])
        errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        yield quality, method, list(zip(values.mean(axis=0), errors, strict=True))


def print_comparison(methods: Sequence[str], seeds: int, processes: int) -> None:
    """Run all methods and print each row when it is ready."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for dimensions, (name, correlation) in product((3, 6), CORRELATIONS.items()):
            title = f"Hartmann-{dimensions}, {name} correlation, {seeds} seeds"
            heads = "".join(f"{f'{budget} trainings':>18}" for budget in BUDGETS)
            print(f"\n{title:<44}{heads}")
            rows = regret_rows(dimensions, correlation, methods, range(seeds), pool)
            for quality, method, cells in rows:
                label = f"{quality} prior" if method == methods[0] else ""
                row = "".join(f"{f'{mean:.3f} ({error:.3f})':>18}" for mean, error in cells)
                print(f"  {label:<20}{method:<22}{row}", flush=True)


def parsed_options(
    module: str, description: str | None, methods: Sequence[str], arguments: Sequence[str] | None
) -> argparse.Namespace:
    """The options of a command that compares methods, checked."""
    parser = argparse.ArgumentParser(
        f"python -m priorband.experiments.{module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=50, help="runs of each method (default 50)")
    parser.add_argument("--processes", type=int, default=2, help="number of processes (default 2)")
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="NAME",
        default=methods,
        help=f"default: {' '.join(methods)}",
    )
    options = parser.parse_args(arguments)
    for name in options.methods:
        try:
            optimizer(name)
        except MethodError as error:
            parser.error(str(error))
    if options.seeds < 2 or options.processes < 1:
        parser.error("--seeds must be at least 2 and --processes at least 1")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = parsed_options("compare_on_hartmann", __doc__, METHODS, arguments)
    print_comparison(options.methods, options.seeds, options.processes)


if __name__ == "__main__":
    main()
