"""Tables of the loss that methods reach at a horizon, with the cells that the paper prints."""

import math
from collections.abc import Iterable, Sequence
from typing import final

from priorband.analysis.curves import value_at
from priorband.analysis.summary import Summary, difference_in_se, summarised
from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.cases import PRIOR_FREE_METHODS
from priorband.experiments.paper_results import PaperCell, PaperCellKey
from priorband.experiments.report.blocks import Cell, ReportTable
from priorband.experiments.report.results import CellKey, Results
from priorband.plots.drawing.style import display_name
from priorband.values import frozen

RULES_TITLES = {
    "published": "the published rules",
    "authors": "the paper's text with the authors' prior configurations",
    "paper": "the paper's text",
}
"""The names of the rules in the report."""
_LAST_DIGIT = 1e-3
"""The last digit of the paper's tables."""
FIELDS = (
    *("rules", "workers", "horizon", "prior", "benchmark", "stand_in", "method"),
    *("mean", "sd", "se", "seeds", "missing", "failed", "best"),
    *("published_mean", "published_sd", "published_seeds", "difference_in_se"),
)


@final
@frozen
class MeasuredCell:
    """A cell of our results, with the paper's cell if it prints one."""

    benchmark: CatalogueEntry
    prior: str
    method: str
    horizon: float
    ours: Summary
    printed: PaperCell | None

    @property
    def difference_in_se(self) -> float:
        """Our mean minus the printed one, in standard errors; nan if there are none."""
        if self.printed is None or self.means_agree is not None:
            return math.nan
        return difference_in_se(self.ours, self.printed.mean, self.printed.sd, self.printed.seeds)

    @property
    def means_agree(self) -> bool | None:
        """Whether the means agree to the printed digits; None unless both cells have no spread."""
        if self.printed is None or not max(self.ours.sd, self.printed.sd) < _LAST_DIGIT:
            return None
        return abs(self.ours.mean - self.printed.mean) <= 0.5 * _LAST_DIGIT + 1e-9


@final
@frozen
class Scope:
    """The runs in a table: their rules, methods and number of workers."""

    rules: str
    methods: Sequence[str]
    workers: int = 1

    def includes(self, cell: CellKey) -> bool:
        """Whether a cell belongs to the table."""
        rules, _, _, method, workers = cell
        return (rules, workers) == (self.rules, self.workers) and method in self.methods


def measured_cells(
    results: Results, printed: dict[PaperCellKey, PaperCell], scope: Scope, horizon: float
) -> list[MeasuredCell]:
    """All cells of a table: one per benchmark, prior and method that ran."""
    cells = []
    for benchmark in results.benchmarks:
        for prior in QUALITIES:
            for method in scope.methods:
                key = results.cell_key(scope.rules, benchmark.name, prior, method, scope.workers)
                if results.reached_budget(key) >= horizon:
                    values = [value_at(curve, horizon) for curve in results.curves(key).values()]
                    ours = summarised(values)
                    paper_key = PaperCellKey(
                        benchmark.paper_name or "",
                        prior,
                        display_name(method),
                        horizon,
                        scope.workers,
                    )
                    theirs = printed.get(paper_key)
                    cells.append(MeasuredCell(benchmark, prior, method, horizon, ours, theirs))
    return cells


def performance_table(
    name: str, caption: str, scope: Scope, cells: Sequence[MeasuredCell]
) -> ReportTable:
    """A table with one row per benchmark and prior, and one column per method."""
    rows, methods = _rows(cells), [m for m in scope.methods if m in {c.method for c in cells}]
    table_rows = []
    for (_, prior), row in rows.items():
        best = _best(row.values())
        texts = [_table_cell(row.get(method), best) for method in methods]
        title = next(iter(row.values())).benchmark.title
        table_rows.append([Cell(title), Cell(prior), *texts])
    heads = ["benchmark", "prior", *map(display_name, methods)]
    return ReportTable(
        name, caption, heads, table_rows, FIELDS, [_csv_row(scope, c, rows) for c in cells]
    )


_Row = dict[str, MeasuredCell]


def _rows(cells: Sequence[MeasuredCell]) -> dict[tuple[str, str], _Row]:
    rows: dict[tuple[str, str], _Row] = {}
    for cell in cells:
        rows.setdefault((cell.benchmark.name, cell.prior), {})[cell.method] = cell
    return rows


