"""One budget for all workers and restarts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import priorband as pb
from priorband.durable.budget import as_budget
from priorband.durable.messages import Assignment, Idle, Report

SPACE = pb.Space({"x": pb.Float(0, 1)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


@pytest.fixture
def study(tmp_path: Path) -> pb.DurableStudy:
    return pb.open_study(tmp_path, SPACE, EPOCHS, method="random")  # each a full training


def claims(study: pb.DurableStudy, most: int = 50, **details: float) -> int:
    """How many trials are handed out, told one after the other, before there are no more."""
    for number in range(most):
        claim = study.turn(None, f"{number} of {study.worker}")
        if isinstance(claim, Idle):
            return number
        assert isinstance(claim, Assignment)
        study.turn(Report(claim.trial.id, 1, 0.5, details=details), "")
    return most


def test_trainings_are_reserved_when_a_trial_is_handed_out(study: pb.DurableStudy) -> None:
    study.limit(3)
    for number in range(3):
        assert isinstance(study.turn(None, str(number)), Assignment)
    idle = study.turn(None, "more")
    assert isinstance(idle, Idle) and idle.running == 3 and "3 trainings" in idle.reason
    study.close()


def test_a_share_of_a_training_that_is_left_starts_one_more(study: pb.DurableStudy) -> None:
    study.limit(2.5)
    assert claims(study) == 3
    study.close()


def test_reported_cost_is_summed(study: pb.DurableStudy) -> None:
    study.limit(pb.Budget(cost=10))
    assert claims(study, cost=4.0) == 3  # 4, 8: room for one more; 12: none
    study.close()


def test_the_first_limit_that_is_reached_ends_the_study(study: pb.DurableStudy) -> None:
    study.limit(pb.Budget(trainings=10, trials=4, cost=100))
    assert claims(study, cost=1.0) == 4
    study.limit(pb.Budget(trainings=6))
    assert claims(study) == 2
    study.close()


def test_hours_count_the_time_in_which_somebody_was_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = pb.open_study(tmp_path, SPACE, EPOCHS, method="random", lease=5000)
    clock = 1_000_000.0
    monkeypatch.setattr(study.journal, "now", lambda: clock)
    study.limit(pb.Budget(hours=1))
    first, second = study.turn(None, "a"), study.turn(None, "b")
    assert isinstance(first, Assignment) and isinstance(second, Assignment)
    clock += 1200
    study.turn(Report(first.trial.id, 1, 0.5), "")
    clock += 1200
    assert study.spending().hours == pytest.approx(2 / 3)
    study.turn(Report(second.trial.id, 1, 0.5), "")
    clock += 100 * 3600  # a weekend without anybody
    third = study.turn(None, "c")
    assert isinstance(third, Assignment) and study.spending().hours == pytest.approx(2 / 3)
    clock += 1200
    idle = study.turn(None, "d")
    assert isinstance(idle, Idle) and "1 hour is" in idle.reason
    study.close()


def test_what_a_lost_worker_did_not_do_is_not_counted(
    study: pb.DurableStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 1_000_000.0
    monkeypatch.setattr(study.journal, "now", lambda: clock)
    monkeypatch.setattr("priorband.durable.expiry.liveness", lambda owner: "dead")
    study.turn(None, "a")
    study.heartbeat.release(0)  # a dead process holds nothing
    clock += 100 * 3600  # the machine was off; the last sign of life was at the claim
    taken = study.turn(None, "b")
    assert isinstance(taken, Assignment) and taken.attempt == 2
    assert study.spending().hours == pytest.approx(0, abs=1e-6)
    study.close()


def test_the_budget_survives_a_restart_and_can_be_raised(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS, method="random") as study:
        study.limit(2)
        assert claims(study) == 2
    with pb.open_study(tmp_path) as study:
        assert study.budget == pb.Budget(trainings=2) and claims(study) == 0
        study.limit(pb.Budget(trainings=5))
        assert claims(study) == 3


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "12", True, {"days": 3}, [12]])
def test_a_budget_that_cannot_be_is_refused(study: pb.DurableStudy, wrong: Any) -> None:
    with pytest.raises(pb.errors.ArgumentError):
        study.limit(wrong)
    study.close()


@pytest.mark.parametrize("wrong", [{"trials": 2.5}, {"hours": 0}, {"cost": float("inf")}])
def test_limits_must_be_positive_numbers(wrong: dict[str, float]) -> None:
    with pytest.raises(pb.errors.ArgumentError):
        pb.Budget(**wrong)  # type: ignore[arg-type]  # wrong on purpose


number: Any = np.int64


@pytest.mark.parametrize("limit", [np.int64(2), np.float32(2), pb.Budget(trials=number(3))])
def test_a_budget_may_be_a_number_of_numpys(tmp_path: Path, limit: Any) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(limit)
        assert study.budget.limits


def test_one_of_a_limit_is_in_the_singular() -> None:
    assert str(pb.Budget(1, hours=1)) == "1 training or 1 hour"
    assert str(pb.Budget(trials=1, cost=1)) == "1 trial or 1 cost"
    assert str(pb.Budget(1.5)) == "1.5 trainings"


def test_a_limit_that_does_not_exist_is_named() -> None:
    with pytest.raises(pb.errors.ArgumentError) as caught:
        as_budget({"trial": 3})
    assert str(caught.value) == (
        "`budget` has an unknown limit 'trial'. Did you mean 'trials'? Known: cost, hours, "
        "trainings, trials."
    )
