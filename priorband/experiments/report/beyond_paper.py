"""The sections on guardband and guardband+bo: regret, ranks, pairs, losses, the default rule."""

from collections.abc import Iterator, Mapping, Sequence
from typing import final

from priorband.analysis.paired import ALL_PRIORS, CellName, Comparison, default_rule
from priorband.analysis.scale import RegretScale
from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.experiments import beyond
from priorband.experiments.cases import FIRST_CONFIRMATION_SEED, PRIORS
from priorband.experiments.report.blocks import Cell, ReportTable, Section
from priorband.experiments.report.fidelity_correlation import FidelityCorrelations
from priorband.experiments.report.regret_points import RegretPoints
from priorband.experiments.report.results import Results
from priorband.plots.drawing.style import display_name
from priorband.values import frozen

OURS = ("guardband", "guardband+bo")
RIVALS = ("hyperband", "priorband", "asha", "priorband+bo", "pibo", "bo", "bohb")
_PAIR_FIELDS = (
    *("ours", "other", "workers", "benchmarks", "prior", "horizon", "regret", "other_regret"),
    *("difference", "se", "ratio", "number", "wins", "losses"),
)


@final
@frozen
class BenchmarkGroup:
    """Some benchmarks that are averaged."""

    name: str
    title: str
    benchmarks: Sequence[str]


def is_beyond(results: Results) -> bool:
    """Whether there are runs of guardband with a prior that the paper does not use."""
    return any(cell[3] in OURS and cell[2] in PRIORS[3:] for cell in results.records)


def beyond_sections(
    results: Results,
    scales: Mapping[str, RegretScale],
    correlations: FidelityCorrelations,
    kind: str,
) -> Iterator[Section]:
    """All sections on the runs with seeds of one kind, "confirmation" or "development"."""
    entries = [e for e in results.benchmarks if e.name in scales]
    groups = _groups(entries, correlations)
    points = RegretPoints(results, scales, beyond.HORIZONS)
    yield _about(entries, kind)
    yield Section(
        f"Beyond the paper, {kind} seeds: verdict on the default rule",
        [
            "A method may replace PriorBand as the default if all four conditions hold. Regret is "
            "averaged over benchmarks; standard errors are those between benchmarks.",
        ],
        [_verdict_table(points, groups[:3], kind)],
    )
    for group in groups:
        yield Section(
            f"Beyond the paper, {kind} seeds: {group.title}",
            [f"{len(group.benchmarks)} benchmarks."],
            [*_mean_tables(points, group, kind), _pair_table(points, OURS, RIVALS, group, kind)],
        )
    yield _losses_section(points, groups, kind)
    yield from _ablation_sections(points, groups[0], kind)
    yield from _other_settings(results, scales, groups[0], kind)


def _groups(
    entries: Sequence[CatalogueEntry], correlations: FidelityCorrelations
) -> list[BenchmarkGroup]:
    names = [entry.name for entry in entries]
    known = [name for name in names if name in beyond.DEVELOPMENT_BENCHMARKS]
    unseen = [name for name in names if name not in beyond.DEVELOPMENT_BENCHMARKS]
    by_class = {
        kind: [n for n in names if n in correlations and correlations[n].correlation_class == kind]
        for kind in ("high", "low")
    }
    groups = [
        BenchmarkGroup("all", "all benchmarks", names),
        BenchmarkGroup("confirmation", "benchmarks never used in choosing", unseen),
        BenchmarkGroup("development", "benchmarks used in choosing", known),
        *(BenchmarkGroup(k, f"{k} correlation of fidelities", n) for k, n in by_class.items()),
    ]
    return [group for group in groups if group.benchmarks]


