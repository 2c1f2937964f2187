"""Rank correlation of low fidelities with full training, and the paper's two classes of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

import numpy as np

from priorband.analysis.correlation import (
    Correlations,
    correlation_curve,
    is_high_correlation,
    tenth_index,
)
from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.errors import FormatError
from priorband.experiments.report.blocks import Cell, Figure, ReportTable, Section
from priorband.experiments.result_store import write_atomically
from priorband.experiments.runner import Folders
from priorband.ladder import Ladder
from priorband.plots.drawing.curves import Frame, Line, Panel, curves
from priorband.values import frozen

CORRELATIONS_FILE = "correlations.json"
_REPEATS = 200
_HIGH = ("LC-167190", "LC-168330", "LC-168910", "LC-189906", "PD1-Cifar100", "PD1-ImageNet")
PUBLISHED_CLASS = {
    **dict.fromkeys((*_HIGH, "PD1-LM1B", "PD1-WMT"), "high"),
    **dict.fromkeys(("LC-126026", "JAHS-C10", "JAHS-CH", "JAHS-FM"), "low"),
}
"""The class of each of the paper's benchmarks in the paper."""


@final
@frozen
class FidelityCorrelation:
    """The correlations of a benchmark's fidelities with full training.

    `low` is the lowest fidelity of the benchmark if the curve has only some fidelities, else None.
    """

    curve: Correlations
    low: float | None

    @property
    def tenth(self) -> int:
        """The index of the fidelity that counts as a tenth of them."""
        return tenth_index(self.curve.fidelities, self.low)

    @property
    def correlation_class(self) -> str:
        """ "high" if the correlation at a tenth of the fidelities is at least 0.8, else "low"."""
        return (
            "high"
            if is_high_correlation(self.curve.fidelities, self.curve.means, self.low)
            else "low"
        )


FidelityCorrelations = dict[str, FidelityCorrelation]


def fidelity_correlations(
    entries: Sequence[CatalogueEntry], folders: Folders
) -> FidelityCorrelations:
    """The correlations of all benchmarks whose data is available, cached with the results."""
    path = folders.results / CORRELATIONS_FILE
    stored = _read_stored(path)
    for entry in entries:
        if entry.missing(folders.data):
            continue
        digest = entry.digest(folders.data)
        if stored.get(entry.name, {}).get("data") != digest:
            measured = _measured(entry, entry.make(folders.data))
            columns = {name: getattr(measured.curve, name).tolist() for name in _COLUMNS}
            about = {"data": digest, "low": measured.low, "repeats": measured.curve.repeats}
            stored[entry.name] = {**about, **columns}
            write_atomically(path, json.dumps(stored) + "\n")
    return {entry.name: _restored(stored[entry.name]) for entry in entries if entry.name in stored}


_COLUMNS = ("fidelities", "means", "deviations")


def _measured(entry: CatalogueEntry, benchmark: Benchmark) -> FidelityCorrelation:
    if entry.family == "LCBench":
        return FidelityCorrelation(correlation_curve(benchmark), None)
    rungs = Ladder(benchmark.fidelity, 3).fidelities
    curve = correlation_curve(benchmark, rungs, tolerance=0.0, max_repeats=_REPEATS)
    return FidelityCorrelation(curve, benchmark.fidelity.low)


def _read_stored(path: Path) -> dict[str, dict[str, Any]]:
    try:
        stored: dict[str, dict[str, Any]] = (
            json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        )
        for item in stored.values():
            _restored(item)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise FormatError(
            f"The file {path} is damaged: delete it, and it will be created again."
        ) from None
    return stored


def _restored(item: dict[str, Any]) -> FidelityCorrelation:
    fidelities, means, deviations = (np.array(item[name], dtype=np.float64) for name in _COLUMNS)
    curve = Correlations(fidelities, means, deviations, item["repeats"])
    return FidelityCorrelation(curve, item["low"])


def correlation_section(
    entries: Sequence[CatalogueEntry], correlations: FidelityCorrelations
) -> Section | None:
    """The curves and the class of each benchmark."""
    shown = [entry for entry in entries if entry.name in correlations]
    if not shown:
        return None
    rows, numbers = [], list[Sequence[object]]()
    for entry in shown:
        own = correlations[entry.name]
        curve, tenth = own.curve, own.tenth
        fidelity, mean = f"{curve.fidelities[tenth]:g}", curve.means[tenth]
        sem = curve.deviations[tenth] / curve.repeats**0.5
        theirs = PUBLISHED_CLASS.get(entry.paper_name or "", "")
        last = (f"{curve.repeats}", own.correlation_class, theirs)
        texts = (entry.title, fidelity, f"{mean:.3f} ({sem:.3f})", *last)
        rows.append([Cell(text) for text in texts])
        numbers.append([entry.title, fidelity, f"{mean:.6f}", f"{sem:.6f}", *last])
    published = [PUBLISHED_CLASS.get(e.paper_name or "") for e in shown]
    pairs = zip(published, shown, strict=True)
    same = sum(theirs == correlations[e.name].correlation_class for theirs, e in pairs)
    total = sum(theirs is not None for theirs in published)
    agreement = f"{total} of these benchmarks have a class in the paper, {same} the same as here. "
    heads = ["benchmark", "fidelity", "correlation (se)", "repeats", "class", "in the paper"]
    fields = ["benchmark", "fidelity", "correlation", "se", "repeats", "class", "paper_class"]
    caption = "Rank correlation with full training at a tenth of the fidelities"
    table = ReportTable("correlations", caption, heads, rows, fields, numbers)
    return Section(
        "How well low fidelities rank configurations",
        [
            "Spearman's correlation of the losses at each fidelity with those after full training, "
            "over 25 random configurations, averaged over repeats. The paper calls the correlation "
            "high if it is at least 0.8 at a tenth of the fidelities. "
            f"{agreement if total else ''}If a benchmark has only some fidelities, or evaluating "
            "all of them takes too long, the rung nearest to a tenth is used instead.",
        ],
        [table, _figure(shown, correlations)],
    )


def _figure(shown: Sequence[CatalogueEntry], correlations: FidelityCorrelations) -> Figure:
    panels = []
    for entry in shown:
        own = correlations[entry.name]
        curve = own.curve
        line = Line("rank correlation", curve.fidelities, curve.means, curve.deviations)
        marks = (float(curve.fidelities[own.tenth]),)
        panels.append(Panel(entry.title, (line,), marks, 0.8, own.correlation_class))
    frame = Frame("fidelity", "rank correlation", step=False, share_x=False, y_limits=(0.0, 1.02))
    caption = (
        "Rank correlation of each fidelity with full training, mean and standard deviation over "
        "repeats. The dashed line is at 0.8, the dotted one at a tenth of the fidelities."
    )
    return Figure("correlations", caption, curves(panels, frame, "correlations"))
