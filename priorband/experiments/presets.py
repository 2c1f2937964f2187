"""Presets: the grids of runs behind the paper's tables and figures, and those beyond it."""

from collections.abc import Callable, Sequence
from typing import final

from priorband.benchmarks.priors import QUALITIES
from priorband.errors import MethodError, suggestion
from priorband.experiments.beyond import (
    BENCHMARKS,
    DEVELOPMENT_BENCHMARKS,
    beyond_grids,
    development_grids,
)
from priorband.experiments.cases import Case, CaseGrid
from priorband.values import frozen, replaced

SINGLE_METHODS = ("random", "hyperband", "priorband")
"""The methods of the paper's first table."""
PRIOR_BASELINES = ("random+prior", "hyperband+prior", "hyperband+prior(50%)")
"""Other methods that use a prior but no model."""
MODEL_METHODS = ("bo", "pibo", "bohb", "priorband+bo")
PARALLEL_METHODS = (
    *("asha", "async-hyperband", "priorband", "asha+esp", "async-hyperband+esp"),
    *("mobster", "mobster+esp", "priorband+bo"),
)
ABLATION_PARTS = {
    "shares": ("priorband(50%)", "priorband(linear)", "priorband(constant)", "priorband(decay)"),
    "incumbent": ("priorband(crossover)", "priorband(hypersphere)", "priorband(no-incumbent)"),
    "mode": ("priorband(mode@min)", "priorband(no-mode)"),
    "search": (
        *("priorband(rate=0.25)", "priorband(rate=0.75)"),
        *("priorband(sigma=0.125)", "priorband(sigma=0.5)"),
    ),
}
"""The variants of PriorBand, by the part that is changed."""
ABLATIONS = ("priorband", *(name for part in ABLATION_PARTS.values() for name in part))
HARTMANN_BENCHMARKS = (
    "hartmann3-good",
    "hartmann3-terrible",
    "hartmann6-good",
    "hartmann6-terrible",
)
"""The functions on which the paper shows the probabilities of PriorBand's three sources."""


@final
@frozen
class Preset:
    """A description, and the grids for the available ones of its benchmarks."""

    description: str
    grids: Callable[[Sequence[str]], list[CaseGrid]]
    benchmarks: Sequence[str] = ()
    """The benchmarks that it is for; empty means those of the paper."""


def _two_rules(benchmarks: Sequence[str], methods: Sequence[str], grid: CaseGrid) -> list[CaseGrid]:
    """A grid under the published rules and under the paper's text."""
    complete = replaced(grid, benchmarks=benchmarks, methods=methods)
    return [replaced(complete, rules=rules) for rules in ("published", "paper")]


def _three_rules(
    benchmarks: Sequence[str], methods: Sequence[str], grid: CaseGrid
) -> list[CaseGrid]:
    """The same, and PriorBand by the paper's text with the authors' prior centres."""
    authors = replaced(grid, rules="authors", benchmarks=benchmarks, methods=("priorband",))
    return [*_two_rules(benchmarks, methods, grid), authors]


def _probability_grid(seeds: int, budget: float) -> CaseGrid:
    """The runs of PriorBand for the figure of its three probabilities."""
    return CaseGrid(
        "paper", HARTMANN_BENCHMARKS, QUALITIES, ("priorband",), range(seeds), 1, budget
    )


def _grid(seeds: int, workers: int, budget: float) -> CaseGrid:
    return CaseGrid("paper", (), QUALITIES, (), range(seeds), workers, budget)


PRESETS = {
    "paper-small": Preset(
        "the first table with 10 seeds, and the figures (takes minutes)",
        lambda available: [
            *_three_rules(available, SINGLE_METHODS, _grid(10, 1, 12.0)),
            _probability_grid(10, 12.0),
        ],
    ),
    "paper-single": Preset(
        "one worker, 50 seeds: random search and Hyperband with and without priors, PriorBand",
        lambda available: [
            *_three_rules(available, (*SINGLE_METHODS, *PRIOR_BASELINES), _grid(50, 1, 20.0)),
            _probability_grid(50, 20.0),
        ],
    ),
    "paper-parallel": Preset(
        "four workers in simulated time, 10 seeds",
        lambda available: _two_rules(available, PARALLEL_METHODS, _grid(10, 4, 5.0)),
    ),
    "paper-models": Preset(
        "one worker, 50 seeds: methods with models",
        lambda available: _two_rules(available, (*MODEL_METHODS, "priorband"), _grid(50, 1, 20.0)),
    ),
    "ablations": Preset(
        "one worker, 50 seeds: variants of PriorBand",
        lambda available: [replaced(_grid(50, 1, 12.0), benchmarks=available, methods=ABLATIONS)],
    ),
    "beyond": Preset(
        "guardband and guardband+bo against others, five priors, confirmation seeds from 1000",
        beyond_grids,
        BENCHMARKS,
    ),
    "beyond-development": Preset(
        "the same methods on the benchmarks and seeds that may be used for choosing",
        development_grids,
        DEVELOPMENT_BENCHMARKS,
    ),
}


def preset(name: str) -> Preset:
    """The preset of a name."""
    if name not in PRESETS:
        raise MethodError(f"Unknown preset {name!r}. {suggestion(name, PRESETS)}")
    return PRESETS[name]


def preset_grids(name: str, available: Sequence[str]) -> list[CaseGrid]:
    """The grids of a preset, on the available ones of its benchmarks.

    If none is available, they are run on the Hartmann functions, which need no data and have no
    published results.
    """
    grids = preset(name).grids(available or HARTMANN_BENCHMARKS)
    return [grid for grid in grids if available or grid.rules == "paper"]


def cases_by_seed(grids: Sequence[CaseGrid]) -> list[Case]:
    """All runs of some grids by seed, so that an interrupted run has equally many of each kind.

    Of runs that differ in their budgets only, the longest is enough: the others are its beginning.
    """
    by_budget = sorted(
        (case for grid in grids for case in grid.cases()), key=lambda case: case.budget
    )
    return sorted({case.key: case for case in by_budget}.values(), key=lambda case: case.seed)
