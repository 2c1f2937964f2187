"""The experiment on the methods that go beyond the paper: guardband and guardband+bo.

Two rules, fixed before the runs, keep what was used to choose the methods' rules apart from what
confirms them: seeds below `FIRST_CONFIRMATION_SEED` are development seeds, and the benchmarks in
`DEVELOPMENT_BENCHMARKS` were used for choosing. All others are for confirmation only.
"""

from collections.abc import Sequence

from priorband.benchmarks import pd1_tasks, taskset
from priorband.benchmarks.hartmann import CORRELATIONS
from priorband.benchmarks.lcbench import PAPER_TASKS, TASKS
from priorband.experiments.cases import FIRST_CONFIRMATION_SEED, PRIORS, CaseGrid

HORIZONS = (1.0, 2.0, 5.0, 12.0, 20.0)
"""The budgets at which methods are compared; a run of the last has all of them."""
LONG_HORIZON = 50.0
PARALLEL_BUDGETS = {4: 5.0, 16: 2.0}
"""The budget of each worker, by the number of workers."""

HARTMANN_FUNCTIONS = tuple(
    f"hartmann{dimensions}-{correlation}" for dimensions in (3, 6) for correlation in CORRELATIONS
)
DEVELOPMENT_BENCHMARKS = (*HARTMANN_FUNCTIONS, *(f"lcbench-{task}" for task in PAPER_TASKS))
"""The benchmarks that were used to choose the rules of guardband and guardband+bo."""
CONFIRMATION_BENCHMARKS = (
    *(f"lcbench-{task}" for task in TASKS if task not in PAPER_TASKS),
    *(f"pd1-{name}-standin" for name in pd1_tasks.TASKS),
    *(f"taskset-{name}" for name in taskset.TASKS),
    "mixed-cifar10",
)
"""The benchmarks that were not used to choose anything here."""
BENCHMARKS = (*DEVELOPMENT_BENCHMARKS, *CONFIRMATION_BENCHMARKS)
SMALL_SET = (
    *("hartmann3-good", "hartmann6-terrible"),
    *(f"lcbench-{task}" for task in ("3945", "7593", "34539")),
    *(f"pd1-{name}-standin" for name in tuple(pd1_tasks.TASKS)[:1]),
    *(f"taskset-{name}" for name in taskset.TASKS[:1]),
    "mixed-cifar10",
)
"""The benchmarks of the grids that are not run on all of them: the first ones of each family."""

MODEL_FREE = ("hyperband", "priorband", "guardband")
"""Run with all seeds."""
WITH_MODELS = ("guardband+bo", "pibo", "bo", "bohb")
COSTLY = ("priorband+bo",)
"""Run on `SMALL_SET` only: a run takes four times as long as one of guardband+bo."""
GUARDBAND_ABLATIONS = (
    *("guardband(no-guard)", "guardband(all-brackets)", "guardband(no-opening)"),
    *("guardband(no-continue)", "guardband(mode@max)", "guardband(trusted=1)"),
)
GUARDBAND_BO_ABLATIONS = (
    *("guardband+bo(no-duel)", "guardband+bo(no-proof)", "guardband+bo(no-prior)"),
    *("guardband+bo(sum)", "guardband+bo(linear)", "guardband+bo(esp)"),
)
PARALLEL_METHODS = (
    *("hyperband", "priorband", "guardband", "guardband+bo"),
    *("asha", "async-hyperband", "asha+guard", "async-hyperband+guard", "mobster"),
)
LONG_METHODS = ("hyperband", "priorband", "guardband", "guardband+bo", "pibo", "bo")
MANY_SEEDS, FEW_SEEDS = 50, 10
DEVELOPMENT_SEEDS = 20


def beyond_grids(available: Sequence[str]) -> list[CaseGrid]:
    """The grids with confirmation seeds, on the available ones of `BENCHMARKS`."""
    small = [name for name in SMALL_SET if name in available]
    return [
        _grid(available, MODEL_FREE, MANY_SEEDS),
        _grid(available, (*WITH_MODELS, *GUARDBAND_ABLATIONS, "asha"), FEW_SEEDS),
        _grid(small, (*COSTLY, *GUARDBAND_BO_ABLATIONS), FEW_SEEDS),
        _grid(small, LONG_METHODS, FEW_SEEDS, budget=LONG_HORIZON),
        *(
            _grid(small, PARALLEL_METHODS, FEW_SEEDS, workers, budget)
            for workers, budget in PARALLEL_BUDGETS.items()
        ),
    ]


def development_grids(available: Sequence[str]) -> list[CaseGrid]:
    """The grid with development seeds, on the development benchmarks only."""
    known = [name for name in available if name in DEVELOPMENT_BENCHMARKS]
    methods = (*MODEL_FREE, "guardband+bo")
    return [CaseGrid("paper", known, PRIORS, methods, range(DEVELOPMENT_SEEDS), 1, HORIZONS[-1])]


def _grid(
    benchmarks: Sequence[str],
    methods: Sequence[str],
    seeds: int,
    workers: int = 1,
    budget: float = HORIZONS[-1],
) -> CaseGrid:
    first = FIRST_CONFIRMATION_SEED
    return CaseGrid(
        "paper", benchmarks, PRIORS, methods, range(first, first + seeds), workers, budget
    )
