"""The grids on guardband, and the priors that the paper does not use."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from priorband.benchmarks import Hartmann
from priorband.benchmarks.catalogue import catalogue_entries
from priorband.experiments.beyond import (
    BENCHMARKS,
    CONFIRMATION_BENCHMARKS,
    DEVELOPMENT_BENCHMARKS,
    SMALL_SET,
)
from priorband.experiments.cases import FIRST_CONFIRMATION_SEED, PRIORS, Case, CaseGrid
from priorband.experiments.expected_cost import cost_text, expected_seconds
from priorband.experiments.presets import cases_by_seed, preset_grids
from priorband.experiments.result_store import ResultStore
from priorband.experiments.rules import case_prior_centre, set_up_case
from priorband.experiments.run_record import recorded_study
from priorband.experiments.runner import Folders, run_cases
from priorband.space.prior import is_flat


def case(prior: str, seed: int = 1000, benchmark: str = "hartmann3-good") -> Case:
    return Case("paper", benchmark, prior, "guardband", 1, seed, 2.0)


def test_every_benchmark_is_for_development_or_for_confirmation() -> None:
    assert len(set(BENCHMARKS)) == len(BENCHMARKS) == 8 + 34 + 4 + 5 + 1
    assert not set(DEVELOPMENT_BENCHMARKS) & set(CONFIRMATION_BENCHMARKS)
    assert set(BENCHMARKS) <= set(catalogue_entries())
    assert len(SMALL_SET) == 8
    assert set(SMALL_SET) <= set(BENCHMARKS)


def test_the_experiment_runs_confirmation_seeds_only() -> None:
    cases = cases_by_seed(preset_grids("beyond", BENCHMARKS))
    assert {c.seed for c in cases} == set(range(1000, 1050))
    assert {c.rules for c in cases} == {"paper"}
    assert {c.prior for c in cases} == {*PRIORS, "none"}
    seeds = Counter(
        c.method
        for c in cases
        if (c.benchmark, c.workers) == ("lcbench-7593", 1) and c.prior in ("none", "flat")
    )
    assert seeds["hyperband"] == seeds["priorband"] == seeds["guardband"] == 50
    assert seeds["guardband+bo"] == seeds["pibo"] == seeds["bo"] == seeds["bohb"] == 10


def test_development_runs_use_neither_confirmation_seeds_nor_confirmation_benchmarks() -> None:
    cases = cases_by_seed(preset_grids("beyond-development", BENCHMARKS))
    assert max(c.seed for c in cases) < FIRST_CONFIRMATION_SEED
    assert {c.benchmark for c in cases} == set(DEVELOPMENT_BENCHMARKS)


def test_a_longer_run_stands_for_a_shorter_one_of_the_same_seed() -> None:
    cases = cases_by_seed(preset_grids("beyond", BENCHMARKS))
    budgets = {
        c.seed: c.budget
        for c in cases
        if c.key[:5] == ("paper", "lcbench-3945", "bad", "guardband", 1)
    }
    assert budgets == {seed: 50.0 if seed < 1010 else 20.0 for seed in range(1000, 1050)}


def test_a_random_prior_has_another_centre_for_each_seed_and_benchmark() -> None:
    space = Hartmann(3).space
    centres = [
        case_prior_centre(case("random", seed, benchmark), space, {})
        for seed, benchmark in ((0, "a"), (1, "a"), (0, "b"))
    ]
    assert case_prior_centre(case("random", 0, "a"), space, {}) == centres[0]
    assert len({tuple(centre.values()) for centre in centres}) == 3


def test_random_centres_are_uniform() -> None:
    space = Hartmann(3).space
    rows = [
        list(case_prior_centre(case("random", seed), space, {}).values()) for seed in range(400)
    ]
    tenths = np.histogram(np.array(rows), bins=4, range=(0.0, 1.0))[0]
    assert tenths == pytest.approx(np.full(4, 300.0), abs=5 * 15.0)  # sd of a count: 15


def test_a_flat_prior_is_no_belief() -> None:
    bench = Hartmann(3)
    assert is_flat(set_up_case(case("flat"), bench, {}).study.prior)
    assert not is_flat(set_up_case(case("random"), bench, {}).study.prior)


def test_runs_with_a_random_or_flat_prior_can_be_stored_and_replayed(tmp_path: Path) -> None:
    grid = CaseGrid(
        "paper", ["hartmann3-good"], ("random", "flat"), ["guardband"], range(1000, 1002), 1, 2.0
    )
    run_cases(grid.cases(), Folders(tmp_path))
    records = ResultStore(tmp_path).records.values()
    assert [r.case.prior for r in records] == ["flat", "flat", "random", "random"]
    for record in records:
        assert recorded_study(record, Hartmann(3), {}).replay().exact
    assert not (tmp_path / "priors.json").exists()  # neither has a centre to search


def test_the_expected_cost_is_in_proportion_to_the_trainings() -> None:
    one = Case("paper", "b", "bad", "guardband", 1, 0, 20.0)
    assert expected_seconds(one) == pytest.approx(0.024)
    assert expected_seconds(Case(*one.key[:5], 0, 10.0)) == pytest.approx(0.012)
    four = Case("paper", "b", "bad", "guardband", 4, 0, 5.0)
    assert expected_seconds(four) == pytest.approx(0.024)
    variant = Case("paper", "b", "bad", "guardband(no-guard)", 1, 0, 20.0)
    assert expected_seconds(variant) == pytest.approx(0.024)
    assert expected_seconds(Case("paper", "b", "bad", "grid", 1, 0, 20.0)) is None


def test_the_cost_of_the_runs_to_do_is_told() -> None:
    cases = [Case("paper", "hartmann3-good", "none", "bo", 1, s, 20.0) for s in range(100)]
    unknown = Case("paper", "hartmann3-good", "none", "grid", 1, 0, 1.0)
    assert cost_text(cases) == "They take about 11 s of CPU time."
    assert cost_text([*cases, unknown]).endswith(
        "CPU time, without those whose time is not known (1 of grid)."
    )
    assert cost_text([unknown]) == ""
