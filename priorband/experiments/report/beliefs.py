"""Priors at work: how good they are, and how much PriorBand comes to trust them."""

from collections.abc import Sequence

import numpy as np

from priorband.analysis.shares import mean_shares, trial_shares
from priorband.benchmarks.base import Array, Benchmark
from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.cases import Case
from priorband.experiments.figures.curves import Frame, Line, Panel, curves
from priorband.experiments.figures.violins import Group, ViolinPanel, violins
from priorband.experiments.presets import ILLUSTRATIONS
from priorband.experiments.record import opened
from priorband.experiments.report.blocks import Figure, Section
from priorband.experiments.report.comparing import axis
from priorband.experiments.report.results import Results
from priorband.experiments.rules import Centres, centre_of, setting
from priorband.experiments.running import Places
from priorband.space.prior import Prior
from priorband.streams import generator

_DRAWS, _SEEDS = 500, 25


def belief_section(results: Results, places: Places, centres: Centres) -> Section | None:
    """The violins, and the three probabilities over time."""
    here = [entry for entry in results.benchmarks if not entry.missing(places.data)]
    figures = [*_violins(here, places, centres), *_share_figures(results, here, places, centres)]
    if not figures:
        return None
    return Section(
        "Priors: how good they are, and how far they are trusted",
        [
            "The violins show the losses after full training of uniform draws and of draws from "
            "the priors that the paper defines. The chances are those with which PriorBand chose "
            "among its three sources for each new configuration, made again from the records of "
            "the runs.",
        ],
        figures,
    )


def _violins(here: Sequence[CatalogueEntry], places: Places, centres: Centres) -> list[Figure]:
    panels = []
    for entry in here:
        rules = next((r for r in ("paper", "published") if f"{r}/{entry.name}" in centres), None)
        if rules is None:
            continue
        benchmark = entry.make(places.data)
        uniform = benchmark.space.uniform(_DRAWS, np.random.default_rng(0))
        groups = [Group("uniform", _losses(benchmark, uniform))]
        for quality in QUALITIES:
            cases = [
                Case(rules, entry.name, quality, "priorband", 1, seed, 1.0)
                for seed in range(_SEEDS)
            ]
            drawn = np.concatenate(
                [_drawn(setting(c, benchmark, centres).study.prior, c.seed) for c in cases]
            )
            modes = [benchmark.space.check(centre_of(c, benchmark.space, centres)) for c in cases]
            mark = float(np.median(benchmark.evaluate_many(modes, benchmark.fidelity.high)))
            groups.append(Group(quality.replace("-", " "), _losses(benchmark, drawn), mark))
        panels.append(ViolinPanel(entry.title, tuple(groups)))
    if not panels:
        return []
    caption = (
        "Losses after full training of draws from each prior and of uniform draws. The mark is the "
        "loss of the prior's own mode, over seeds the median: a near-optimum prior has another for "
        "each seed."
    )
    return [Figure("priors", caption, violins(panels, "loss after full training", name="priors"))]


def _drawn(prior: Prior, seed: int) -> Array:
    count = _DRAWS // _SEEDS
    return np.array([prior.sample(generator(seed, k, "violins")) for k in range(count)])


def _losses(benchmark: Benchmark, rows: Array) -> Array:
    configs = [benchmark.space.config(row) for row in rows.tolist()]
    return benchmark.evaluate_many(configs, benchmark.fidelity.high)


def _share_figures(
    results: Results, here: Sequence[CatalogueEntry], places: Places, centres: Centres
) -> list[Figure]:
    made = []
    shown = [entry for entry in here if entry.name in ILLUSTRATIONS]
    others = [entry for entry in here if entry.name not in ILLUSTRATIONS]
    for name, entries in (("chances-hartmann", shown), ("chances", others)):
        panels = [
            panel
            for entry in entries
            for quality in ("good", "bad")
            if (panel := _share_panel(results, entry, quality, places, centres)) is not None
        ]
        if panels:
            frame = Frame("budget in full trainings", "probability", 4, y_limits=(0.0, 1.0))
            caption = (
                "With which probabilities PriorBand drew new configurations from its three sources "
                "under good and bad priors, mean and standard error over seeds. They jump where a "
                "bracket begins: the higher its first rung, the less is drawn uniformly."
            )
            made.append(Figure(name, caption, curves(panels, frame, name)))
    return made


def _share_panel(
    results: Results, entry: CatalogueEntry, quality: str, places: Places, centres: Centres
) -> Panel | None:
    cell = results.cell("paper", entry.name, quality, "priorband")
    records = list(results.records.get(cell, {}).values())[:_SEEDS]
    if not records:
        return None
    benchmark = entry.make(places.data)
    runs = [trial_shares(opened(record, benchmark, centres)) for record in records]
    grid = axis(results.reach(cell), 0.0)
    bands = mean_shares(runs, grid)
    lines = tuple(Line(part, grid, band.mean, band.sem) for part, band in bands.items())
    return Panel(f"{entry.title}, {quality} prior", lines)
