"""The paper's story in small: what a good and a bad prior do to each method, on Hartmann functions.

    python -m priorband.experiments.story [--methods NAME ...] [--seeds 50] [--processes 2]

It prints the mean regret and its standard error over seeds, after 5, 12 and 20 full trainings, with
fidelities that correlate well and badly. The regret is that of the incumbent (lowest loss seen at
any fidelity) at full fidelity, so it may rise for a while. Random search, Hyperband and others
ignore the prior: they stand in every block with the same figures. The story of the models is

    python -m priorband.experiments.story --seeds 20 --methods random bo pibo priorband priorband+bo
"""

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context

import numpy as np

from priorband.analysis.curves import incumbent_curve, value_at
from priorband.benchmarks.hartmann import Hartmann
from priorband.benchmarks.priors import QUALITIES, benchmark_prior
from priorband.errors import MethodError
from priorband.experiments.cases import BLIND
from priorband.named_methods import optimizer
from priorband.study import Study
from priorband.workers.simulation import simulate

METHODS = ("random", "hyperband", "hyperband+prior", "priorband")
BUDGETS = (5, 12, 20)
CORRELATIONS = {"good": "good", "bad": "terrible"}
"""The paper's two words for correlation, and the names of the variants it took."""

Regrets = list[float]


def regrets(dimensions: int, correlation: str, quality: str, method: str, seed: int) -> Regrets:
    """The regret of one run at each budget; nan where nothing was finished yet."""
    benchmark = Hartmann(dimensions, correlation, seed)
    prior = benchmark_prior(benchmark, quality, seed)
    study = Study(benchmark.space, benchmark.fidelity, method, seed, prior)
    runs = simulate(study, benchmark, budget=max(BUDGETS))
    _, best = benchmark.optimum
    full = benchmark.fidelity.high
    in_full = benchmark.evaluate_many([run.outcome.config for run in runs], full)
    losses = [run.outcome.loss for run in runs]
    curve = incumbent_curve([run.cost for run in runs], losses, in_full, full=full)
    return [value_at(curve, budget) - best for budget in BUDGETS]


def table(
    dimensions: int,
    correlation: str,
    names: Sequence[str],
    seeds: Sequence[int],
    pool: ProcessPoolExecutor,
) -> Iterator[tuple[str, str, list[tuple[float, float]]]]:
    """For each prior and method, mean and standard error of the regret at each budget."""
    cells = list(product(QUALITIES, names))
    jobs = {
        (quality, method): [
            pool.submit(regrets, dimensions, correlation, quality, method, seed) for seed in seeds
        ]
        for quality, method in cells
        if method not in BLIND or quality == QUALITIES[0]
    }
    for quality, method in cells:
        runs = jobs.get((quality, method)) or jobs[QUALITIES[0], method]
        values = np.array([run.result() for run in runs])
        errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        yield quality, method, list(zip(values.mean(axis=0), errors, strict=True))


def tell(names: Sequence[str], seeds: int, processes: int) -> None:
    """Run everything and print it as it comes."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for dimensions, (word, correlation) in product((3, 6), CORRELATIONS.items()):
            title = f"Hartmann-{dimensions}, {word} correlation, {seeds} seeds"
            heads = "".join(f"{f'{budget} trainings':>18}" for budget in BUDGETS)
            print(f"\n{title:<44}{heads}")
            for quality, method, cells in table(dimensions, correlation, names, range(seeds), pool):
                label = f"{quality} prior" if method == names[0] else ""
                row = "".join(f"{f'{mean:.3f} ({error:.3f})':>18}" for mean, error in cells)
                print(f"  {label:<20}{method:<22}{row}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        "python -m priorband.experiments.story",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=50, help="runs in each cell (default 50)")
    parser.add_argument("--processes", type=int, default=2, help="how many at once (default 2)")
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="NAME",
        default=METHODS,
        help=f"default: {' '.join(METHODS)}",
    )
    options = parser.parse_args(arguments)
    for name in options.methods:
        try:
            optimizer(name)
        except MethodError as error:
            parser.error(str(error))
    if options.seeds < 2 or options.processes < 1:
        parser.error("--seeds must be at least 2 and --processes at least 1")
    tell(options.methods, options.seeds, options.processes)


if __name__ == "__main__":
    main()
