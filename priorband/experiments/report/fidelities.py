"""How well cheap fidelities rank configurations: curves, and the paper's two classes."""

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
from priorband.experiments.figures.curves import Frame, Line, Panel, curves
from priorband.experiments.report.blocks import Cell, Figure, ReportTable, Section
from priorband.experiments.running import Places
from priorband.experiments.store import put
from priorband.ladder import Ladder
from priorband.values import frozen

FILE = "correlations.json"
_REPEATS = 200
_HIGH = ("LC-167190", "LC-168330", "LC-168910", "LC-189906", "PD1-Cifar100", "PD1-ImageNet")
PUBLISHED_CLASS = {
    **dict.fromkeys((*_HIGH, "PD1-LM1B", "PD1-WMT"), "high"),
    **dict.fromkeys(("LC-126026", "JAHS-C10", "JAHS-CH", "JAHS-FM"), "low"),
}
"""The class in which the paper puts its benchmarks."""


@final
@frozen
class Ranking:
    """How a benchmark's fidelities rank; `low` is the low end of a range not asked in whole."""

    curve: Correlations
    low: float | None

    @property
    def tenth(self) -> int:
        """The place of the fidelity that stands for a tenth of them."""
        return tenth_index(self.curve.fidelities, self.low)

    @property
    def kind(self) -> str:
        """ "high" or "low", by the rule of 0.8 at a tenth of the fidelities."""
        return (
            "high"
            if is_high_correlation(self.curve.fidelities, self.curve.means, self.low)
            else "low"
        )


Rankings = dict[str, Ranking]


def rankings(entries: Sequence[CatalogueEntry], places: Places) -> Rankings:
    """Those of all benchmarks whose data is here; kept in a file beside the results."""
    path = places.results / FILE
    known = _read(path)
    for entry in entries:
        if entry.missing(places.data):
            continue
        digest = entry.digest(places.data)
        if known.get(entry.name, {}).get("data") != digest:
            found = _measured(entry, entry.make(places.data))
            columns = {name: getattr(found.curve, name).tolist() for name in _COLUMNS}
            about = {"data": digest, "low": found.low, "repeats": found.curve.repeats}
            known[entry.name] = {**about, **columns}
            put(path, json.dumps(known) + "\n")
    return {entry.name: _kept(known[entry.name]) for entry in entries if entry.name in known}


_COLUMNS = ("fidelities", "means", "deviations")


def _measured(entry: CatalogueEntry, benchmark: Benchmark) -> Ranking:
    if entry.family == "LCBench":
        return Ranking(correlation_curve(benchmark), None)
    rungs = Ladder(benchmark.fidelity, 3).fidelities
    curve = correlation_curve(benchmark, rungs, tolerance=0.0, max_repeats=_REPEATS)
    return Ranking(curve, benchmark.fidelity.low)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        read: dict[str, dict[str, Any]] = (
            json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        )
        for kept in read.values():
            _kept(kept)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise FormatError(f"The file {path} is damaged: delete it, it is made anew.") from None
    return read


def _kept(kept: dict[str, Any]) -> Ranking:
    fidelities, means, deviations = (np.array(kept[name], dtype=np.float64) for name in _COLUMNS)
    return Ranking(Correlations(fidelities, means, deviations, kept["repeats"]), kept["low"])


def fidelity_section(entries: Sequence[CatalogueEntry], found: Rankings) -> Section | None:
    """Curves, and the class that each benchmark falls into."""
    shown = [entry for entry in entries if entry.name in found]
    if not shown:
        return None
    rows, numbers = [], list[Sequence[object]]()
    for entry in shown:
        curve, place = found[entry.name].curve, found[entry.name].tenth
        sem = curve.deviations[place] / curve.repeats**0.5
        ours, theirs = found[entry.name].kind, PUBLISHED_CLASS.get(entry.paper_name or "", "")
        at, mean = curve.fidelities[place], curve.means[place]
        texts = (
            entry.title,
            f"{at:g}",
            f"{mean:.3f} ({sem:.3f})",
            f"{curve.repeats}",
            ours,
            theirs,
        )
        rows.append([Cell(text) for text in texts])
        numbers.append([entry.title, f"{at:g}", f"{mean:.6f}", f"{sem:.6f}", *texts[3:]])
    agree = [PUBLISHED_CLASS.get(e.paper_name or "") for e in shown]
    same = sum(a == found[e.name].kind for a, e in zip(agree, shown, strict=True))
    of = sum(a is not None for a in agree)
    said = f"Of the {of} benchmarks here that the paper has put into a class, {same} fall into the "
    heads = ["benchmark", "fidelity", "correlation (se)", "repeats", "class", "in the paper"]
    fields = ["benchmark", "fidelity", "correlation", "se", "repeats", "class", "paper_class"]
    caption = "Rank correlation with full training at a tenth of the fidelities"
    table = ReportTable("correlations", caption, heads, rows, fields, numbers)
    return Section(
        "How well cheap fidelities rank",
        [
            "Spearman's correlation of the losses at each fidelity with those after full training, "
            "over 25 random configurations, averaged over repeats. The paper counts a benchmark to "
            "those of high correlation where it is at least 0.8 at a tenth of the fidelities. "
            f"{f'{said}same one. ' if of else ''}Where only some fidelities can be asked, or all "
            "take too long, the rung nearest to a tenth stands for it.",
        ],
        [table, _figure(shown, found)],
    )


def _figure(shown: Sequence[CatalogueEntry], found: Rankings) -> Figure:
    panels = []
    for entry in shown:
        curve, place = found[entry.name].curve, found[entry.name].tenth
        line = Line("rank correlation", curve.fidelities, curve.means, curve.deviations)
        marks = (float(curve.fidelities[place]),)
        panels.append(Panel(entry.title, (line,), marks, 0.8, found[entry.name].kind))
    frame = Frame("fidelity", "rank correlation", step=False, share_x=False, y_limits=(0.0, 1.02))
    caption = (
        "Rank correlation of each fidelity with full training, mean and standard deviation over "
        "repeats. The dashed line is the rule of 0.8, the dotted one a tenth of the fidelities."
    )
    return Figure("correlations", caption, curves(panels, frame, "correlations"))
