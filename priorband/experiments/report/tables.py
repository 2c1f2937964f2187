"""Final performance: what methods reach at a horizon, beside the cell that the paper prints."""

import math
from collections.abc import Iterable, Sequence
from typing import final

from priorband.analysis.curves import value_at
from priorband.analysis.summary import Summary, difference_in_se, summarised
from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.cases import BLIND
from priorband.experiments.figures.style import display_name
from priorband.experiments.paper import Place, Printed
from priorband.experiments.report.blocks import Cell, ReportTable
from priorband.experiments.report.results import Cell as Where
from priorband.experiments.report.results import Results
from priorband.values import frozen

CALLED = {
    "published": "the published rules",
    "authors": "the text around the authors' configurations",
    "paper": "the paper's text",
}
"""What the rules are called."""
_LAST_DIGIT = 1e-3
"""Of what the paper prints."""
FIELDS = (
    *("rules", "workers", "horizon", "prior", "benchmark", "stand_in", "method"),
    *("mean", "sd", "se", "seeds", "missing", "failed", "best"),
    *("published_mean", "published_sd", "published_seeds", "difference_in_se"),
)


@final
@frozen
class Measured:
    """A cell of ours, and the paper's where it prints one."""

    benchmark: CatalogueEntry
    prior: str
    method: str
    horizon: float
    ours: Summary
    printed: Printed | None

    @property
    def apart(self) -> float:
        """How far it lies from the printed one, in standard errors of both; nan without any."""
        if self.printed is None or self.alike is not None:
            return math.nan
        return difference_in_se(self.ours, self.printed.mean, self.printed.sd, self.printed.seeds)

    @property
    def alike(self) -> bool | None:
        """Whether means agree to the printed digits where neither has a spread; None with one."""
        if self.printed is None or not max(self.ours.sd, self.printed.sd) < _LAST_DIGIT:
            return None
        return abs(self.ours.mean - self.printed.mean) <= 0.5 * _LAST_DIGIT + 1e-9


@final
@frozen
class Scope:
    """Which runs a table shows: under these rules, with so many workers."""

    rules: str
    methods: Sequence[str]
    workers: int = 1

    def holds(self, cell: Where) -> bool:
        """Whether it shows the runs of a cell."""
        rules, _, _, method, workers = cell
        return (rules, workers) == (self.rules, self.workers) and method in self.methods


def measured(
    results: Results, printed: dict[Place, Printed], scope: Scope, horizon: float
) -> list[Measured]:
    """All cells of a table: each benchmark under each prior, a cell for each method that ran."""
    found = []
    for benchmark in results.benchmarks:
        for prior in QUALITIES:
            for method in scope.methods:
                cell = results.cell(scope.rules, benchmark.name, prior, method, scope.workers)
                if results.reach(cell) >= horizon:
                    values = [value_at(curve, horizon) for curve in results.curves(cell).values()]
                    ours = summarised(values)
                    place = Place(
                        benchmark.paper_name or "",
                        prior,
                        display_name(method),
                        horizon,
                        scope.workers,
                    )
                    theirs = printed.get(place)
                    found.append(Measured(benchmark, prior, method, horizon, ours, theirs))
    return found


def performance(name: str, caption: str, scope: Scope, cells: Sequence[Measured]) -> ReportTable:
    """A table with a row for each benchmark and prior, and a column for each method."""
    rows, methods = _rows(cells), [m for m in scope.methods if m in {c.method for c in cells}]
    made = []
    for (_, prior), row in rows.items():
        best = _best(row.values())
        texts = [_shown(row.get(method), best) for method in methods]
        title = next(iter(row.values())).benchmark.title
        made.append([Cell(title), Cell(prior), *texts])
    heads = ["benchmark", "prior", *map(display_name, methods)]
    return ReportTable(
        name, caption, heads, made, FIELDS, [_numbers(scope, c, rows) for c in cells]
    )


_Row = dict[str, Measured]


def _rows(cells: Sequence[Measured]) -> dict[tuple[str, str], _Row]:
    rows: dict[tuple[str, str], _Row] = {}
    for cell in cells:
        rows.setdefault((cell.benchmark.name, cell.prior), {})[cell.method] = cell
    return rows


