"""Finished runs as the report needs them: curves by rules, benchmark, prior and method."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import final

from priorband.analysis.curves import Curve, incumbent_curve
from priorband.analysis.groups import CurveGroup
from priorband.benchmarks.catalogue import CatalogueEntry, catalogue_entries, catalogue_entry
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.cases import NO_PRIOR, ignores_prior
from priorband.experiments.run_record import RunRecord

CellKey = tuple[str, str, str, str, int]
"""Rules, benchmark, prior, method and number of workers."""
BenchmarkPrior = tuple[str, str]
"""A benchmark and the quality of a prior."""


@final
class Results:
    """Finished runs by cell and seed."""

    def __init__(self, records: Iterable[RunRecord]) -> None:
        self.records: dict[CellKey, dict[int, RunRecord]] = {}
        for record in records:
            rules, benchmark, prior, method, workers, seed = record.case.key
            runs = self.records.setdefault((rules, benchmark, prior, method, workers), {})
            if seed not in runs or runs[seed].case.budget < record.case.budget:
                runs[seed] = record
        self._curves: dict[CellKey, dict[int, Curve]] = {}

    @cached_property
    def benchmarks(self) -> list[CatalogueEntry]:
        """The benchmarks with runs, in the order of the catalogue."""
        order = list(catalogue_entries())
        names = dict.fromkeys(cell[1] for cell in self.records)
        ordered = sorted(names, key=lambda name: order.index(name) if name in order else len(order))
        return [catalogue_entry(name) for name in ordered]

    def cell_key(
        self, rules: str, benchmark: str, prior: str, method: str, workers: int = 1
    ) -> CellKey:
        """The key of a cell; that of a method that ignores the prior has no prior."""
        quality = NO_PRIOR if ignores_prior(method, rules) else prior
        return rules, benchmark, quality, method, workers

    def curves(self, cell: CellKey) -> dict[int, Curve]:
        """The curve of each seed."""
        if cell not in self._curves:
            runs = self.records.get(cell, {})
            self._curves[cell] = {seed: _curve(runs[seed]) for seed in sorted(runs)}
        return self._curves[cell]

    def reached_budget(self, cell: CellKey) -> float:
        """The budget that all runs of a cell have reached; 0 if it has no runs."""
        runs = self.records.get(cell, {}).values()
        return min((record.case.budget for record in runs), default=0.0)

    def has(self, rules: str, method: str, workers: int = 1) -> bool:
        """Whether a method has runs on any benchmark."""
        return any((c[0], c[3], c[4]) == (rules, method, workers) for c in self.records)

    @property
    def ranked_benchmarks(self) -> list[CatalogueEntry]:
        """The benchmarks to rank methods on: the paper's, or all if there are none of these."""
        return [entry for entry in self.benchmarks if entry.paper_name] or self.benchmarks

    def group(
        self, rules: str, methods: Sequence[str], pairs: Iterable[BenchmarkPrior], workers: int = 1
    ) -> CurveGroup:
        """The curves of methods on those pairs and with those seeds that all of them ran."""
        shared: dict[str, dict[str, Sequence[Curve]]] = {method: {} for method in methods}
        curves = {
            pair: [self.curves(self.cell_key(rules, *pair, m, workers)) for m in methods]
            for pair in pairs
        }
        complete = {pair: runs for pair, runs in curves.items() if all(runs)}
        seed_sets = [set(run) for runs in complete.values() for run in runs]
        seeds = sorted(set.intersection(*seed_sets)) if seed_sets else []
        for (benchmark, prior), runs in complete.items():
            for method, run in zip(methods, runs, strict=True):
                shared[method][f"{benchmark}/{prior}"] = [run[seed] for seed in seeds]
        return shared if seeds else {}


def benchmark_prior_pairs(
    benchmarks: Iterable[CatalogueEntry], priors: Iterable[str] = QUALITIES
) -> list[BenchmarkPrior]:
    """All combinations of some benchmarks and priors."""
    qualities = list(priors)
    return [(entry.name, prior) for entry in benchmarks for prior in qualities]


def _curve(record: RunRecord) -> Curve:
    ended = record.completed
    cost, loss, full = ended["cost"], ended["loss"], ended["full"]
    return incumbent_curve(cost, loss, full, ended["worker"], configs=ended["root"])
