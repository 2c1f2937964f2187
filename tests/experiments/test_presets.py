"""The runs of each preset."""

from collections import Counter

import pytest

from priorband import Study
from priorband.benchmarks import Hartmann
from priorband.benchmarks.catalogue import catalogue_entries
from priorband.benchmarks.priors import QUALITIES
from priorband.errors import MethodError, SpaceError
from priorband.experiments.cases import NO_PRIOR, PRIORS, CaseGrid, ignores_prior
from priorband.experiments.presets import (
    ABLATIONS,
    HARTMANN_BENCHMARKS,
    PRESETS,
    cases_by_seed,
    preset_grids,
)
from priorband.experiments.rules import published_method
from priorband.named_methods import methods, optimizer
from priorband.space.prior import prior

PAPER_PRESETS = [name for name, preset in PRESETS.items() if not preset.benchmarks]
FIVE = ("lcbench-126026", "lcbench-167190", "lcbench-168330", "lcbench-168910", "lcbench-189906")


def runs(name: str, *benchmarks: str) -> Counter[str]:
    """The number of runs of a preset under each set of rules."""
    return Counter(case.rules for case in cases_by_seed(preset_grids(name, benchmarks)))


@pytest.mark.parametrize(
    ("name", "published", "authors", "paper"),
    [
        # random search and Hyperband once, PriorBand under three priors; 4 Hartmann functions
        ("paper-small", 5 * 10 * (1 + 1 + 3), 5 * 10 * 3, 5 * 10 * 5 + 4 * 3 * 10),
        ("paper-single", 5 * 50 * (2 + 4 * 3), 5 * 50 * 3, 5 * 50 * (2 + 4 * 3) + 4 * 3 * 50),
        # asha, async-hyperband and mobster once, five with priors
        ("paper-parallel", 5 * 10 * (3 + 5 * 3), 0, 5 * 10 * (3 + 5 * 3)),
        # the published BO drew from the prior
        ("paper-models", 5 * 50 * (1 + 4 * 3), 0, 5 * 50 * (2 + 3 * 3)),
        ("ablations", 0, 0, 5 * 50 * 14 * 3),
    ],
)
def test_a_preset_has_as_many_runs_as_its_tables_need(
    name: str, published: int, authors: int, paper: int
) -> None:
    assert runs(name, *FIVE) == Counter(published=published, authors=authors, paper=paper)


def test_the_papers_first_table_on_lcbench_takes_1250_published_runs() -> None:
    every = cases_by_seed(preset_grids("paper-single", FIVE))
    table = [
        case
        for case in every
        if case.rules == "published" and case.method in ("random", "hyperband", "priorband")
    ]
    assert len({case.key for case in table}) == len(table) == 1250
    assert {case.prior for case in table if case.method != "priorband"} == {NO_PRIOR}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_goes_seed_by_seed_and_runs_nothing_twice(name: str) -> None:
    every = cases_by_seed(preset_grids(name, FIVE[:2]))
    seeds = [case.seed for case in every]
    assert seeds == sorted(seeds)
    assert len({case.key for case in every}) == len(every)
    if name in PAPER_PRESETS:
        assert len(set(Counter(seeds).values())) == 1  # every seed is as large as another


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_only_known_methods_benchmarks_and_priors(name: str) -> None:
    for grid in preset_grids(name, FIVE):
        assert set(grid.methods) <= set(methods())
        assert set(grid.benchmarks) <= set(catalogue_entries())
        assert set(grid.priors) == set(QUALITIES if name in PAPER_PRESETS else PRIORS)
        for method in grid.methods:
            optimizer(method), published_method(method)


def test_every_variant_of_priorband_is_an_ablation() -> None:
    assert set(ABLATIONS) == {name for name in methods() if name.split("(")[0] == "priorband"}


@pytest.mark.parametrize("name", PAPER_PRESETS)
def test_without_the_papers_benchmarks_a_preset_runs_on_hartmann(name: str) -> None:
    grids = preset_grids(name, ())
    assert {(grid.rules, grid.benchmarks) for grid in grids} == {("paper", HARTMANN_BENCHMARKS)}
    assert {m for g in grids for m in g.methods} == {
        m for g in preset_grids(name, FIVE) for m in g.methods
    }


def test_an_unknown_preset_is_refused_with_a_suggestion() -> None:
    with pytest.raises(MethodError, match="Did you mean 'paper-small'"):
        preset_grids("paper-smal", FIVE)


def test_an_unknown_prior_is_refused_with_a_suggestion() -> None:
    with pytest.raises(SpaceError, match="Unknown prior 'god'. Did you mean 'good'"):
        CaseGrid("paper", FIVE, ("bad", "god"), ("random",), range(2))


def test_unknown_rules_are_refused_with_a_suggestion() -> None:
    with pytest.raises(MethodError, match="Unknown rules 'papr'. Did you mean 'paper'"):
        CaseGrid("papr", FIVE, QUALITIES, ("random",), range(2))


@pytest.mark.parametrize(
    ("name", "workers", "budget"),
    [
        *(("paper-small", 1, 12.0), ("paper-single", 1, 20.0), ("paper-parallel", 4, 5.0)),
        *(("paper-models", 1, 20.0), ("ablations", 1, 12.0)),
    ],
)
def test_a_preset_runs_as_long_as_its_tables_and_traces_need(
    name: str, workers: int, budget: float
) -> None:
    grids = preset_grids(name, FIVE)
    assert {(grid.workers, grid.budget) for grid in grids} == {(workers, budget)}


@pytest.mark.parametrize("name", methods())
def test_methods_that_ignore_the_prior_start_the_same_with_any_prior(name: str) -> None:
    bench = Hartmann(3)
    begun = []
    for centre in (0.1, 0.9):
        belief = prior(bench.space, dict.fromkeys(bench.space.names, centre))
        study = Study(bench.space, bench.fidelity, name, 0, belief)
        begun.append([study.ask().config for _ in range(40)])
    assert (begun[0] == begun[1]) == ignores_prior(name)
