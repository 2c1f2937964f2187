"""Methods against each other: mean relative ranks and normalised regret over budget."""

from collections.abc import Iterator, Sequence

import numpy as np

from priorband.analysis.groups import CurveGroup
from priorband.analysis.ranks import rank_curves
from priorband.analysis.regret import regret_curves
from priorband.analysis.summary import Array, Band
from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.figures.curves import Frame, Line, Panel, curves
from priorband.experiments.figures.style import display_name
from priorband.experiments.report.blocks import Cell, Figure, ReportTable
from priorband.experiments.report.fidelities import Rankings
from priorband.experiments.report.results import Results, places
from priorband.experiments.report.tables import Scope

_POINTS = 400


def axis(horizon: float, start: float = 1.0) -> Array:
    """The budgets of a figure."""
    return np.linspace(start, horizon, _POINTS)


def reach(results: Results, scope: Scope) -> float:
    """The budget that all runs of a scope reached."""
    return min(map(results.reach, filter(scope.holds, results.records)), default=0.0)


def rank_figure(
    results: Results, scope: Scope, found: Rankings, name: str, marks: tuple[float, ...]
) -> Figure | None:
    """Mean relative ranks over budget, by prior and by correlation."""
    horizon = reach(results, scope)
    panels = []
    for title, group in _ranked(results, scope, found):
        grid, bands = rank_curves(group, axis(horizon))
        panels.append(Panel(title, _lines(grid, bands), marks, note=_extent(group)))
    if not panels:
        return None
    frame = Frame(_budget(scope), "mean relative rank")
    caption = (
        "Mean relative rank among the methods shown, lower is better, mean and standard error over "
        "seeds. A cell is a benchmark under a prior. Dotted lines mark the horizons of the tables. "
        f"Benchmarks: {_among(results, scope)}."
    )
    return Figure(name, caption, curves(panels, frame, name))


def _extent(group: CurveGroup) -> str:
    """How many cells and seeds a group has."""
    cells = next(iter(group.values()))
    seeds = len(next(iter(cells.values())))
    return f"{len(cells)} cell{'s' * (len(cells) > 1)}, {seeds} seed{'s' * (seeds > 1)}"


def _among(results: Results, scope: Scope) -> str:
    """The titles of the benchmarks that methods are ranked on."""
    ran = {cell[1] for cell in results.records if scope.holds(cell)}
    return ", ".join(entry.title for entry in results.compared if entry.name in ran)


def rank_table(
    results: Results, scope: Scope, found: Rankings, name: str, horizons: Sequence[float]
) -> ReportTable | None:
    """Mean relative ranks at the horizons, by prior and by correlation."""
    heads, columns = list[tuple[str, float]](), list[dict[str, Band]]()
    for horizon in (h for h in horizons if h <= reach(results, scope)):
        for title, group in _ranked(results, scope, found):
            heads.append((title, horizon))
            columns.append(rank_curves(group, np.array([horizon]))[1])
    if not columns:
        return None
    rows, numbers = [], list[Sequence[object]]()
    for (title, horizon), column in zip(heads, columns, strict=True):
        means = [float(band.mean[0]) for band in column.values()]
        best = min(filter(np.isfinite, means), default=None)
        cells = [
            Cell(f"{_rank(band.mean[0])} ({_rank(band.sem[0])})", bold=bool(band.mean[0] == best))
            for band in column.values()
        ]
        rows.append([Cell(f"{horizon:g}x"), Cell(title), *cells])
        for method, band in column.items():
            values = [_rank(value, 6, "") for value in (band.mean[0], band.sem[0])]
            numbers.append([f"{horizon:g}", title, method, *values])
    caption = "Mean relative ranks at the horizons (standard error over seeds); lower is better"
    fields = ("horizon", "group", "method", "mean_rank", "se")
    titles = ["budget", "benchmarks and priors", *map(display_name, scope.methods)]
    return ReportTable(name, caption, titles, rows, fields, numbers)


def _rank(value: float, digits: int = 2, none: str = "–") -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else none


def _ranked(results: Results, scope: Scope, found: Rankings) -> Iterator[tuple[str, CurveGroup]]:
    """The groups that hold runs under each of the priors that their titles name."""
    for title, entries, priors in _groups(results.compared, found):
        by_prior = [
            results.group(scope.rules, scope.methods, places(entries, [prior]), scope.workers)
            for prior in priors
        ]
        if all(by_prior):
            where = places(entries, priors)
            yield title, results.group(scope.rules, scope.methods, where, scope.workers)


def _groups(
    entries: Sequence[CatalogueEntry], found: Rankings
) -> list[tuple[str, Sequence[CatalogueEntry], Sequence[str]]]:
    groups: list[tuple[str, Sequence[CatalogueEntry], Sequence[str]]] = [
        ("good and bad priors", entries, ("good", "bad")),
        ("all three priors", entries, QUALITIES),
        *((f"{quality} prior", entries, (quality,)) for quality in QUALITIES),
    ]
    for kind in ("high", "low"):
        some = [e for e in entries if e.name in found and found[e.name].kind == kind]
        for quality in ("good", "bad"):
            groups.append((f"{kind} correlation, {quality} prior", some, (quality,)))
    return [group for group in groups if group[1]]


def regret_figures(
    results: Results, scope: Scope, name: str, marks: tuple[float, ...]
) -> list[Figure]:
    """Normalised regret over budget on each benchmark, a figure for each prior."""
    horizon = reach(results, scope)
    made = []
    for prior in QUALITIES:
        panels = []
        each = [(entry.title, places([entry], [prior])) for entry in results.benchmarks]
        for title, where in [("all benchmarks", places(results.compared, [prior])), *each]:
            group: CurveGroup = results.group(scope.rules, scope.methods, where, scope.workers)
            if group:
                grid, bands = regret_curves(group, horizon, axis(horizon), 1.0)
                note = _extent(group) if len(where) > 1 else ""
                panels.append(Panel(title, _lines(grid, bands), marks, note=note))
        if panels:
            frame = Frame(_budget(scope), "normalised regret", log_y=True, y_limits=(1e-2, 1.0))
            caption = (
                f"Normalised regret under {prior} priors, mean and standard error over seeds: 0 is "
                "the best and 1 the worst loss after full training that any method shown had as "
                "its incumbent on the benchmark. The first panel is the mean over "
                f"{_among(results, scope)}."
            )
            figure = f"{name}-{prior}"
            made.append(Figure(figure, caption, curves(panels, frame, figure)))
    return made


def _lines(
    grid: np.ndarray[tuple[int, ...], np.dtype[np.float64]], bands: dict[str, Band]
) -> tuple[Line, ...]:
    return tuple(Line(method, grid, band.mean, band.sem) for method, band in bands.items())


def _budget(scope: Scope) -> str:
    each = "" if scope.workers == 1 else f" for each of {scope.workers} workers"
    return f"budget in full trainings{each}"