def _about(entries: Sequence[CatalogueEntry], kind: str) -> Section:
    known = [e.title for e in entries if e.name in beyond.DEVELOPMENT_BENCHMARKS]
    unseen = [e.title for e in entries if e.name not in beyond.DEVELOPMENT_BENCHMARKS]
    limit = FIRST_CONFIRMATION_SEED
    seeds = f"{limit} and above" if kind == "confirmation" else f"below {limit}"
    paragraphs = [
        "Regret is (loss - best known) / (median - best known), times 100, and 300 at most. The "
        "loss is that of the incumbent after a full training, as in the other sections; the "
        "incumbent has the lowest loss within the budget, at any fidelity. A run without any "
        "successful training so far has 300. The best known loss "
        "and the median of uniform draws are measured on the benchmark itself, without any run: "
        "see `priorband.analysis.scale`.",
        f"These are {kind} seeds: {seeds}. Only seeds below {limit} may be used to choose rules.",
        "Methods are paired by benchmark, prior and seed. Differences are averaged within a "
        "benchmark, and ± is the standard error between benchmarks. A method that ignores the "
        "prior has one run for all priors. Random: a centre drawn uniformly for each seed and "
        "benchmark. Flat: no belief.",
        f"Benchmarks used in choosing: {', '.join(known) or 'none'}.",
        f"Benchmarks never used in choosing here: {', '.join(unseen) or 'none'}. The authors of "
        "the notes that the rules come from looked at runs on most of them, with other seeds, "
        "when they chose the exponent of the guard and when the mode is continued.",
    ]
    return Section(f"Beyond the paper: guardband and guardband+bo, {kind} seeds", paragraphs)


def _mean_tables(points: RegretPoints, group: BenchmarkGroup, kind: str) -> Iterator[ReportTable]:
    free = ("hyperband", "priorband", "guardband")
    models = (*free, "guardband+bo", "pibo", "bo", "bohb")
    for name, methods in (("model-free", free), ("models", models)):
        for index, what in enumerate(("regret", "rank")):
            rows, numbers = [], list[Sequence[object]]()
            for prior in (*PRIORS, ALL_PRIORS):
                for horizon in points.horizons:
                    *found, number = points.mean_regret_and_rank(
                        methods, prior, horizon, group.benchmarks
                    )
                    values = found[index]
                    if not values:
                        continue
                    best = min(values.values())
                    cells = [Cell(f"{v:.2f}", bold=v == best) for v in values.values()]
                    rows.append([Cell(prior), Cell(f"{horizon:g}x"), *cells])
                    numbers += [
                        [prior, f"{horizon:g}", m, f"{v:.6f}", number] for m, v in values.items()
                    ]
            if rows:
                heads = ["prior", "budget", *map(display_name, methods)]
                caption = f"Mean {what}, on the seeds that all of these methods ran"
                fields = ("prior", "horizon", "method", what, "benchmarks")
                file = f"beyond-{kind}-{group.name}-{name}-{what}"
                yield ReportTable(file, caption, heads, rows, fields, numbers)


def _pair_table(
    points: RegretPoints,
    ours: Sequence[str],
    others: Sequence[str],
    group: BenchmarkGroup,
    kind: str,
    name: str = "pairs",
) -> ReportTable:
    """Differences of regret; below them the ratio, and on how many benchmarks each one wins."""
    rows, numbers = [], list[Sequence[object]]()
    for own in ours:
        cells = points.comparisons(own, [o for o in others if o != own], group.benchmarks)
        for other, prior in dict.fromkeys((cell.other, cell.prior) for cell in cells):
            found = [cells.get(CellName(other, prior, h)) for h in points.horizons]
            texts = [_pair_cell(c) for c in found]
            rows.append([Cell(display_name(own)), Cell(display_name(other)), Cell(prior), *texts])
        numbers += [
            [
                *(own, n.other, points.workers, group.name, n.prior, f"{n.horizon:g}"),
                *(f"{v:.4f}" for v in (c.ours, c.theirs, c.difference, c.se, c.ratio)),
                *(c.benchmarks, c.wins, c.losses),
            ]
            for n, c in cells.items()
        ]
    heads = ["method", "against", "prior", *(f"{h:g}x" for h in points.horizons)]
    caption = (
        "Difference of regret ± standard error (negative: ours is better; bold: by two standard "
        "errors); below, the ratio of regrets, and on how many benchmarks ours is better and worse"
    )
    file = f"beyond-{kind}-{group.name}-{name}"
    return ReportTable(file, caption, heads, rows, _PAIR_FIELDS, numbers)


def _pair_cell(cell: Comparison | None) -> Cell:
    if cell is None:
        return Cell("")
    below = f"{cell.ratio:.2f}; {cell.wins} : {cell.losses}"
    return Cell(f"{cell.difference:+.1f} ± {cell.se:.1f}", below, cell.clearly_better)


