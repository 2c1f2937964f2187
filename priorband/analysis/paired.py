"""Compare two methods run by run, and judge whether one may replace another as the default.

Runs are paired by benchmark and by what else they have in common: a seed, or a prior and a seed.
Differences are averaged within each benchmark, so that each benchmark counts once, and their
standard error is that between benchmarks.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from priorband.values import frozen

Scores = Mapping[str, Mapping[Any, float]]
"""Scores by benchmark and run; lower is better, nan is a missing one."""
ALL_PRIORS = "all"
"""Stands for the prior in comparisons over all priors."""


@final
@frozen
class Comparison:
    """The mean scores of two methods on the runs that both have."""

    ours: float
    theirs: float
    difference: float
    se: float
    """The standard error of the difference between benchmarks; nan for a single benchmark."""
    benchmarks: int
    wins: int
    """The number of benchmarks on which ours has the lower mean; `losses` those with the higher."""
    losses: int

    @property
    def ratio(self) -> float:
        """Our mean divided by theirs; nan if theirs is not above 0."""
        return self.ours / self.theirs if self.theirs > 0 else math.nan

    @property
    def clearly_worse(self) -> bool:
        """Whether ours is worse by more than two standard errors."""
        return self.difference > 2 * self.se

    @property
    def clearly_better(self) -> bool:
        """Whether ours is better by at least two standard errors."""
        return self.difference < 0 and -self.difference >= 2 * self.se

    def worse_by(self, share: float) -> bool:
        """Whether our mean is higher by more than a share of theirs."""
        return self.ours - self.theirs > share * abs(self.theirs)


def compared(ours: Scores, theirs: Scores) -> Comparison | None:
    """The comparison of two methods on the runs that both have; None if there are none.

    >>> compared({"a": {0: 1.0, 1: 3.0}, "b": {0: 2.0}}, {"a": {0: 2.0, 1: 4.0}, "b": {0: 5.0}})
    Comparison(ours=2.0, theirs=4.0, difference=-2.0, se=1.0, benchmarks=2, wins=2, losses=0)
    """
    rows = []
    for benchmark in ours.keys() & theirs.keys():
        own, other = ours[benchmark], theirs[benchmark]
        pairs = [(own[run], other[run]) for run in own.keys() & other.keys()]
        both = np.array([pair for pair in pairs if not math.isnan(sum(pair))])
        if len(both):
            rows.append(both.mean(axis=0))
    if not rows:
        return None
    means = np.array(sorted(rows, key=tuple))
    gaps = means[:, 0] - means[:, 1]
    n = len(gaps)
    se = float(gaps.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    mine, other_mean = means.mean(axis=0).tolist()
    wins, losses = int((gaps < 0).sum()), int((gaps > 0).sum())
    return Comparison(mine, other_mean, float(gaps.mean()), se, n, wins, losses)


class CellName(NamedTuple):
    """What a comparison is about: the other method, the prior and the horizon."""

    other: str
    prior: str
    horizon: float


@final
@frozen
class Clause:
    """A condition of the default rule, the cells that break it, and the cells that are missing."""

    text: str
    broken: Sequence[CellName]
    missing: Sequence[CellName]

    @property
    def holds(self) -> bool:
        """Whether all its cells are there and none breaks it."""
        return not self.broken and not self.missing


def default_rule(
    cells: Mapping[CellName, Comparison], priors: Sequence[str], horizons: Sequence[float]
) -> list[Clause]:
    """The conditions under which a method may replace `priorband` as the default."""
    against_priorband = [CellName("priorband", p, h) for p in priors for h in horizons]
    bad = [CellName("hyperband", "bad", h) for h in horizons if h >= 5]
    late = [CellName("priorband", ALL_PRIORS, h) for h in horizons if h in (12, 20)]
    flat = [CellName("hyperband", "flat", h) for h in horizons]
    return [
        _clause(
            "for every prior and horizon not worse than priorband by more than two standard "
            "errors and 2 percent",
            cells,
            against_priorband,
            {n for n, c in cells.items() if c.clearly_worse and c.worse_by(0.02)},
        ),
        _clause(
            "with a bad prior, from 5 trainings on, not worse than hyperband by more than 3 "
            "percent",
            cells,
            bad,
            {n for n, c in cells.items() if c.worse_by(0.03)},
        ),
        _clause(
            "over all priors, at 12 and 20 trainings, better than priorband by at least two "
            "standard errors",
            cells,
            late,
            {n for n, c in cells.items() if not c.clearly_better},
        ),
        _clause(
            "with a flat prior, for every horizon, not worse than hyperband by more than two "
            "standard errors and 2 percent",
            cells,
            flat,
            {n for n, c in cells.items() if c.clearly_worse and c.worse_by(0.02)},
        ),
    ]


def _clause(
    text: str,
    cells: Mapping[CellName, Comparison],
    names: Sequence[CellName],
    breaking: set[CellName],
) -> Clause:
    return Clause(text, [n for n in names if n in breaking], [n for n in names if n not in cells])
