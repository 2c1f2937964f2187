"""Results as the report asks for them: curves by rules, benchmark, prior and method."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import final

from priorband.analysis.curves import Curve, incumbent_curve
from priorband.analysis.groups import CurveGroup
from priorband.benchmarks.catalogue import CatalogueEntry, catalogue_entries, catalogue_entry
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.cases import NO_PRIOR, ignores_prior
from priorband.experiments.record import Record

Cell = tuple[str, str, str, str, int]
"""Rules, benchmark, prior, method and workers."""
Pair = tuple[str, str]
"""A benchmark and a prior."""


@final
class Results:
    """Finished runs, seed by seed."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records: dict[Cell, dict[int, Record]] = {}
        for record in records:
            rules, benchmark, prior, method, workers, seed = record.case.key
            runs = self.records.setdefault((rules, benchmark, prior, method, workers), {})
            if seed not in runs or runs[seed].case.budget < record.case.budget:
                runs[seed] = record
        self._curves: dict[Cell, dict[int, Curve]] = {}

    @cached_property
    def benchmarks(self) -> list[CatalogueEntry]:
        """The benchmarks that were run, in the order of the catalogue."""
        order = list(catalogue_entries())
        names = dict.fromkeys(cell[1] for cell in self.records)
        known = sorted(names, key=lambda name: order.index(name) if name in order else len(order))
        return [catalogue_entry(name) for name in known]

    def cell(self, rules: str, benchmark: str, prior: str, method: str, workers: int = 1) -> Cell:
        """Where runs are kept: those of a method that ignores the prior, under no prior."""
        quality = NO_PRIOR if ignores_prior(method, rules) else prior
        return rules, benchmark, quality, method, workers

    def curves(self, cell: Cell) -> dict[int, Curve]:
        """The curve of each seed."""
        if cell not in self._curves:
            runs = self.records.get(cell, {})
            self._curves[cell] = {seed: _curve(runs[seed]) for seed in sorted(runs)}
        return self._curves[cell]

    def reach(self, cell: Cell) -> float:
        """The budget that all of a cell's runs reached; 0 without any."""
        runs = self.records.get(cell, {}).values()
        return min((record.case.budget for record in runs), default=0.0)

    def has(self, rules: str, method: str, workers: int = 1) -> bool:
        """Whether any benchmark has runs of a method."""
        return any((c[0], c[3], c[4]) == (rules, method, workers) for c in self.records)

    @property
    def compared(self) -> list[CatalogueEntry]:
        """The benchmarks that methods are ranked on: the paper's, or all where none of them is."""
        return [entry for entry in self.benchmarks if entry.paper_name] or self.benchmarks

    def group(
        self, rules: str, methods: Sequence[str], where: Iterable[Pair], workers: int = 1
    ) -> CurveGroup:
        """Curves of methods on benchmarks and priors where all of them ran, with equal seeds."""
        shared: dict[str, dict[str, Sequence[Curve]]] = {method: {} for method in methods}
        found = {
            place: [self.curves(self.cell(rules, *place, m, workers)) for m in methods]
            for place in where
        }
        complete = {place: runs for place, runs in found.items() if all(runs)}
        every = [set(run) for runs in complete.values() for run in runs]
        seeds = sorted(set.intersection(*every)) if every else []
        for (benchmark, prior), runs in complete.items():
            for method, run in zip(methods, runs, strict=True):
                shared[method][f"{benchmark}/{prior}"] = [run[seed] for seed in seeds]
        return shared if seeds else {}


def places(benchmarks: Iterable[CatalogueEntry], priors: Iterable[str] = QUALITIES) -> list[Pair]:
    """Benchmarks with each of some priors."""
    qualities = list(priors)
    return [(one.name, prior) for one in benchmarks for prior in qualities]


def _curve(record: Record) -> Curve:
    ended = record.completed
    cost, loss, full = ended["cost"], ended["loss"], ended["full"]
    return incumbent_curve(cost, loss, full, ended["worker"], configs=ended["root"])
