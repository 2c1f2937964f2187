"""Cell by cell against the paper: its first table under both rules, and its authors' traces."""

import math
from collections.abc import Sequence

import numpy as np

from priorband.analysis.curves import loss_at
from priorband.analysis.summary import Summary, difference_in_se, summarised
from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.cases import ignores_prior
from priorband.experiments.figures.curves import Frame, Line, Panel, curves
from priorband.experiments.figures.style import display_name
from priorband.experiments.paper import Place, Printed, Traces
from priorband.experiments.report.blocks import Cell, Figure, ReportTable, Section
from priorband.experiments.report.results import Results
from priorband.experiments.report.tables import (
    CALLED,
    Measured,
    Scope,
    agreed,
    distance,
    full,
    measured,
    number,
    told,
)

BUDGETS = tuple(range(1, 21))
_DIGITS = 5e-6


def cell_by_cell(
    results: Results,
    printed: dict[Place, Printed],
    methods: Sequence[str],
    horizons: Sequence[float],
) -> Section | None:
    """Every printed cell of the paper's first table beside ours, under both rules."""
    found = {
        rules: [
            cell
            for horizon in horizons
            for cell in measured(results, printed, Scope(rules, methods), horizon)
            if cell.printed is not None and _once(cell)
        ]
        for rules in CALLED
    }
    if not any(found.values()):
        return None
    blocks = [
        _family_table(family, found)
        for family in dict.fromkeys(c.benchmark.family for cells in found.values() for c in cells)
    ]
    return Section(
        "The first table, cell by cell",
        [
            "Every cell that the paper prints of random search, Hyperband and PriorBand, beside "
            "ours: under the rules that the published code followed, by the paper's text around "
            "the authors' prior configurations, and by the text around ones drawn anew. "
            "Random search and Hyperband ignore the prior, so each of their cells stands once. "
            "The difference is in standard errors of the two means together; the printed spread "
            "is a standard deviation over 50 seeds.",
            *_said(found),
        ],
        blocks,
    )


def _once(cell: Measured) -> bool:
    return not ignores_prior(cell.method) or cell.prior == QUALITIES[0]


def _said(found: dict[str, list[Measured]]) -> list[str]:
    lines = []
    for rules, cells in found.items():
        for family in dict.fromkeys(cell.benchmark.family for cell in cells):
            said = agreed([c for c in cells if c.benchmark.family == family])
            lines.append(f"{family} under {CALLED[rules]}: {said}")
    return lines


def _family_table(family: str, found: dict[str, list[Measured]]) -> ReportTable:
    both: dict[tuple[str, str, str, float], dict[str, Measured]] = {}
    for rules, cells in found.items():
        for cell in cells:
            if cell.benchmark.family == family:
                key = (cell.benchmark.title, display_name(cell.method), cell.prior, cell.horizon)
                both.setdefault(key, {})[rules] = cell
    rows, numbers = [], []
    for (title, method, prior, horizon), by_rules in both.items():
        some = next(iter(by_rules.values()))
        quality = "any" if ignores_prior(some.method) else prior
        assert some.printed is not None
        theirs = f"{number(some.printed.mean)} ± {number(some.printed.sd)}"
        ours = [_compared(by_rules.get(rules)) for rules in CALLED]
        rows.append([*map(Cell, (title, f"{horizon:g}x", method, quality, theirs)), *sum(ours, [])])
        figures = [_figures(by_rules.get(rules)) for rules in CALLED]
        about = [title, f"{horizon:g}", some.method, quality, some.printed.mean, some.printed.sd]
        numbers.append([*about, *sum(figures, [])])
    fields = ["benchmark", "horizon", "method", "prior", "printed_mean", "printed_sd"]
    for rules in CALLED:
        fields += [f"{rules}_{name}" for name in ("mean", "sd", "se", "difference_in_se")]
    heads = ["benchmark", "budget", "method", "prior", "paper prints"]
    for called in ("published rules", "text, authors' centres", "paper's text"):
        heads += [called, "difference"]
    name = f"first-table-{family.lower().replace(' ', '-')}"
    return ReportTable(name, f"The paper's first table on {family}", heads, rows, fields, numbers)


def _compared(cell: Measured | None) -> list[Cell]:
    if cell is None:
        return [Cell(""), Cell("")]
    apart = cell.apart
    between = "" if math.isnan(apart) else f"{apart:+.2f} se"
    return [Cell(told(cell.ours)), Cell(between, bold=abs(apart) > 2)]


def _figures(cell: Measured | None) -> list[object]:
    if cell is None:
        return [""] * 4
    return [*map(full, (cell.ours.mean, cell.ours.sd, cell.ours.sem)), distance(cell.apart)]