def _losses_section(points: RegretPoints, groups: Sequence[BenchmarkGroup], kind: str) -> Section:
    rows, numbers = [], list[Sequence[object]]()
    for group in groups[:3]:
        for own in OURS:
            cells = points.comparisons(own, RIVALS, group.benchmarks)
            worse = [(n, c) for n, c in cells.items() if c.clearly_worse]
            for n, c in sorted(worse, key=lambda pair: -pair[1].difference):
                about = (own, n.other, n.prior, f"{n.horizon:g}x", group.title)
                figures = (f"{c.difference:+.1f} ± {c.se:.1f}", f"{c.ratio:.2f}")
                count = f"{c.wins} : {c.losses}"
                texts = (display_name(own), display_name(n.other), *about[2:], *figures, count)
                rows.append([Cell(text) for text in texts])
                numbers.append([*about, f"{c.difference:.4f}", f"{c.se:.4f}", f"{c.ratio:.4f}"])
    heads = [
        "method",
        "against",
        "prior",
        "budget",
        "benchmarks",
        "difference",
        "ratio",
        "better : worse",
    ]
    fields = ("ours", "other", "prior", "horizon", "benchmarks", "difference", "se", "ratio")
    caption = "Cells in which ours is worse by more than two standard errors"
    table = ReportTable(f"beyond-{kind}-losses", caption, heads, rows, fields, numbers)
    text = f"{len(rows)} cells." if rows else "There is no such cell."
    return Section(f"Where our methods lose, {kind} seeds", [text], [table] if rows else [])


def _verdict_table(
    points: RegretPoints, groups: Sequence[BenchmarkGroup], kind: str
) -> ReportTable:
    rows, numbers = [], list[Sequence[object]]()
    for group in groups:
        for own in OURS:
            cells = points.comparisons(own, ("priorband", "hyperband"), group.benchmarks)
            for clause in default_rule(cells, PRIORS, points.horizons):
                verdict = "holds" if clause.holds else "broken" if clause.broken else "not run"
                broken = "; ".join(
                    f"{n.prior} {n.horizon:g}x: {cells[n].difference:+.1f} ± {cells[n].se:.1f}, "
                    f"{cells[n].ratio:.3f}"
                    for n in clause.broken
                )
                texts = (display_name(own), group.title, clause.text, verdict, broken)
                rows.append([Cell(text, bold=text == "broken") for text in texts])
                numbers.append([own, group.name, clause.text, verdict, broken])
    heads = ["method", "benchmarks", "condition", "verdict", "cells that break it"]
    fields = ("method", "benchmarks", "condition", "verdict", "broken")
    caption = "The default rule, condition by condition"
    return ReportTable(f"beyond-{kind}-verdict", caption, heads, rows, fields, numbers)


def _ablation_sections(points: RegretPoints, group: BenchmarkGroup, kind: str) -> Iterator[Section]:
    blocks = [
        _pair_table(points, [own], variants, group, kind, f"ablations-{own.replace('+', '-')}")
        for own, variants in (
            ("guardband", beyond.GUARDBAND_ABLATIONS),
            ("guardband+bo", beyond.GUARDBAND_BO_ABLATIONS),
        )
    ]
    shown = [block for block in blocks if block.rows]
    if shown:
        text = "Negative: the complete method is better than the one without the part."
        yield Section(f"Beyond the paper, {kind} seeds: ablations", [text], shown)


def _other_settings(
    results: Results, scales: Mapping[str, RegretScale], group: BenchmarkGroup, kind: str
) -> Iterator[Section]:
    """The runs with several workers, and those with a long horizon."""
    for workers, budget in beyond.PARALLEL_BUDGETS.items():
        horizons = [h for h in beyond.HORIZONS if h <= budget]
        points = RegretPoints(results, scales, horizons, workers)
        own = (*OURS, "asha+guard", "async-hyperband+guard")
        others = [m for m in beyond.PARALLEL_METHODS if m not in OURS]
        table = _pair_table(points, own, others, group, kind, f"pairs-{workers}")
        if table.rows:
            text = f"{workers} workers in simulated time; budgets are for each worker."
            yield Section(f"Beyond the paper, {kind} seeds: {workers} workers", [text], [table])
    points = RegretPoints(results, scales, (beyond.LONG_HORIZON,))
    table = _pair_table(points, OURS, beyond.LONG_METHODS, group, kind, "pairs-long")
    if table.rows:
        title = f"Beyond the paper, {kind} seeds: {beyond.LONG_HORIZON:g} full trainings"
        yield Section(title, ["One worker, on some of the benchmarks."], [table])
