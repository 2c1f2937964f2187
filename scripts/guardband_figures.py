"""Draw the figures of docs/guardband.md, and print its tables, from runs of the preset `beyond`.

    priorband bench run --preset beyond --data DATA --results RESULTS
    .venv/bin/python scripts/guardband_figures.py --data DATA --results RESULTS

The figures are docs/figures/guardband-regret.svg and docs/figures/guardband-chances.svg. The second
one is made of new runs on a Hartmann function, which take a few seconds.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from priorband.analysis.paired import ALL_PRIORS, CellName, Comparison
from priorband.analysis.shares import mean_shares, trial_shares
from priorband.benchmarks.hartmann import Hartmann
from priorband.benchmarks.priors import benchmark_prior
from priorband.experiments import beyond
from priorband.experiments.cases import FIRST_CONFIRMATION_SEED, PRIORS
from priorband.experiments.regret_scales import regret_scales
from priorband.experiments.report.regret_points import RegretPoints
from priorband.experiments.report.results import Results
from priorband.experiments.result_store import ResultStore
from priorband.plots.drawing.curves import Frame, Line, Panel, curves
from priorband.study import Study
from priorband.workers.simulation import simulate

ROOT = Path(__file__).parents[1]
SHOWN = ("hyperband", "priorband", "guardband", "guardband+bo")
GRID = tuple(float(x) for x in np.round(np.geomspace(1, 20, 24), 3))
TITLES = {
    "near-optimum": "prior near the optimum",
    "good": "good prior",
    "bad": "bad prior",
    "random": "prior with a random centre",
    "flat": "no prior",
}


def regret_figure(results: Results, points: RegretPoints) -> str:
    """Mean regret over the budget by prior, with its standard error between benchmarks."""
    names = [entry.name for entry in results.benchmarks]
    panels = []
    for prior in PRIORS:
        lines = []
        for method in SHOWN:
            rows = [_by_benchmark(points, method, prior, horizon, names) for horizon in GRID]
            mean = np.array([row.mean() for row in rows])
            error = np.array([row.std(ddof=1) / np.sqrt(len(row)) for row in rows])
            lines.append(Line(method, np.array(GRID), mean, error))
        panels.append(Panel(TITLES[prior], tuple(lines)))
    frame = Frame("full trainings", "mean regret", columns=3, log_y=True)
    return curves(panels, frame, "guardband-regret")


def _by_benchmark(
    points: RegretPoints, method: str, prior: str, horizon: float, names: Sequence[str]
) -> np.ndarray:
    scores = points.scores(method, prior, horizon, names)
    return np.array([np.mean(list(runs.values())) for runs in scores.values()])


def chances_figure(seeds: int = 30) -> str:
    """The probabilities of the three sources over the budget of guardband, by prior."""
    panels, grid = [], np.linspace(0, 12, 97)
    for quality in ("good", "bad"):
        runs = []
        for seed in range(seeds):
            benchmark = Hartmann(3, "good", seed)
            prior = benchmark_prior(benchmark, quality, seed)
            study = Study(benchmark.space, benchmark.fidelity, "guardband", seed, prior)
            simulate(study, benchmark, budget=12)
            runs.append(trial_shares(study))
        bands = mean_shares(runs, grid)
        lines = [Line(part, grid, band.mean, band.sem) for part, band in bands.items()]
        panels.append(Panel(TITLES[quality], tuple(lines)))
    frame = Frame("full trainings", "probability", columns=2, y_limits=(0, 1))
    return curves(panels, frame, "guardband-chances")


def mean_table(points: RegretPoints, names: Sequence[str]) -> Iterator[str]:
    """Mean regret of each method by prior at all horizons."""
    yield "| prior | " + " | ".join(f"`{method}`" for method in SHOWN) + " |"
    yield "|---" * (len(SHOWN) + 1) + "|"
    for prior in PRIORS:
        cells = []
        for method in SHOWN:
            rows = [_by_benchmark(points, method, prior, h, names) for h in beyond.HORIZONS]
            cells.append(" ".join(f"{row.mean():.0f}" for row in rows))
        yield f"| {prior} | {' | '.join(cells)} |"


def pair_table(
    points: RegretPoints, ours: str, others: Sequence[str], names: Sequence[str]
) -> Iterator[str]:
    """Differences with standard errors, and ratios, of one method against others."""
    yield "| against | prior | " + " | ".join(f"{h:g}x" for h in points.horizons) + " |"
    yield "|---" * (len(points.horizons) + 2) + "|"
    cells = points.comparisons(ours, others, names)
    for other in others:
        for prior in (*PRIORS, ALL_PRIORS):
            found = [cells.get(CellName(other, prior, h)) for h in points.horizons]
            if any(found):
                yield f"| `{other}` | {prior} | {' | '.join(map(_cell, found))} |"


def ablation_table(
    points: RegretPoints, ours: str, parts: Sequence[str], names: Sequence[str]
) -> Iterator[str]:
    """Differences from 2 trainings on; those of at least two standard errors are bold."""
    priors = (*PRIORS, ALL_PRIORS)
    yield "| without | " + " | ".join(priors) + " |"
    yield "|---" * (len(priors) + 1) + "|"
    cells = points.comparisons(ours, parts, names)
    for part in parts:
        texts = [
            " ".join(_short(cells.get(CellName(part, prior, h))) for h in points.horizons[1:])
            for prior in priors
        ]
        yield f"| `{part}` | {' | '.join(texts)} |"


def _short(cell: Comparison | None) -> str:
    if cell is None:
        return "–"
    text = f"{cell.difference:+.1f}".replace("-0.0", "0.0").replace("+0.0", "0.0")
    return f"**{text}**" if cell.clearly_better or cell.clearly_worse else text


def _cell(cell: Comparison | None) -> str:
    if cell is None:
        return ""
    return f"{cell.difference:+.1f} ± {cell.se:.1f} ({cell.ratio:.2f}, {cell.wins}:{cell.losses})"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    options = parser.parse_args()
    records = ResultStore(options.results).records.values()
    results = Results(r for r in records if r.case.seed >= FIRST_CONFIRMATION_SEED)
    scales = regret_scales(results.benchmarks, options.data, options.results)
    figures = ROOT / "docs/figures"
    (figures / "guardband-regret.svg").write_text(
        regret_figure(results, RegretPoints(results, scales, GRID))
    )
    (figures / "guardband-chances.svg").write_text(chances_figure())
    points = RegretPoints(results, scales, beyond.HORIZONS)
    names = [entry.name for entry in results.benchmarks]
    unseen = [name for name in names if name in beyond.CONFIRMATION_BENCHMARKS]
    for title, group in (("all", names), ("never used in choosing", unseen)):
        print(f"\n## Mean regret, {title}: {len(group)} benchmarks\n")
        print(*mean_table(points, group), sep="\n")
        for ours in ("guardband", "guardband+bo"):
            print(f"\n## {ours}, {title}\n")
            print(*pair_table(points, ours, ("priorband", "hyperband"), group), sep="\n")
    for ours, parts in (
        ("guardband", beyond.GUARDBAND_ABLATIONS),
        ("guardband+bo", beyond.GUARDBAND_BO_ABLATIONS),
    ):
        print(f"\n## Ablations of {ours}\n")
        print(*ablation_table(points, ours, parts, names), sep="\n")


if __name__ == "__main__":
    main()