def traces(results: Results, theirs: Traces, methods: Sequence[str]) -> Section | None:
    """The lowest loss seen at each budget, beside the authors' own runs."""
    rows, numbers = [], list[Sequence[object]]()
    points: dict[str, list[tuple[float, bool | None]]] = {}
    for benchmark in results.benchmarks:
        for method in methods:
            qualities = QUALITIES[:1] if ignores_prior(method) else QUALITIES
            for prior in qualities:
                ours = _seen(results, benchmark, prior, method)
                known = theirs.get((benchmark.paper_name or "", prior, display_name(method)))
                if ours is None or known is None:
                    continue
                paper = [summarised(known[:, k]) for k in range(len(BUDGETS))]
                gaps = [_gap(*pair) for pair in zip(ours, paper, strict=True)]
                bare = [_alike(*pair) for pair in zip(ours, paper, strict=True)]
                points.setdefault(benchmark.family, []).extend(zip(gaps, bare, strict=True))
                quality = "any" if ignores_prior(method) else prior
                shown = [_shown(*three) for three in zip(gaps, ours, paper, strict=True)]
                about = [benchmark.title, display_name(method), quality]
                rows.append([*map(Cell, about), *shown])
                for k, gap in enumerate(gaps):
                    numbers.append([*about, BUDGETS[k], *_pair(ours[k], paper[k]), full(gap)])
    if not rows:
        return None
    heads = ["benchmark", "method", "prior", *(f"{budget}x" for budget in BUDGETS)]
    fields = ["benchmark", "method", "prior", "budget"]
    fields += [f"{who}_{what}" for who in ("our", "their") for what in ("mean", "sd", "se")]
    caption = "Our lowest loss less the authors', in standard errors of both, at each budget"
    table = ReportTable("traces", caption, heads, rows, [*fields, "difference_in_se"], numbers)
    return Section(
        "Against the authors' traces",
        [
            "The authors published the lowest loss that each of their runs had seen, at whatever "
            "fidelity. Ours, under the published rules, is compared at every budget from 1 to 20. "
            "Neighbours in a row are alike, since a run's lowest loss only ever falls. Where no "
            "seed differs from another, there is no standard error: the sign = is shown where the "
            "losses agree, else their difference.",
            *(_counted(family, some) for family, some in points.items()),
        ],
        [table, *_trace_figures(results, theirs, methods)],
    )


def _counted(family: str, points: Sequence[tuple[float, bool | None]]) -> str:
    known = [abs(gap) for gap, _ in points if not math.isnan(gap)]
    bare = [alike for _, alike in points if alike is not None]
    one, two = (sum(gap <= limit for gap in known) for limit in (1, 2))
    text = f"{family}: {one} of {len(known)} within one standard error, {two} within two"
    return f"{text}; of {len(bare)} without any spread {sum(bare)} agree." if bare else f"{text}."


def _shown(gap: float, ours: Summary, paper: Summary) -> Cell:
    if _alike(ours, paper):
        return Cell("=")
    if math.isnan(gap):
        between = ours.mean - paper.mean
        return Cell("–" if math.isnan(between) else f"({between:+.3f})")
    return Cell(f"{gap:+.1f}", bold=abs(gap) > 2)


def _seen(
    results: Results, benchmark: CatalogueEntry, prior: str, method: str
) -> list[Summary] | None:
    cell = results.cell("published", benchmark.name, prior, method)
    if results.reach(cell) < BUDGETS[-1]:
        return None
    runs = results.curves(cell).values()
    return [summarised([loss_at(curve, budget) for curve in runs]) for budget in BUDGETS]


def _gap(ours: Summary, paper: Summary) -> float:
    """The difference in standard errors of both; nan where there are none.

    A run that has only its prior's mode has the same loss with every seed.
    """
    if not ours.n or not paper.n or _alike(ours, paper) is not None:
        return math.nan
    return difference_in_se(ours, paper.mean, paper.sd, paper.n)


def _alike(ours: Summary, paper: Summary) -> bool | None:
    """Whether means agree to the digits of the authors' file where neither has a spread."""
    if not max(ours.sd, paper.sd) <= _DIGITS:
        return None
    return abs(ours.mean - paper.mean) <= _DIGITS


def _pair(ours: Summary, paper: Summary) -> list[str]:
    return [full(x) for one in (ours, paper) for x in (one.mean, one.sd, one.sem)]


def _trace_figures(results: Results, theirs: Traces, methods: Sequence[str]) -> list[Figure]:
    made = []
    frame = Frame("budget in full trainings", "lowest loss seen", share_y=False)
    for prior in QUALITIES:
        panels = []
        for benchmark in results.benchmarks:
            lines = []
            for method in methods:
                ours = _seen(results, benchmark, prior, method)
                known = theirs.get((benchmark.paper_name or "", prior, display_name(method)))
                if ours is not None and known is not None:
                    paper = [summarised(known[:, k]) for k in range(len(BUDGETS))]
                    lines += [_line(method, ours), _line(f"{method} (published)", paper)]
            if lines:
                panels.append(Panel(benchmark.title, tuple(lines)))
        if panels:
            caption = (
                f"Lowest loss seen under {prior} priors, mean and standard error over seeds: ours "
                "under the published rules, and the authors' own runs (published)."
            )
            name = f"traces-{prior}"
            made.append(Figure(name, caption, curves(panels, frame, name)))
    return made


def _line(label: str, points: Sequence[Summary]) -> Line:
    budgets = np.array(BUDGETS, dtype=np.float64)
    means, errors = (np.array([getattr(p, name) for p in points]) for name in ("mean", "sem"))
    return Line(label, budgets, means, errors)
