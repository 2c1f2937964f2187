"""What peers pay for their trainings."""

import math

import pytest

from priorband.benchmarks import Hartmann
from priorband.errors import ArgumentError
from priorband.experiments.peers.training_log import TrainingLog

from .failing_benchmark import HalfFailing

BAD, GOOD = {"x0": 0.9, "x1": 0.1, "x2": 0.1}, {"x0": 0.114614, "x1": 0.555649, "x2": 0.852547}


def test_a_continued_training_pays_the_difference() -> None:
    log = TrainingLog(Hartmann(3), budget=20)
    for fidelity in (11, 33, 100):
        log.train("a", BAD, fidelity)
    assert log.spent == pytest.approx(1.0)
    assert len(log) == 3


def test_the_same_configuration_under_another_name_pays_all() -> None:
    log = TrainingLog(Hartmann(3), budget=20)
    log.train("a", BAD, 11)
    log.train("b", BAD, 33)
    assert log.spent == pytest.approx(0.44)


def test_trainings_start_until_the_budget_is_spent() -> None:
    log = TrainingLog(Hartmann(3), budget=2)
    started = 0
    while log.has_budget:
        log.train(started, BAD, 30)
        started += 1
    assert started == 7
    assert log.spent == pytest.approx(2.1)


def test_values_count_only_what_ended_within_the_budget() -> None:
    log = TrainingLog(Hartmann(3), budget=2)
    bad = log.train("a", BAD, 100)
    good = log.train("b", GOOD, 100)
    values = log.values((0.5, 1.0, 1.99, 2.0))
    assert math.isnan(values[0])
    assert values[1:] == [bad, bad, good]


def test_a_training_cannot_go_back_or_beyond_the_end() -> None:
    log = TrainingLog(Hartmann(3), budget=20)
    log.train("a", BAD, 33)
    for fidelity in (11, 33, 101):
        with pytest.raises(ArgumentError, match="`fidelity` must be above 33"):
            log.train("a", BAD, fidelity)
    assert log.spent == pytest.approx(0.33)


def test_a_configuration_is_not_the_incumbent_after_it_failed() -> None:
    log = TrainingLog(HalfFailing(), budget=20)
    kept = {"x0": 0.4, "x1": 0.1, "x2": 0.1}
    log.train("a", kept, 100)
    log.train("b", BAD | {"x1": 0.5, "x2": 0.85}, 50)  # better than all, and then it fails
    assert log.losses[1] < log.losses[0]
    assert log.values((1.5,)) == [math.inf]
    log.train("b", BAD | {"x1": 0.5, "x2": 0.85}, 100)
    assert log.values((2.0,)) == [log.losses[0]]


def test_the_worst_loss_is_the_highest_finite_one() -> None:
    log = TrainingLog(HalfFailing(), budget=20)
    assert log.worst == 0.0
    good, bad = log.train("a", GOOD, 100), log.train("b", BAD, 50)
    log.train("b", BAD, 100)
    assert good < bad
    assert log.worst == bad
