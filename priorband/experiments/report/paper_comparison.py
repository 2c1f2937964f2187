"""Compare results with the paper: its first table under all rules, and its authors' traces."""

import math
from collections.abc import Sequence

import numpy as np

from priorband.analysis.curves import loss_at
from priorband.analysis.summary import Summary, difference_in_se, summarised
from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.cases import ignores_prior
from priorband.experiments.paper_results import PaperCell, PaperCellKey, Traces
from priorband.experiments.report.blocks import Cell, Figure, ReportTable, Section
from priorband.experiments.report.results import Results
from priorband.experiments.report.tables import (
    RULES_TITLES,
    MeasuredCell,
    Scope,
    agreement_text,
    csv_difference,
    csv_number,
    measured_cells,
    rounded_text,
    summary_text,
)
from priorband.plots.drawing.curves import Frame, Line, Panel, curves
from priorband.plots.drawing.style import display_name

BUDGETS = tuple(range(1, 21))
_LAST_DIGIT = 5e-6
"""Half of the last digit in the authors' file of traces."""


def first_table_section(
    results: Results,
    printed: dict[PaperCellKey, PaperCell],
    methods: Sequence[str],
    horizons: Sequence[float],
) -> Section | None:
    """Every printed cell of the paper's first table, with ours under all rules."""
    cells = {
        rules: [
            cell
            for horizon in horizons
            for cell in measured_cells(results, printed, Scope(rules, methods), horizon)
            if cell.printed is not None and _is_first(cell)
        ]
        for rules in RULES_TITLES
    }
    if not any(cells.values()):
        return None
    families = dict.fromkeys(c.benchmark.family for some in cells.values() for c in some)
    blocks = [_family_table(family, cells) for family in families]
    return Section(
        "The first table, cell by cell",
        [
            "Every cell that the paper prints for random search, Hyperband and PriorBand, with "
            "ours: under the rules of the published code, under the paper's text with the "
            "authors' prior configurations, and under the text with newly drawn ones. Random "
            "search and Hyperband ignore the prior, so each of their cells is listed once. The "
            "difference is in standard errors of the difference of the means; the printed spread "
            "is a standard deviation over 50 seeds.",
            *_agreement_lines(cells),
        ],
        blocks,
    )


def _is_first(cell: MeasuredCell) -> bool:
    """Whether a cell is the first of those that are equal because a method ignores the prior."""
    return not ignores_prior(cell.method) or cell.prior == QUALITIES[0]


def _agreement_lines(cells: dict[str, list[MeasuredCell]]) -> list[str]:
    lines = []
    for rules, own in cells.items():
        for family in dict.fromkeys(cell.benchmark.family for cell in own):
            text = agreement_text([c for c in own if c.benchmark.family == family])
            lines.append(f"{family} under {RULES_TITLES[rules]}: {text}")
    return lines


def _family_table(family: str, cells: dict[str, list[MeasuredCell]]) -> ReportTable:
    by_key: dict[tuple[str, str, str, float], dict[str, MeasuredCell]] = {}
    for rules, own in cells.items():
        for cell in own:
            if cell.benchmark.family == family:
                key = (cell.benchmark.title, display_name(cell.method), cell.prior, cell.horizon)
                by_key.setdefault(key, {})[rules] = cell
    rows, numbers = [], []
    for (title, method, prior, horizon), by_rules in by_key.items():
        first = next(iter(by_rules.values()))
        quality = "any" if ignores_prior(first.method) else prior
        assert first.printed is not None
        theirs = f"{rounded_text(first.printed.mean)} ± {rounded_text(first.printed.sd)}"
        ours = [_compared_cells(by_rules.get(rules)) for rules in RULES_TITLES]
        rows.append([*map(Cell, (title, f"{horizon:g}x", method, quality, theirs)), *sum(ours, [])])
        csv_cells = [_csv_cells(by_rules.get(rules)) for rules in RULES_TITLES]
        about = [title, f"{horizon:g}", first.method, quality, first.printed.mean, first.printed.sd]
        numbers.append([*about, *sum(csv_cells, [])])
    fields = ["benchmark", "horizon", "method", "prior", "printed_mean", "printed_sd"]
    for rules in RULES_TITLES:
        fields += [f"{rules}_{name}" for name in ("mean", "sd", "se", "difference_in_se")]
    heads = ["benchmark", "budget", "method", "prior", "paper prints"]
    for rules_title in ("published rules", "text, authors' priors", "paper's text"):
        heads += [rules_title, "difference"]
    name = f"first-table-{family.lower().replace(' ', '-')}"
    return ReportTable(name, f"The paper's first table on {family}", heads, rows, fields, numbers)


def _compared_cells(cell: MeasuredCell | None) -> list[Cell]:
    if cell is None:
        return [Cell(""), Cell("")]
    difference = cell.difference_in_se
    text = "" if math.isnan(difference) else f"{difference:+.2f} se"
    return [Cell(summary_text(cell.ours)), Cell(text, bold=abs(difference) > 2)]


def _csv_cells(cell: MeasuredCell | None) -> list[object]:
    if cell is None:
        return [""] * 4
    return [
        *map(csv_number, (cell.ours.mean, cell.ours.sd, cell.ours.sem)),
        csv_difference(cell.difference_in_se),
    ]


