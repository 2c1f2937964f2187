"""Compare methods on a conditional space with the same methods on the flattened space.

    python -m priorband.experiments.compare_on_branches [--methods NAME ...] [--seeds 50]

The problem is `BranchedHartmann`: a choice selects which of four functions is evaluated, each with
three parameters of its own. In the conditional space a configuration has the parameters of its
branch only. In the flattened space it has all of them, and most have no effect. The prior is the
same in both: around the optimum of each branch, perturbed for each seed by a normal of a quarter of
the range, and one branch that is expected to be best, which is the right one in half of the seeds.

It prints the mean regret over seeds and its standard error after 5, 12 and 20 full trainings, and
the mean difference between the two spaces, paired by seed. The regret is that of the incumbent (the
configuration with the lowest loss so far, at any fidelity) after a full training.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from priorband.benchmarks.branched import BEST, BRANCHES, BranchedHartmann
from priorband.experiments.compare_on_hartmann import BUDGETS, parsed_options, run_regrets
from priorband.space import normal
from priorband.space.prior import Independent, prior
from priorband.streams import generator
from priorband.study import Study

METHODS = ("random", "hyperband", "priorband", "bohb", "bo", "pibo", "priorband+bo")
PRIORS = ("near-optimum", "none")
SIGMA = 0.25  # of the perturbation, as a fraction of the range


def branch_prior(benchmark: BranchedHartmann, seed: int) -> Independent:
    """A prior around perturbed optima of all branches."""
    random = generator(seed, 0, "branches").random(3 * len(BRANCHES) + 1).tolist()
    branch = BEST if random.pop() < 0.5 else next(iter(BRANCHES))
    beliefs: dict[str, object] = {"branch": branch}
    for name in BRANCHES:
        for parameter, value in benchmark.branch_optimum(name).items():
            if parameter.startswith(f"{name}_"):
                moved = normal.quantile(random.pop(), value, SIGMA)
                beliefs[parameter] = min(max(moved, 0.0), 1.0)
    return prior(benchmark.space, beliefs)


def regrets(method: str, stated: str, flat: bool, seed: int) -> list[float]:
    """The regret of one run at each budget; nan if no trial had ended yet."""
    benchmark = BranchedHartmann(seed=seed, flat=flat)
    belief = None if stated == "none" else branch_prior(benchmark, seed)
    study = Study(benchmark.space, benchmark.fidelity, method, seed, belief)
    return run_regrets(study, benchmark)


def print_comparison(methods: Sequence[str], seeds: int, processes: int) -> None:
    """Run all methods on both spaces, and print each row when it is ready."""
    heads = "".join(f"{f'{budget} trainings':>18}" for budget in BUDGETS)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        cells = list(product(PRIORS, methods, (False, True)))
        jobs = {
            (stated, method, flat): [
                pool.submit(regrets, method, stated, flat, seed) for seed in range(seeds)
            ]
            for stated, method, flat in cells
        }
        for stated in PRIORS:
            print(f"\n{f'prior: {stated}, {seeds} seeds':<40}{heads}")
            for method in methods:
                conditional, flat = (
                    np.array([job.result() for job in jobs[stated, method, is_flat]])
                    for is_flat in (False, True)
                )
                print(f"  {method:<16}{'conditional':<22}{_row(conditional)}")
                print(f"  {'':<16}{'flattened':<22}{_row(flat)}")
                print(f"  {'':<16}{'difference':<22}{_row(conditional - flat)}", flush=True)


def _row(values: NDArray[np.float64]) -> str:
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    pairs = zip(values.mean(axis=0), errors, strict=True)
    return "".join(f"{f'{mean:.3f} ({error:.3f})':>18}" for mean, error in pairs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = parsed_options("compare_on_branches", __doc__, METHODS, arguments)
    print_comparison(options.methods, options.seeds, options.processes)


if __name__ == "__main__":
    main()
