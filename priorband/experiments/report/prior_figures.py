"""Figures about priors: their quality, and how much PriorBand draws from them."""

from collections.abc import Sequence

import numpy as np

from priorband.analysis.shares import mean_shares, trial_shares
from priorband.benchmarks.base import Array, Benchmark
from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.cases import Case
from priorband.experiments.presets import HARTMANN_BENCHMARKS
from priorband.experiments.report.blocks import Figure, Section
from priorband.experiments.report.method_comparison import figure_axis
from priorband.experiments.report.results import Results
from priorband.experiments.rules import Centres, case_prior_centre, set_up_case
from priorband.experiments.run_record import recorded_study
from priorband.experiments.runner import Folders
from priorband.plots.drawing.curves import Frame, Line, Panel, curves
from priorband.plots.drawing.violins import Group, ViolinPanel, violins
from priorband.space.prior import Prior
from priorband.streams import generator

_DRAWS, _SEEDS = 500, 25


def prior_section(results: Results, folders: Folders, centres: Centres) -> Section | None:
    """Violins of the priors' losses, and the probabilities of PriorBand's sources over time."""
    available = [entry for entry in results.benchmarks if not entry.missing(folders.data)]
    figures = _violin_figures(available, folders, centres)
    figures += _share_figures(results, available, folders, centres)
    if not figures:
        return None
    return Section(
        "Priors: their quality, and how much PriorBand draws from them",
        [
            "The violins show the losses after full training of uniform draws and of draws from "
            "the paper's priors. The probabilities are those with which PriorBand chose one of "
            "its three sources for each new configuration, computed from the records of the runs.",
        ],
        figures,
    )


def _violin_figures(
    available: Sequence[CatalogueEntry], folders: Folders, centres: Centres
) -> list[Figure]:
    panels = []
    for entry in available:
        rules = next((r for r in ("paper", "published") if f"{r}/{entry.name}" in centres), None)
        if rules is None:
            continue
        benchmark = entry.make(folders.data)
        uniform = benchmark.space.uniform(_DRAWS, np.random.default_rng(0))
        groups = [Group("uniform", _losses(benchmark, uniform))]
        for quality in QUALITIES:
            cases = [
                Case(rules, entry.name, quality, "priorband", 1, seed, 1.0)
                for seed in range(_SEEDS)
            ]
            draws = np.concatenate(
                [_draws(set_up_case(c, benchmark, centres).study.prior, c.seed) for c in cases]
            )
            modes = [
                benchmark.space.check(case_prior_centre(c, benchmark.space, centres)) for c in cases
            ]
            mark = float(np.median(benchmark.evaluate_many(modes, benchmark.fidelity.high)))
            groups.append(Group(quality.replace("-", " "), _losses(benchmark, draws), mark))
        panels.append(ViolinPanel(entry.title, tuple(groups)))
    if not panels:
        return []
    caption = (
        "Losses after full training of draws from each prior and of uniform draws. The mark is the "
        "loss of the prior's mode, or its median over seeds: a near-optimum prior has a different "
        "mode for each seed."
    )
    return [Figure("priors", caption, violins(panels, "loss after full training", name="priors"))]


def _draws(prior: Prior, seed: int) -> Array:
    count = _DRAWS // _SEEDS
    return np.array([prior.sample(generator(seed, k, "violins")) for k in range(count)])


def _losses(benchmark: Benchmark, rows: Array) -> Array:
    configs = [benchmark.space.config(row) for row in rows.tolist()]
    return benchmark.evaluate_many(configs, benchmark.fidelity.high)


def _share_figures(
    results: Results, available: Sequence[CatalogueEntry], folders: Folders, centres: Centres
) -> list[Figure]:
    figures = []
    hartmann = [entry for entry in available if entry.name in HARTMANN_BENCHMARKS]
    others = [entry for entry in available if entry.name not in HARTMANN_BENCHMARKS]
    for name, entries in (("chances-hartmann", hartmann), ("chances", others)):
        panels = [
            panel
            for entry in entries
            for quality in ("good", "bad")
            if (panel := _share_panel(results, entry, quality, folders, centres)) is not None
        ]
        if panels:
            frame = Frame("budget in full trainings", "probability", 4, y_limits=(0.0, 1.0))
            caption = (
                "The probabilities with which PriorBand drew new configurations from its three "
                "sources, with good and bad priors; mean and standard error over seeds. They jump "
                "at the start of a bracket: the higher its first rung, the fewer uniform draws."
            )
            figures.append(Figure(name, caption, curves(panels, frame, name)))
    return figures


def _share_panel(
    results: Results, entry: CatalogueEntry, quality: str, folders: Folders, centres: Centres
) -> Panel | None:
    key = results.cell_key("paper", entry.name, quality, "priorband")
    records = list(results.records.get(key, {}).values())[:_SEEDS]
    if not records:
        return None
    benchmark = entry.make(folders.data)
    runs = [trial_shares(recorded_study(record, benchmark, centres)) for record in records]
    grid = figure_axis(results.reached_budget(key), 0.0)
    bands = mean_shares(runs, grid)
    lines = tuple(Line(part, grid, band.mean, band.sem) for part, band in bands.items())
    return Panel(f"{entry.title}, {quality} prior", lines)