def _best(row: Iterable[Measured]) -> float:
    """The lowest mean of those that every run has part in."""
    return min((cell.ours.mean for cell in row if cell.ours.complete), default=math.nan)


def _shown(cell: Measured | None, best: float) -> Cell:
    if cell is None:
        return Cell("")
    below = ""
    if cell.printed is not None:
        below = f"paper {number(cell.printed.mean)} ± {number(cell.printed.sd)}"
        below += "" if math.isnan(cell.apart) else f", {cell.apart:+.1f} se"
    return Cell(told(cell.ours), below, cell.ours.complete and cell.ours.mean == best)


def told(ours: Summary) -> str:
    """Mean ± standard deviation (standard error), and how many runs had no value, or a failed one.

    >>> told(summarised([1.0, 2.0, 3.0, math.nan]))
    '2.000 ± 1.000 (0.577), 1 missing'
    """
    text = f"{number(ours.mean)} ± {number(ours.sd)} ({number(ours.sem)})"
    text += f", {ours.missing} missing" if ours.missing else ""
    return f"{text}, {ours.failed} failed" if ours.failed else text


def _numbers(scope: Scope, cell: Measured, rows: dict[tuple[str, str], _Row]) -> list[object]:
    best = _best(rows[cell.benchmark.name, cell.prior].values())
    ours, theirs = cell.ours, cell.printed
    about = [scope.rules, scope.workers, f"{cell.horizon:g}", cell.prior]
    about += [cell.benchmark.title, int(cell.benchmark.is_stand_in)]
    own = [
        cell.method,
        *map(full, (ours.mean, ours.sd, ours.sem)),
        ours.n,
        ours.missing,
        ours.failed,
    ]
    paper = ["", "", "", ""]
    if theirs is not None:
        paper = [f"{theirs.mean:g}", f"{theirs.sd:g}", str(theirs.seeds), distance(cell.apart)]
    return [*about, *own, int(ours.complete and ours.mean == best), *paper]


def agreement(cells: Sequence[Measured]) -> tuple[int, int, int]:
    """How many cells lie within one and within two standard errors of the paper's, and of how many.

    A method that ignores the prior has one cell where the paper prints the same under every prior.
    Cells without a distance, as those of a single run, do not count.
    """
    apart: dict[tuple[object, ...], float] = {}
    for cell in cells:
        if not math.isnan(cell.apart):
            alike = cell.printed if cell.method in BLIND else cell.prior
            key = cell.benchmark.name, cell.method, alike, cell.ours.mean, cell.horizon
            apart[key] = abs(cell.apart)
    distances = apart.values()
    return sum(d <= 1 for d in distances), sum(d <= 2 for d in distances), len(distances)


def agreed(cells: Sequence[Measured]) -> str:
    """How many cells agree with the printed ones, in words."""
    one, two, of = agreement(cells)
    bare = [cell.alike for cell in cells if cell.alike is not None]
    text = f"{one} of {of} printed cells within one standard error, {two} within two"
    if bare:
        text += f"; of {len(bare)} without any spread {sum(bare)} agree to the printed digits"
    return f"{text}."


def seeds(cells: Sequence[Measured]) -> str:
    """How many seeds cells have, in words."""
    counts = sorted({c.ours.n + c.ours.missing + c.ours.failed for c in cells})
    few, many = counts[0], counts[-1]
    return f"{many} seed{'s' * (many != 1)}" if few == many else f"{few} to {many} seeds a cell"


def number(value: float) -> str:
    """Three digits behind the point, as the paper prints; none of a number that is not there.

    >>> number(0.0456), number(12.3), number(float("nan"))
    ('0.046', '12.300', '–')
    """
    return f"{value:.3f}" if math.isfinite(value) else "–"


def full(value: float) -> str:
    """A number for machines; empty where it is not there."""
    return repr(round(value, 9)) if math.isfinite(value) else ""


def distance(apart: float) -> str:
    """A difference in standard errors, for machines; empty where there are none."""
    return "" if math.isnan(apart) else f"{apart:.3f}"
