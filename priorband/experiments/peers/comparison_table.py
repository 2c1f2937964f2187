"""The tables of the comparison with peers, from the results of its runs."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priorband.analysis.scale import CAP, RegretScale
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.cases import FLAT_PRIOR, ignores_prior

Array = NDArray[np.float64]
Key = tuple[str, str, str, int]
"""A method, a problem, a prior and a seed."""
BUDGETS = (5, 12, 20)
PRIORS = (*QUALITIES, FLAT_PRIOR)


class StoredRun(NamedTuple):
    """The incumbent's losses after full training at each budget, or why there are none."""

    values: list[float]
    seconds: float
    """CPU time, that of the benchmark included."""
    error: str
    package: str
    """The library and its version."""


class MethodRegrets(NamedTuple):
    """The regrets of a method under a prior, on the seeds that it has run on all problems."""

    points: dict[tuple[str, int], Array]
    """By problem and seed: points at each budget."""
    seeds: int
    failed: int
    seconds: float


def scores(
    runs: Mapping[Key, StoredRun], scales: Mapping[str, RegretScale], method: str, prior: str
) -> MethodRegrets:
    """The regrets of a method; a run that found nothing in time counts as the worst."""
    stated = FLAT_PRIOR if ignores_prior(method) else prior
    cell = {
        (problem, seed): run
        for (name, problem, quality, seed), run in runs.items()
        if (name, quality) == (method, stated) and problem in scales
    }
    seeds = {seed for _, seed in cell if all((problem, seed) in cell for problem in scales)}
    complete = {key: run for key, run in cell.items() if key[1] in seeds}
    points = {
        key: np.nan_to_num(scales[key[0]].points(np.array(run.values)), nan=CAP)
        for key, run in complete.items()
        if not run.error
    }
    failed = sum(bool(run.error) for run in complete.values())
    seconds = [run.seconds for run in complete.values()]
    return MethodRegrets(points, len(seeds), failed, statistics.fmean(seconds) if seconds else 0.0)


def regret_table(
    runs: Mapping[Key, StoredRun], scales: Mapping[str, RegretScale], methods: Sequence[str]
) -> Iterator[str]:
    """The lines of a table in markdown: mean regret over problems, with its standard error."""
    yield f"| prior | method | {_columns()} | seeds | failed runs | CPU s a run |"
    yield "|---|---|" + "---|" * (len(BUDGETS) + 3)
    for prior, method in product(PRIORS, methods):
        found = scores(runs, scales, method, prior)
        if found.points:
            cells = " | ".join(_cells(_by_problem(found.points)))
            numbers = f"{found.seeds} | {found.failed} | {found.seconds:.2f}"
            yield f"| {prior} | {method} | {cells} | {numbers} |"


def difference_table(
    runs: Mapping[Key, StoredRun],
    scales: Mapping[str, RegretScale],
    methods: Sequence[str],
    reference: str,
) -> Iterator[str]:
    """The lines of a table in markdown: regret minus that of a reference in the same cases.

    Only problems and seeds that both have run are compared. The last column counts the problems
    on which the reference is better, and worse, at the last budget.
    """
    last = f"{reference} better : worse at {BUDGETS[-1]}x"
    yield f"| prior | method | {_columns()} | seeds | {last} |"
    yield "|---|---|" + "---|" * (len(BUDGETS) + 2)
    for prior, method in product(PRIORS, methods):
        ours = scores(runs, scales, reference, prior).points
        theirs = scores(runs, scales, method, prior).points
        shared = {key: theirs[key] - ours[key] for key in theirs.keys() & ours.keys()}
        if shared and method != reference:
            means = _by_problem(shared)
            won, lost = int((means[:, -1] > 0).sum()), int((means[:, -1] < 0).sum())
            cells = " | ".join(_cells(means, sign="+"))
            seeds = len({seed for _, seed in shared})
            yield f"| {prior} | {method} | {cells} | {seeds} | {won} : {lost} |"


def _columns() -> str:
    return " | ".join(f"{budget}x" for budget in BUDGETS)


def _by_problem(points: Mapping[tuple[str, int], Array]) -> Array:
    """One row for each problem: the mean over its seeds."""
    problems = sorted({problem for problem, _ in points})
    rows = [[each for key, each in points.items() if key[0] == problem] for problem in problems]
    return np.array([np.mean(row, axis=0) for row in rows])


def _cells(means: Array, sign: str = "") -> list[str]:
    """The mean over problems at each budget, with its standard error if there are several."""
    cells = []
    for column in means.T.tolist():
        text = f"{statistics.fmean(column):{sign}.1f}"
        if len(column) > 1:
            text += f" ± {statistics.stdev(column) / math.sqrt(len(column)):.1f}"
        cells.append(text)
    return cells
