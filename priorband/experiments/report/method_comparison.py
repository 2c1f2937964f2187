"""Compare methods: mean relative ranks and normalised regret over the budget."""

from collections.abc import Iterator, Sequence

import numpy as np

from priorband.analysis.groups import CurveGroup
from priorband.analysis.ranks import rank_curves
from priorband.analysis.regret import regret_curves
from priorband.analysis.summary import Array, Band
from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.report.blocks import Cell, Figure, ReportTable
from priorband.experiments.report.fidelity_correlation import FidelityCorrelations
from priorband.experiments.report.results import Results, benchmark_prior_pairs
from priorband.experiments.report.tables import Scope
from priorband.plots.drawing.curves import Frame, Line, Panel, curves
from priorband.plots.drawing.style import display_name

_POINTS = 400


def figure_axis(horizon: float, start: float = 1.0) -> Array:
    """The budgets of a figure."""
    return np.linspace(start, horizon, _POINTS)


def reached_budget(results: Results, scope: Scope) -> float:
    """The budget that all runs of a scope have reached."""
    return min(map(results.reached_budget, filter(scope.includes, results.records)), default=0.0)


def rank_figure(
    results: Results,
    scope: Scope,
    correlations: FidelityCorrelations,
    name: str,
    marks: tuple[float, ...],
) -> Figure | None:
    """Mean relative ranks over the budget, by prior and by correlation."""
    horizon = reached_budget(results, scope)
    panels = []
    for title, group in _ranked_groups(results, scope, correlations):
        grid, bands = rank_curves(group, figure_axis(horizon))
        panels.append(Panel(title, _lines(grid, bands), marks, note=_size_text(group)))
    if not panels:
        return None
    frame = Frame(_budget_label(scope), "mean relative rank")
    caption = (
        "Mean relative rank among the methods shown (lower is better), and its standard error over "
        "seeds. A cell is a benchmark with a prior. Dotted lines mark the horizons of the tables. "
        f"Benchmarks: {_benchmark_titles(results, scope)}."
    )
    return Figure(name, caption, curves(panels, frame, name))


def _size_text(group: CurveGroup) -> str:
    """The numbers of cells and seeds of a group, as text."""
    cells = next(iter(group.values()))
    seeds = len(next(iter(cells.values())))
    return f"{len(cells)} cell{'s' * (len(cells) > 1)}, {seeds} seed{'s' * (seeds > 1)}"


def _benchmark_titles(results: Results, scope: Scope) -> str:
    """The titles of the benchmarks that methods are ranked on."""
    ran = {cell[1] for cell in results.records if scope.includes(cell)}
    return ", ".join(entry.title for entry in results.ranked_benchmarks if entry.name in ran)


def rank_table(
    results: Results,
    scope: Scope,
    correlations: FidelityCorrelations,
    name: str,
    horizons: Sequence[float],
) -> ReportTable | None:
    """Mean relative ranks at the horizons, by prior and by correlation."""
    heads, columns = list[tuple[str, float]](), list[dict[str, Band]]()
    for horizon in (h for h in horizons if h <= reached_budget(results, scope)):
        for title, group in _ranked_groups(results, scope, correlations):
            heads.append((title, horizon))
            columns.append(rank_curves(group, np.array([horizon]))[1])
    if not columns:
        return None
    rows, numbers = [], list[Sequence[object]]()
    for (title, horizon), column in zip(heads, columns, strict=True):
        means = [float(band.mean[0]) for band in column.values()]
        best = min(filter(np.isfinite, means), default=None)
        cells = [
            Cell(
                f"{_rank_text(band.mean[0])} ({_rank_text(band.sem[0])})",
                bold=bool(band.mean[0] == best),
            )
            for band in column.values()
        ]
        rows.append([Cell(f"{horizon:g}x"), Cell(title), *cells])
        for method, band in column.items():
            values = [_rank_text(value, 6, "") for value in (band.mean[0], band.sem[0])]
            numbers.append([f"{horizon:g}", title, method, *values])
    caption = "Mean relative ranks at the horizons (standard error over seeds); lower is better"
    fields = ("horizon", "group", "method", "mean_rank", "se")
    titles = ["budget", "benchmarks and priors", *map(display_name, scope.methods)]
    return ReportTable(name, caption, titles, rows, fields, numbers)


def _rank_text(value: float, digits: int = 2, none: str = "–") -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else none


def _ranked_groups(
    results: Results, scope: Scope, correlations: FidelityCorrelations
) -> Iterator[tuple[str, CurveGroup]]:
    """The groups that have runs with all of the priors in their titles."""
    for title, entries, priors in _groups(results.ranked_benchmarks, correlations):
        by_prior = [
            results.group(
                scope.rules, scope.methods, benchmark_prior_pairs(entries, [prior]), scope.workers
            )
            for prior in priors
        ]
        if all(by_prior):
            pairs = benchmark_prior_pairs(entries, priors)
            yield title, results.group(scope.rules, scope.methods, pairs, scope.workers)


def _groups(
    entries: Sequence[CatalogueEntry], correlations: FidelityCorrelations
) -> list[tuple[str, Sequence[CatalogueEntry], Sequence[str]]]:
    groups: list[tuple[str, Sequence[CatalogueEntry], Sequence[str]]] = [
        ("good and bad priors", entries, ("good", "bad")),
        ("all three priors", entries, QUALITIES),
        *((f"{quality} prior", entries, (quality,)) for quality in QUALITIES),
    ]
    for correlation in ("high", "low"):
        members = [
            entry
            for entry in entries
            if entry.name in correlations
            and correlations[entry.name].correlation_class == correlation
        ]
        for quality in ("good", "bad"):
            groups.append((f"{correlation} correlation, {quality} prior", members, (quality,)))
    return [group for group in groups if group[1]]


def regret_figures(
    results: Results, scope: Scope, name: str, marks: tuple[float, ...]
) -> list[Figure]:
    """Normalised regret over the budget on each benchmark, one figure per prior."""
    horizon = reached_budget(results, scope)
    figures = []
    for prior in QUALITIES:
        panels = []
        shown = [("all benchmarks", results.ranked_benchmarks)]
        shown += [(entry.title, [entry]) for entry in results.benchmarks]
        for title, entries in shown:
            pairs = benchmark_prior_pairs(entries, [prior])
            group: CurveGroup = results.group(scope.rules, scope.methods, pairs, scope.workers)
            if group:
                grid, bands = regret_curves(group, horizon, figure_axis(horizon), 1.0)
                note = _size_text(group) if len(pairs) > 1 else ""
                panels.append(Panel(title, _lines(grid, bands), marks, note=note))
        if panels:
            frame = Frame(
                _budget_label(scope), "normalised regret", log_y=True, y_limits=(1e-2, 1.0)
            )
            caption = (
                f"Normalised regret with {prior} priors, mean and standard error over seeds: 0 is "
                "the best and 1 the worst loss after full training of any incumbent of the methods "
                "shown on the benchmark."
            )
            titles = _benchmark_titles(results, scope)
            if titles:
                caption += f" The first panel is the mean over {titles}."
            figure = f"{name}-{prior}"
            figures.append(Figure(figure, caption, curves(panels, frame, figure)))
    return figures


def _lines(
    grid: np.ndarray[tuple[int, ...], np.dtype[np.float64]], bands: dict[str, Band]
) -> tuple[Line, ...]:
    return tuple(Line(method, grid, band.mean, band.sem) for method, band in bands.items())


def _budget_label(scope: Scope) -> str:
    each = "" if scope.workers == 1 else f" for each of {scope.workers} workers"
    return f"budget in full trainings{each}"
