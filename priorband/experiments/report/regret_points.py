"""Regret in points of every run at every horizon, and the comparisons made from it."""

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from priorband.analysis.curves import Array, values_at
from priorband.analysis.paired import ALL_PRIORS, CellName, Comparison, Scores, compared
from priorband.analysis.ranks import ranks
from priorband.analysis.scale import RegretScale
from priorband.experiments.cases import PRIORS
from priorband.experiments.report.results import CellKey, Results


@final
class RegretPoints:
    """The regret of runs under the paper's text, on the benchmarks that have a scale."""

    def __init__(
        self,
        results: Results,
        scales: Mapping[str, RegretScale],
        horizons: Sequence[float],
        workers: int = 1,
    ) -> None:
        self.results, self.scales, self.horizons = results, scales, tuple(horizons)
        self.workers = workers
        self._points: dict[CellKey, dict[int, Array]] = {}

    def scores(self, method: str, prior: str, horizon: float, benchmarks: Sequence[str]) -> Scores:
        """The regret of a method by benchmark and (prior, seed); `ALL_PRIORS` means each prior."""
        at = self.horizons.index(horizon)
        priors = PRIORS if prior == ALL_PRIORS else (prior,)
        found: dict[str, dict[tuple[str, int], float]] = {}
        for benchmark in benchmarks:
            runs = {
                (quality, seed): float(row[at])
                for quality in priors
                for seed, row in self._cell(benchmark, quality, method).items()
                if not np.isnan(row[at])
            }
            if runs:
                found[benchmark] = runs
        return found

    def compared(
        self,
        ours: str,
        theirs: str,
        prior: str,
        horizon: float,
        benchmarks: Sequence[str],
    ) -> Comparison | None:
        """The comparison of two methods on the runs that both have."""
        return compared(
            self.scores(ours, prior, horizon, benchmarks),
            self.scores(theirs, prior, horizon, benchmarks),
        )

    def comparisons(
        self, ours: str, others: Sequence[str], benchmarks: Sequence[str]
    ) -> dict[CellName, Comparison]:
        """All comparisons of a method with others, by prior (and over all) and horizon."""
        found = {}
        for other in others:
            for prior in (*PRIORS, ALL_PRIORS):
                for horizon in self.horizons:
                    cell = self.compared(ours, other, prior, horizon, benchmarks)
                    if cell is not None:
                        found[CellName(other, prior, horizon)] = cell
        return found

    def mean_regret_and_rank(
        self,
        methods: Sequence[str],
        prior: str,
        horizon: float,
        benchmarks: Sequence[str],
    ) -> tuple[dict[str, float], dict[str, float], int]:
        """Mean regret and mean rank of methods over the runs that all have, and the benchmarks.

        Both are averaged over the runs of a benchmark first.
        """
        scores = [self.scores(m, prior, horizon, benchmarks) for m in methods]
        regrets, positions = list[Array](), list[Array]()
        for benchmark in benchmarks:
            if not all(benchmark in own for own in scores):
                continue
            shared = sorted(set.intersection(*(set(own[benchmark]) for own in scores)))
            if shared:
                table = np.array([[own[benchmark][run] for run in shared] for own in scores])
                regrets.append(table.mean(axis=1))
                positions.append(ranks(table).mean(axis=1))
        if not regrets:
            return {}, {}, 0
        regret, rank = np.mean(regrets, axis=0).tolist(), np.mean(positions, axis=0).tolist()
        return (
            dict(zip(methods, regret, strict=True)),
            dict(zip(methods, rank, strict=True)),
            len(regrets),
        )

    def _cell(self, benchmark: str, prior: str, method: str) -> dict[int, Array]:
        """The regret of each seed at all horizons; nan beyond the budget of its run.

        A run without any successful training yet has the regret of a failed one.
        """
        key = self.results.cell_key("paper", benchmark, prior, method, self.workers)
        if key not in self._points:
            curves = self.results.curves(key)
            grid = np.array(self.horizons)
            values = values_at(list(curves.values()), grid)
            points = self.scales[benchmark].points(np.where(np.isnan(values), np.inf, values))
            records = self.results.records.get(key, {})
            self._points[key] = {
                seed: np.where(grid <= records[seed].case.budget, row, np.nan)
                for seed, row in zip(curves, points, strict=True)
            }
        return self._points[key]