def _best(row: Iterable[MeasuredCell]) -> float:
    """The lowest mean of the cells in which all runs have a value."""
    return min((cell.ours.mean for cell in row if cell.ours.complete), default=math.nan)


def _table_cell(cell: MeasuredCell | None, best: float) -> Cell:
    if cell is None:
        return Cell("")
    below = ""
    if cell.printed is not None:
        below = f"paper {rounded_text(cell.printed.mean)} ± {rounded_text(cell.printed.sd)}"
        below += "" if math.isnan(cell.difference_in_se) else f", {cell.difference_in_se:+.1f} se"
    return Cell(summary_text(cell.ours), below, cell.ours.complete and cell.ours.mean == best)


def summary_text(ours: Summary) -> str:
    """Mean ± standard deviation (standard error), and the numbers of missing and failed runs.

    >>> summary_text(summarised([1.0, 2.0, 3.0, math.nan]))
    '2.000 ± 1.000 (0.577), 1 missing'
    """
    text = f"{rounded_text(ours.mean)} ± {rounded_text(ours.sd)} ({rounded_text(ours.sem)})"
    text += f", {ours.missing} missing" if ours.missing else ""
    return f"{text}, {ours.failed} failed" if ours.failed else text


def _csv_row(scope: Scope, cell: MeasuredCell, rows: dict[tuple[str, str], _Row]) -> list[object]:
    best = _best(rows[cell.benchmark.name, cell.prior].values())
    ours, theirs = cell.ours, cell.printed
    about = [scope.rules, scope.workers, f"{cell.horizon:g}", cell.prior]
    about += [cell.benchmark.title, int(cell.benchmark.is_stand_in)]
    own = [
        cell.method,
        *map(csv_number, (ours.mean, ours.sd, ours.sem)),
        ours.n,
        ours.missing,
        ours.failed,
    ]
    paper = ["", "", "", ""]
    if theirs is not None:
        paper = [
            f"{theirs.mean:g}",
            f"{theirs.sd:g}",
            str(theirs.seeds),
            csv_difference(cell.difference_in_se),
        ]
    return [*about, *own, int(ours.complete and ours.mean == best), *paper]


def agreement(cells: Sequence[MeasuredCell]) -> tuple[int, int, int]:
    """The number of cells within one and two standard errors of the paper's, and of all cells.

    A method that ignores the prior counts once for all priors with the same printed cell. Cells
    without a standard error, such as those of a single run, do not count.
    """
    differences: dict[tuple[object, ...], float] = {}
    for cell in cells:
        if not math.isnan(cell.difference_in_se):
            group = cell.printed if cell.method in PRIOR_FREE_METHODS else cell.prior
            key = cell.benchmark.name, cell.method, group, cell.ours.mean, cell.horizon
            differences[key] = abs(cell.difference_in_se)
    values = differences.values()
    return sum(d <= 1 for d in values), sum(d <= 2 for d in values), len(values)


def agreement_text(cells: Sequence[MeasuredCell]) -> str:
    """How many cells agree with the printed ones, as text."""
    within_one, within_two, total = agreement(cells)
    without_spread = [cell.means_agree for cell in cells if cell.means_agree is not None]
    text = (
        f"{within_one} of {total} printed cells within one standard error, {within_two} within two"
    )
    if without_spread:
        text += (
            f"; of {len(without_spread)} without any spread, {sum(without_spread)} agree to the "
            "printed digits"
        )
    return f"{text}."


def seed_count_text(cells: Sequence[MeasuredCell]) -> str:
    """How many seeds cells have, as text."""
    counts = sorted({c.ours.n + c.ours.missing + c.ours.failed for c in cells})
    few, many = counts[0], counts[-1]
    return f"{many} seed{'s' * (many != 1)}" if few == many else f"{few} to {many} seeds per cell"


def rounded_text(value: float) -> str:
    """A number with three decimals, as the paper prints it; a dash if it is not finite.

    >>> rounded_text(0.0456), rounded_text(12.3), rounded_text(float("nan"))
    ('0.046', '12.300', '–')
    """
    return f"{value:.3f}" if math.isfinite(value) else "–"


def csv_number(value: float) -> str:
    """A number for a CSV file; empty if it is not finite."""
    return repr(round(value, 9)) if math.isfinite(value) else ""


def csv_difference(difference: float) -> str:
    """A difference in standard errors for a CSV file; empty if it is nan."""
    return "" if math.isnan(difference) else f"{difference:.3f}"