def trace_section(results: Results, theirs: Traces, methods: Sequence[str]) -> Section | None:
    """The lowest loss so far at each budget, compared with the authors' runs."""
    rows, numbers = [], list[Sequence[object]]()
    points: dict[str, list[tuple[float, bool | None]]] = {}
    for benchmark in results.benchmarks:
        for method in methods:
            qualities = QUALITIES[:1] if ignores_prior(method) else QUALITIES
            for prior in qualities:
                ours = _lowest_losses(results, benchmark, prior, method)
                trace = theirs.get((benchmark.paper_name or "", prior, display_name(method)))
                if ours is None or trace is None:
                    continue
                paper = [summarised(trace[:, k]) for k in range(len(BUDGETS))]
                gaps = [_difference(*pair) for pair in zip(ours, paper, strict=True)]
                equal = [_equal_means(*pair) for pair in zip(ours, paper, strict=True)]
                points.setdefault(benchmark.family, []).extend(zip(gaps, equal, strict=True))
                quality = "any" if ignores_prior(method) else prior
                shown = [_trace_cell(*three) for three in zip(gaps, ours, paper, strict=True)]
                about = [benchmark.title, display_name(method), quality]
                rows.append([*map(Cell, about), *shown])
                for k, gap in enumerate(gaps):
                    numbers.append(
                        [*about, BUDGETS[k], *_csv_pair(ours[k], paper[k]), csv_number(gap)]
                    )
    if not rows:
        return None
    heads = ["benchmark", "method", "prior", *(f"{budget}x" for budget in BUDGETS)]
    fields = ["benchmark", "method", "prior", "budget"]
    fields += [f"{side}_{name}" for side in ("our", "their") for name in ("mean", "sd", "se")]
    caption = "Our lowest loss minus the authors' at each budget, in standard errors"
    table = ReportTable("traces", caption, heads, rows, [*fields, "difference_in_se"], numbers)
    return Section(
        "Against the authors' traces",
        [
            "The authors published the lowest loss so far of each of their runs, at any fidelity. "
            "It is compared with ours, under the published rules, at every budget from 1 to 20. "
            "Neighbours in a row are similar, because the lowest loss of a run can only fall. If "
            "all seeds have the same loss, there is no standard error: the cell shows = if the "
            "losses agree, else their difference.",
            *(_counts_text(family, some) for family, some in points.items()),
        ],
        [table, *_trace_figures(results, theirs, methods)],
    )


def _counts_text(family: str, points: Sequence[tuple[float, bool | None]]) -> str:
    gaps = [abs(gap) for gap, _ in points if not math.isnan(gap)]
    equal = [agree for _, agree in points if agree is not None]
    one, two = (sum(gap <= limit for gap in gaps) for limit in (1, 2))
    text = f"{family}: {one} of {len(gaps)} within one standard error, {two} within two"
    return (
        f"{text}; of {len(equal)} without any spread, {sum(equal)} agree." if equal else f"{text}."
    )


def _trace_cell(gap: float, ours: Summary, paper: Summary) -> Cell:
    if _equal_means(ours, paper):
        return Cell("=")
    if math.isnan(gap):
        difference = ours.mean - paper.mean
        return Cell("–" if math.isnan(difference) else f"({difference:+.3f})")
    return Cell(f"{gap:+.1f}", bold=abs(gap) > 2)


def _lowest_losses(
    results: Results, benchmark: CatalogueEntry, prior: str, method: str
) -> list[Summary] | None:
    key = results.cell_key("published", benchmark.name, prior, method)
    if results.reached_budget(key) < BUDGETS[-1]:
        return None
    runs = results.curves(key).values()
    return [summarised([loss_at(curve, budget) for curve in runs]) for budget in BUDGETS]


def _difference(ours: Summary, paper: Summary) -> float:
    """The difference in standard errors; nan if there are none.

    Runs that have evaluated only the mode of the prior have the same loss for all seeds.
    """
    if not ours.n or not paper.n or _equal_means(ours, paper) is not None:
        return math.nan
    return difference_in_se(ours, paper.mean, paper.sd, paper.n)


def _equal_means(ours: Summary, paper: Summary) -> bool | None:
    """Whether the means agree to the digits of the authors' file; None unless both lack spread."""
    if not max(ours.sd, paper.sd) <= _LAST_DIGIT:
        return None
    return abs(ours.mean - paper.mean) <= _LAST_DIGIT


def _csv_pair(ours: Summary, paper: Summary) -> list[str]:
    return [csv_number(x) for side in (ours, paper) for x in (side.mean, side.sd, side.sem)]


def _trace_figures(results: Results, theirs: Traces, methods: Sequence[str]) -> list[Figure]:
    figures = []
    frame = Frame("budget in full trainings", "lowest loss seen", share_y=False)
    for prior in QUALITIES:
        panels = []
        for benchmark in results.benchmarks:
            lines = []
            for method in methods:
                ours = _lowest_losses(results, benchmark, prior, method)
                trace = theirs.get((benchmark.paper_name or "", prior, display_name(method)))
                if ours is not None and trace is not None:
                    paper = [summarised(trace[:, k]) for k in range(len(BUDGETS))]
                    lines += [_line(method, ours), _line(f"{method} (published)", paper)]
            if lines:
                panels.append(Panel(benchmark.title, tuple(lines)))
        if panels:
            caption = (
                f"Lowest loss so far with {prior} priors, mean and standard error over seeds: ours "
                "under the published rules, and the authors' runs (published)."
            )
            name = f"traces-{prior}"
            figures.append(Figure(name, caption, curves(panels, frame, name)))
    return figures


def _line(label: str, points: Sequence[Summary]) -> Line:
    budgets = np.array(BUDGETS, dtype=np.float64)
    means, errors = (np.array([getattr(p, name) for p in points]) for name in ("mean", "sem"))
    return Line(label, budgets, means, errors)
