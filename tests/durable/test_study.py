"""A durable study asks, tells and remembers; the same in both storages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import priorband as pb
from priorband.durable import dispatch, expiry
from priorband.durable.messages import Assignment, Idle, Report
from priorband.storage.json_text import from_json

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4), "kind": pb.Categorical(["a", "b"])})
EPOCHS = pb.Fidelity("epochs", 1, 9)


def loss(trial: pb.Trial) -> float:
    return float((trial.config["x"] - 0.3) ** 2 + 1 / trial.fidelity)


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "study")
    else:
        from servers import fresh_url

        yield fresh_url(request.getfixturevalue("postgres"))


@pytest.fixture
def study(where: str, tmp_path: Path) -> Iterator[pb.DurableStudy]:
    folder = tmp_path if where.startswith("postgres") else None
    with pb.open_study(where, SPACE, EPOCHS, folder=folder) as opened:
        yield opened


def again(where: str, **options: Any) -> pb.DurableStudy:
    return pb.open_study(where, **options)


def test_a_durable_study_decides_as_one_in_memory(study: pb.DurableStudy, where: str) -> None:
    memory = pb.Study(SPACE, EPOCHS)
    for _ in range(40):
        ours, theirs = study.ask(), memory.ask()
        assert ours == theirs
        study.tell(ours, loss(ours))
        memory.tell(theirs, loss(theirs))
    with again(where) as reopened:
        assert reopened.state.history.events == memory.state.history.events
        assert reopened.best == memory.best
        assert reopened.replay().exact


def test_two_processes_see_each_other(study: pb.DurableStudy, where: str) -> None:
    with again(where) as other:
        first, second = study.ask(), other.ask()
        assert (first.id, second.id) == (0, 1)
        assert other.tell(first.id, 0.5)
        assert study.refresh().history.best == other.best


def test_the_first_result_counts_and_a_second_is_a_remark(
    study: pb.DurableStudy, where: str
) -> None:
    trial = study.ask()
    with again(where) as other:
        assert other.tell(trial.id, 0.5)
        assert not study.tell(trial, 0.1)
        other.refresh()
        assert other.best is not None and other.best.loss == 0.5
    remarks = [row for row in study.journal.trial_rows(trial.id) if row.kind == "remark"]
    assert len(remarks) == 1 and "0.1" in remarks[0].body


def test_one_hand_tells_a_trial_once(study: pb.DurableStudy) -> None:
    trial = study.ask()
    study.tell(trial, 0.5)
    with pytest.raises(pb.errors.TrialError, match="told already, with loss 0.5"):
        study.tell(trial, 0.4)


def test_the_same_claim_gives_the_same_trial(study: pb.DurableStudy) -> None:
    first = study.turn(None, "a")
    assert study.turn(None, "a") == first != study.turn(None, "b")


def test_a_budget_is_handed_out_once(study: pb.DurableStudy) -> None:
    study.limit(pb.Budget(trials=3))
    for number in range(3):
        claim = study.turn(None, f"{number}")
        assert isinstance(claim, Assignment)
    idle = study.turn(None, "one more")
    assert isinstance(idle, Idle) and "3 trials" in idle.reason and idle.running == 3
    with pytest.raises(pb.ExhaustedError, match="3 trials"):
        study.ask()


def test_waiting_for_the_last_trials_needs_no_lock(study: pb.DurableStudy, where: str) -> None:
    study.limit(pb.Budget(trials=1))
    first = study.turn(None, "a")
    assert isinstance(first, Assignment) and study.is_idle()
    with again(where) as other:
        assert isinstance(other.turn(None, "b"), Idle)
        with study.journal.transaction(0):
            assert other.is_idle()
        study.turn(Report(0, 1, None, "preempted", "SIGTERM"), "")
        assert not other.is_idle()  # there is a trial again
        second = other.turn(None, "b")
        assert isinstance(second, Assignment) and study.is_idle()
        other.turn(Report(0, 2, 0.5), "")
    assert not study.is_idle()  # nobody is left to wait for


def test_a_dead_worker_ends_the_waiting(
    study: pb.DurableStudy, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.limit(pb.Budget(trials=1))
    assert isinstance(study.turn(None, "a"), Assignment) and study.is_idle()
    monkeypatch.setattr(expiry, "liveness", lambda owner: "dead")
    assert not study.is_idle()
    taken = study.turn(None, "b")
    assert isinstance(taken, Assignment) and taken.attempt == 2


def test_many_leases_are_read_now_and_then_but_always_when_nothing_else_is_left(
    study: pb.DurableStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def dead(owner: object) -> str:
        looks.append(1)
        return "dead"

    monkeypatch.setattr(dispatch, "LOOKS_PER_SECOND", 1e-9)
    study.limit(pb.Budget(trials=20))
    held = [study.turn(None, str(number)) for number in range(dispatch.FEW_LEASES + 1)]
    monkeypatch.setattr(expiry, "liveness", dead)
    found = study.turn(None, "more")
    assert isinstance(found, Assignment) and found.attempt == 1 and not looks
    for number in range(len(held) + 1, 20):
        study.turn(None, f"more {number}")
    assert not looks
    found = study.turn(None, "one of the dead")
    assert isinstance(found, Assignment) and found.attempt == 2 and looks


def test_a_worker_with_short_trials_does_not_read_the_leases_each_time(
    study: pb.DurableStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def dead(owner: object) -> str:
        looks.append(1)
        return "dead"

    monkeypatch.setattr(dispatch, "SHORT_WAIT", 1e9)
    first, held = study.turn(None, "a"), study.turn(None, "b")
    assert isinstance(first, Assignment) and isinstance(held, Assignment)
    monkeypatch.setattr(expiry, "liveness", dead)
    found = study.turn(Report(first.trial.id, 1, 0.5), "c")
    assert isinstance(found, Assignment) and found.attempt == 1 and not looks
    assert study.ask() == held.trial and looks  # who asks by hand looks each time


def test_without_running_trials_the_leases_are_not_read(
    study: pb.DurableStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "SHORT_WAIT", 0.0)
    monkeypatch.setattr(dispatch, "expire", lambda *_: pytest.fail("nothing to look for"))
    first = study.turn(None, "a")
    assert isinstance(first, Assignment)
    assert isinstance(study.turn(Report(first.trial.id, 1, 0.5), "b"), Assignment)


def test_a_trial_given_back_is_handed_out_again(study: pb.DurableStudy) -> None:
    first = study.turn(None, "a")
    assert isinstance(first, Assignment)
    back = Report(first.trial.id, 1, None, "preempted", "SIGTERM")
    second = study.turn(back, "b")
    assert isinstance(second, Assignment)
    assert (second.trial, second.attempt) == (first.trial, 2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seed": 1}, "seed: 0 in the study, 1 here"),
        ({"method": "asha"}, "\n  - method: 'priorband' in the study, 'asha' here\n"),
        ({"fidelity": pb.Fidelity("epochs", 1, 27)}, "high is 9 in the study, 27 here"),
        ({"space": pb.Space({"x": pb.Float(0, 2)})}, "`kind` is in the study, but not here"),
        ({"maximize": True}, "minimises"),
    ],
)
def test_another_problem_is_refused_with_what_differs(
    study: pb.DurableStudy, where: str, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(pb.errors.MismatchError) as caught:
        again(where, **given)
    assert said in str(caught.value)


def test_a_study_that_is_not_there_is_not_made_without_a_space(tmp_path: Path) -> None:
    with pytest.raises(pb.errors.FormatError, match="no study"):
        pb.open_study(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_beat_for_an_earlier_attempt_says_nothing_of_the_next(
    study: pb.DurableStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.heartbeat.hold(0, 1)

    def slow_answer(worker: str, beats: object, seconds: float) -> set[int]:
        study.heartbeat.hold(0, 2)  # while the beat is under way
        return set()

    monkeypatch.setattr(study.journal, "beat", slow_answer)
    study.heartbeat._beat()
    assert not study.heartbeat.lost(0)
    monkeypatch.setattr(study.journal, "beat", lambda worker, beats, seconds: set())
    study.heartbeat._beat()
    assert study.heartbeat.lost(0)


def test_metrics_told_by_hand_are_kept_as_plain_data(study: pb.DurableStudy) -> None:
    trial = study.ask()
    study.tell(trial, 0.5, accuracy=np.float32(0.25), by_class=np.ones(2))
    (told,) = (row for row in study.journal.trial_rows(trial.id) if row.kind == "told")
    assert from_json(told.body)["metrics"] == {"accuracy": 0.25, "by_class": [1.0, 1.0]}


def test_a_failure_told_by_hand_is_final(study: pb.DurableStudy) -> None:
    trial = study.ask()
    assert study.fail(trial, "no room", kind="memory")
    outcome = study.state.history.outcome(trial.id)
    assert outcome is not None and outcome.reason == "memory: no room"


@pytest.mark.parametrize("fidelity", [1e-305, 1e-301])
def test_nothing_is_written_that_could_not_be_read_again(
    study: pb.DurableStudy, fidelity: float
) -> None:
    config = study.space.prior.mode
    before = study.journal.read(0)
    with pytest.raises(pb.errors.FormatError, match="`fidelity` is"):
        study.add(config, 0.5, fidelity)
    claim = study.turn(None, "one")
    assert isinstance(claim, Assignment)
    with pytest.raises(pb.errors.FormatError, match="`cost` is"):
        study.turn(Report(claim.trial.id, 1, 0.5, details={"cost": "much"}), "")
    assert study.turn(Report(claim.trial.id, 1, 0.5), "") is None
    assert [row.kind for row in study.journal.read(len(before))] == ["asked", "told"]
    assert study.replay().exact
