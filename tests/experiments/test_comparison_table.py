"""The tables of the comparison with peers, worked by hand."""

import math

from priorband.analysis.scale import RegretScale
from priorband.experiments.peers.comparison_table import (
    Key,
    StoredRun,
    difference_table,
    regret_table,
)

# Best known 0 and median 2: 1 is 50 points.
SCALES = {"a": RegretScale(0.0, 2.0), "b": RegretScale(0.0, 2.0)}


def run(*values: float, seconds: float = 1.0, error: str = "") -> StoredRun:
    return StoredRun(list(values), seconds, error, "other 1.0")


def test_regret_is_averaged_over_seeds_and_then_over_problems() -> None:
    runs: dict[Key, StoredRun] = {
        ("priorband", "a", "bad", 0): run(1.0, 1.0, 0.0),
        ("priorband", "a", "bad", 1): run(3.0, 1.0, 0.0, seconds=3.0),
        ("priorband", "b", "bad", 0): run(0.4, 1.0, 0.0, seconds=2.0),
        ("priorband", "b", "bad", 1): run(*[math.nan] * 3, seconds=2.0, error="ValueError: bad"),
    }
    [_, _, row] = regret_table(runs, SCALES, ["priorband"])
    # Problem a has 50 and 150, b has 20. Means 100 and 20: 60, with a standard error of 40.
    assert row == "| bad | priorband | 60.0 ± 40.0 | 50.0 ± 0.0 | 0.0 ± 0.0 | 2 | 1 | 2.00 |"


def test_a_seed_counts_only_if_it_was_run_on_all_problems() -> None:
    runs: dict[Key, StoredRun] = {
        ("priorband", "a", "bad", 0): run(1.0, 1.0, 1.0),
        ("priorband", "b", "bad", 0): run(1.0, 1.0, 1.0),
        ("priorband", "a", "bad", 1): run(9.0, 9.0, 9.0),
    }
    [_, _, row] = regret_table(runs, SCALES, ["priorband"])
    assert row.startswith("| bad | priorband | 50.0 ± 0.0 | 50.0 ± 0.0 | 50.0 ± 0.0 | 1 | 0 |")


def test_nothing_found_in_time_counts_as_the_worst() -> None:
    runs: dict[Key, StoredRun] = {("pibo", "a", "good", 0): run(math.nan, 2.0, 1.0)}
    [_, _, row] = regret_table(runs, {"a": SCALES["a"]}, ["pibo"])
    assert row.startswith("| good | pibo | 300.0 | 100.0 | 50.0 |")


def test_differences_are_those_of_the_same_seeds() -> None:
    runs: dict[Key, StoredRun] = {
        ("guardband", "a", "flat", 0): run(1.0, 1.0, 1.0),
        ("guardband", "b", "flat", 0): run(1.0, 1.0, 1.0),
        ("guardband", "a", "flat", 1): run(5.0, 5.0, 5.0),
        ("guardband", "b", "flat", 1): run(5.0, 5.0, 5.0),
        ("optuna-gp", "a", "flat", 0): run(2.0, 1.0, 1.2),
        ("optuna-gp", "b", "flat", 0): run(1.0, 1.0, 0.2),
    }
    [_, _, row] = difference_table(runs, SCALES, ["guardband", "optuna-gp"], "guardband")
    # 50 and 0 at 5x: 25, with a standard error of 25. 10 and -40 at 20x: -15, with 25.
    assert row == "| flat | optuna-gp | +25.0 ± 25.0 | +0.0 ± 0.0 | -15.0 ± 25.0 | 1 | 1 : 1 |"


def test_a_method_that_ignores_the_prior_counts_under_each() -> None:
    runs: dict[Key, StoredRun] = {
        ("hyperband", "a", "flat", 0): run(1.0, 1.0, 1.0),
        ("guardband", "a", "bad", 0): run(0.0, 0.0, 0.0),
    }
    [_, _, row] = difference_table(runs, {"a": SCALES["a"]}, ["hyperband"], "guardband")
    assert row == "| bad | hyperband | +50.0 | +50.0 | +50.0 | 1 | 1 : 0 |"
