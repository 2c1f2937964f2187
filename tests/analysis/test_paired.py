"""Paired comparisons and the default rule, on numbers worked by hand."""

import math

import pytest

from priorband.analysis.paired import ALL_PRIORS, CellName, Comparison, compared, default_rule

PRIORS, HORIZONS = ("good", "bad", "flat"), (1.0, 5.0, 12.0, 20.0)


def test_runs_are_paired_by_benchmark_and_seed_and_each_benchmark_counts_once() -> None:
    ours = {"a": {0: 10.0, 1: 20.0, 2: 99.0}, "b": {0: 5.0}, "c": {0: 1.0}}
    theirs = {"a": {0: 16.0, 1: 22.0}, "b": {0: 3.0, 7: 0.0}}
    # a: 15 against 19, so -4; b: 5 against 3, so +2; seed 2 and benchmark c have no partner
    found = compared(ours, theirs)
    assert found is not None
    assert (found.ours, found.theirs, found.difference) == (10.0, 11.0, -1.0)
    assert found.se == pytest.approx(math.sqrt(18) / math.sqrt(2))  # deviations -3 and +3
    assert (found.benchmarks, found.wins, found.losses) == (2, 1, 1)
    assert found.ratio == pytest.approx(10 / 11)


def test_a_missing_score_is_left_out_with_its_partner() -> None:
    found = compared({"a": {0: math.nan, 1: 1.0}}, {"a": {0: 5.0, 1: 2.0}})
    assert found is not None
    assert (found.ours, found.theirs) == (1.0, 2.0)
    assert math.isnan(found.se)
    assert compared({"a": {0: math.nan}}, {"a": {0: 5.0}}) is None
    assert compared({"a": {0: 1.0}}, {"b": {0: 5.0}}) is None


def test_equal_means_are_neither_won_nor_lost() -> None:
    found = compared({"a": {0: 1.0}, "b": {0: 1.0}}, {"a": {0: 1.0}, "b": {0: 2.0}})
    assert found is not None
    assert (found.wins, found.losses) == (1, 0)


def cell(ours: float, theirs: float = 100.0, se: float = 1.0) -> Comparison:
    return Comparison(ours, theirs, ours - theirs, se, 5, 0, 0)


def cells(**changed: Comparison) -> dict[CellName, Comparison]:
    """Comparisons that satisfy the rule, except for some such as `priorband_bad_5`."""
    found = {
        CellName(other, prior, h): cell(97.0)
        for other in ("priorband", "hyperband")
        for prior in (*PRIORS, ALL_PRIORS)
        for h in HORIZONS
    }
    for name, comparison in changed.items():
        other, prior, horizon = name.split("_")
        found[CellName(other, prior, float(horizon))] = comparison
    return found


def holding(**changed: Comparison) -> list[bool]:
    return [clause.holds for clause in default_rule(cells(**changed), PRIORS, HORIZONS)]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, [True, True, True, True]),
        ({"priorband_good_1": cell(102.5)}, [False, True, True, True]),
        ({"priorband_good_1": cell(102.5, se=1.3)}, [True, True, True, True]),  # within two
        ({"priorband_good_1": cell(101.9, se=0.1)}, [True, True, True, True]),  # within 2 %
        ({"hyperband_bad_5": cell(103.1, se=9.0)}, [True, False, True, True]),
        ({"hyperband_bad_5": cell(103.0)}, [True, True, True, True]),
        ({"hyperband_bad_1": cell(150.0)}, [True, True, True, True]),  # only from 5x on
        ({"priorband_all_12": cell(98.1)}, [True, True, False, True]),
        ({"priorband_all_12": cell(98.0)}, [True, True, True, True]),
        ({"priorband_all_5": cell(99.0)}, [True, True, True, True]),
        ({"hyperband_flat_20": cell(104.0)}, [True, True, True, False]),
    ],
)
def test_the_default_rule(changed: dict[str, Comparison], expected: list[bool]) -> None:
    assert holding(**changed) == expected


def test_the_rule_does_not_hold_without_its_cells() -> None:
    some = cells()
    del some[CellName("hyperband", "bad", 12.0)]
    clauses = default_rule(some, PRIORS, HORIZONS)
    assert [clause.holds for clause in clauses] == [True, False, True, True]
    assert clauses[1].missing == [CellName("hyperband", "bad", 12.0)]


def test_the_cells_that_break_a_clause_are_named() -> None:
    clauses = default_rule(cells(priorband_bad_5=cell(110.0)), PRIORS, HORIZONS)
    assert clauses[0].broken == [CellName("priorband", "bad", 5.0)]
