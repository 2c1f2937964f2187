"""Presets: the paper's tables and figures, each as the grids of runs behind it."""

from collections.abc import Callable, Sequence
from typing import final

from priorband.benchmarks.priors import QUALITIES
from priorband.errors import MethodError, suggestion
from priorband.experiments.cases import Case, CaseGrid
from priorband.values import frozen, replaced

SINGLE = ("random", "hyperband", "priorband")
"""The methods of the paper's first table."""
SIMPLE = ("random+prior", "hyperband+prior", "hyperband+prior(50%)")
"""What else takes a prior without a model."""
MODELS = ("bo", "pibo", "bohb", "priorband+bo")
PARALLEL = (
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
"""Which part of PriorBand is changed, and into what."""
ABLATIONS = ("priorband", *(name for part in ABLATION_PARTS.values() for name in part))
ILLUSTRATIONS = ("hartmann3-good", "hartmann3-terrible", "hartmann6-good", "hartmann6-terrible")
"""What the paper draws the chances of its three sources on."""


@final
@frozen
class Preset:
    """Grids, given the paper's benchmarks that are here; and what they are for."""

    what: str
    grids: Callable[[Sequence[str]], list[CaseGrid]]


def _both(benchmarks: Sequence[str], methods: Sequence[str], grid: CaseGrid) -> list[CaseGrid]:
    """A grid under the published rules and under the paper's text."""
    made = replaced(grid, benchmarks=benchmarks, methods=methods)
    return [replaced(made, rules=rules) for rules in ("published", "paper")]


def _three(benchmarks: Sequence[str], methods: Sequence[str], grid: CaseGrid) -> list[CaseGrid]:
    """The same, and PriorBand by the text around the authors' configurations."""
    between = replaced(grid, rules="authors", benchmarks=benchmarks, methods=("priorband",))
    return [*_both(benchmarks, methods, grid), between]


def _shown(seeds: int, budget: float) -> CaseGrid:
    """PriorBand where its chances are drawn."""
    return CaseGrid("paper", ILLUSTRATIONS, QUALITIES, ("priorband",), range(seeds), 1, budget)


def _grid(seeds: int, workers: int, budget: float) -> CaseGrid:
    return CaseGrid("paper", (), QUALITIES, (), range(seeds), workers, budget)


PRESETS = {
    "paper-small": Preset(
        "the first table with 10 seeds, and the figures: minutes",
        lambda here: [*_three(here, SINGLE, _grid(10, 1, 12.0)), _shown(10, 12.0)],
    ),
    "paper-single": Preset(
        "one worker, 50 seeds: random search, Hyperband, their priors, PriorBand",
        lambda here: [*_three(here, (*SINGLE, *SIMPLE), _grid(50, 1, 20.0)), _shown(50, 20.0)],
    ),
    "paper-parallel": Preset(
        "four workers in simulated time, 10 seeds",
        lambda here: _both(here, PARALLEL, _grid(10, 4, 5.0)),
    ),
    "paper-models": Preset(
        "one worker, 50 seeds: methods with models",
        lambda here: _both(here, (*MODELS, "priorband"), _grid(50, 1, 20.0)),
    ),
    "ablations": Preset(
        "one worker, 50 seeds: PriorBand with a part changed",
        lambda here: [replaced(_grid(50, 1, 12.0), benchmarks=here, methods=ABLATIONS)],
    ),
}


def preset(name: str, here: Sequence[str]) -> list[CaseGrid]:
    """The grids of a preset on those of the paper's benchmarks that are here.

    Without any, they are run on the Hartmann functions, which need no data and have no published
    figures.
    """
    if name not in PRESETS:
        raise MethodError(f"Unknown preset {name!r}. {suggestion(name, PRESETS)}")
    grids = PRESETS[name].grids(here or ILLUSTRATIONS)
    return [grid for grid in grids if here or grid.rules == "paper"]


def cases(grids: Sequence[CaseGrid]) -> list[Case]:
    """All runs of some grids, seed by seed, so that what is cut off is even."""
    found = [case for grid in grids for case in grid.cases()]
    return sorted(found, key=lambda case: case.seed)
