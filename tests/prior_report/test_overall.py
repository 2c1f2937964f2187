"""The clues about a whole prior."""

from itertools import product

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import priorband as pb
from priorband.prior_report.by_parameter import combined
from priorband.prior_report.facts import log_odds_of_rows, log_uniform, progress
from priorband.prior_report.overall import (
    chance_of_best,
    mode_rank,
    overall_verdict,
    weighted_mean,
)
from priorband.prior_report.report import Clue
from priorband.prior_report.surface import Difference

VALUES = st.lists(st.integers(0, 5), min_size=1, max_size=4)


@settings(max_examples=examples(60))
@given(VALUES, VALUES, st.integers(1, 3))
def test_the_chance_of_the_best_is_that_of_all_draws_counted(
    ours: list[int], theirs: list[int], of_each: int
) -> None:
    won = [
        (min(a) < min(b)) + 0.5 * (min(a) == min(b))
        for a in product(ours, repeat=of_each)
        for b in product(theirs, repeat=of_each)
    ]
    found = chance_of_best(np.array(ours, float), np.array(theirs, float), of_each)
    assert found == pytest.approx(sum(won) / len(won))


def test_the_best_results_have_most_weight() -> None:
    assert weighted_mean(np.array([3.0, 0.0])) == pytest.approx(2.0)
    assert weighted_mean(np.array([-np.inf, 4.0])) == pytest.approx((-20 + 2) / 1.5)


@pytest.mark.parametrize(
    ("log_odds", "full", "verdict"),
    [
        (3.0, 3, "helps"),
        (-3.0, 3, "harms"),
        (0.9, 3, "not enough evidence"),
        (-0.9, 6, "not enough evidence"),
        (0.9, 7, "helps"),
        (-0.9, 7, "harms"),
        (0.1, 7, "neutral"),
        (-0.1, 50, "neutral"),
    ],
)
def test_verdicts(log_odds: float, full: int, verdict: str) -> None:
    clues = (Clue("a", 0, log_odds + 1, ""), Clue("b", 0, -1.0, ""))
    found, chance = overall_verdict(clues, full)
    assert found == verdict and chance == pytest.approx(1 / (1 + np.exp(-log_odds)))


def test_uniform_draws_have_the_density_of_their_choices() -> None:
    space = pb.Space(x=pb.Float(0, 1), c=pb.Categorical(["a", "b", "c", "d"]))
    rows = np.array([[0.5, 1.0], [0.1, np.nan]])
    assert log_uniform(space, rows).tolist() == pytest.approx([-np.log(4), 0.0])
    assert log_odds_of_rows(space, space.prior, rows[:1]) == pytest.approx(0.0)


def test_the_rank_of_the_mode() -> None:
    study = pb.Study(pb.Space(x=pb.Float(0, 1, prior=0.5)), pb.Fidelity("epochs", 1, 9))
    assert mode_rank(study.state) == ("untried", 0, 0)
    study.add({"x": 0.5}, 2.0, fidelity=3)
    assert mode_rank(study.state)[0] == "below"
    study.add({"x": 0.5}, 2.0)
    assert mode_rank(study.state) == ("not last", 1, 1)
    study.add({"x": 0.1}, 1.0)
    assert mode_rank(study.state) == ("last", 2, 2)
    study.add({"x": 0.2}, 3.0)
    assert mode_rank(study.state) == ("not last", 2, 3)


def test_evidence_on_a_parameter_moves_the_log_odds_the_right_way() -> None:
    none = combined(Difference(0.0, 0.0), 0.0)
    assert combined(Difference(-1.0, 0.2), 0.0) > none > combined(Difference(1.0, 0.2), 0.0)
    assert combined(Difference(0.0, 1.0), 2.0) > none > combined(Difference(0.0, 1.0), -2.0)
    assert combined(Difference(-99.0, 0.1), 99.0) < 4 and combined(Difference(9, 0.1), -99) > -2


def test_imported_results_count_as_a_bracket_when_they_are_worth_one() -> None:
    study = pb.Study(pb.Space(x=pb.Float(0, 1, prior=0.5)), pb.Fidelity("epochs", 1, 9))
    needed = progress(study.state).needed
    for i in range(3):
        assert not progress(study.state).done
        study.add({"x": i / 10}, i)
    assert needed <= 3 and progress(study.state).done
