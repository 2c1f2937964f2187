"""A study without a success stops after three alike failures, each time it is opened."""

from pathlib import Path

import pytest

import priorband as pb
from priorband.durable.dispatch import SAME_FAILURES
from priorband.durable.messages import Assignment, Idle, Report
from priorband.failures import FAILURE_KINDS, FailureKind

SPACE = pb.Space({"x": pb.Float(0, 1)})
EPOCHS = pb.Fidelity("epochs", 1, 9)
FAILING = [kind for kind in FAILURE_KINDS if kind != "preempted"]


def until_idle(study: pb.DurableStudy, *kinds: FailureKind, where: str = "") -> Idle:
    """Fail one trial after another, with the kinds in turn, until there is no next one."""
    for number in range(1000):
        answer = study.turn(None, f"{study.worker}.{number}")
        if isinstance(answer, Idle):
            return answer
        assert isinstance(answer, Assignment)
        kind, details = kinds[number % len(kinds)], {"where": where}
        failed = Report(answer.trial.id, answer.attempt, None, kind, "why", details)
        study.turn(failed, "")
    raise AssertionError("it went on")


def opened(where: Path, **options: object) -> pb.DurableStudy:
    every = dict.fromkeys(FAILURE_KINDS, 1)
    return pb.open_study(where, SPACE, EPOCHS, retries=every, **options)  # type: ignore[arg-type]  # mixed


@pytest.mark.parametrize("kind", FAILING)
def test_three_alike_failures_of_any_kind_halt_a_study(tmp_path: Path, kind: FailureKind) -> None:
    with opened(tmp_path) as study:
        study.limit(100)
        idle = until_idle(study, kind)
        assert idle.halted and len(study.state.history) == SAME_FAILURES
        assert idle.reason == (
            f"The first 3 trials all failed in the same way ({kind}). The study is stopped, since "
            "none has succeeded."
        )


def test_a_study_that_is_resumed_halts_again(tmp_path: Path) -> None:
    for times in (1, 2, 3):
        with opened(tmp_path) as study:
            study.limit(100)
            assert until_idle(study, "raised", where="line 3").halted
            assert len(study.state.history) == times * SAME_FAILURES
    with opened(tmp_path) as study:  # another failure is another beginning
        assert until_idle(study, "raised", where="line 4").halted
        assert len(study.state.history) == 4 * SAME_FAILURES


def test_failures_that_differ_do_not_halt_a_study(tmp_path: Path) -> None:
    with opened(tmp_path) as study:
        study.limit(pb.Budget(trials=20))
        idle = until_idle(study, "raised", "diverged")
        assert not idle.halted and idle.reason == "The budget of 20 trials is spent."


def test_a_success_keeps_a_study_going(tmp_path: Path) -> None:
    with opened(tmp_path) as study:
        study.limit(pb.Budget(trials=10))
        study.tell(study.ask(), 0.5)
        assert not until_idle(study, "diverged").halted


def test_who_asks_by_hand_is_not_halted(tmp_path: Path) -> None:
    with opened(tmp_path) as study:
        for _ in range(2 * SAME_FAILURES):
            study.tell(study.ask(), float("nan"))
        assert len(study.state.history) == 2 * SAME_FAILURES
