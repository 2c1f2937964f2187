"""A loss that comes after its trial has failed: kept, used, and no decision is changed."""

import csv
import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from servers import fresh_url

import priorband as pb
from priorband.cli.entry_point import main
from priorband.display.overview import study_overview
from priorband.durable.messages import Assignment, Report
from priorband.durable.snapshot import packed_snapshot, restore
from priorband.durable.view import StudyView
from priorband.failures import FailureKind
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.storage.json_text import from_json
from priorband.storage.snapshot_file import unpacked
from priorband.storage.spool import Spool
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return fresh_url(request.getfixturevalue("postgres"))
    return str(tmp_path / "study")


@pytest.fixture
def study(where: str, tmp_path: Path) -> Iterator[pb.DurableStudy]:
    with pb.open_study(where, SPACE, EPOCHS, folder=tmp_path / "study") as opened:
        opened.limit(pb.Budget(trials=9, cost=100))
        yield opened


def taken(study: pb.DurableStudy, request: str) -> tuple[int, int]:
    """The trial and attempt that are handed out."""
    answer = study.turn(None, request)
    assert isinstance(answer, Assignment)
    return answer.trial.id, answer.attempt


def failed_at_attempt_2(study: pb.DurableStudy) -> None:
    assert taken(study, "one") == (0, 1)
    study.turn(Report(0, 1, None, "lost", "taken for dead"), "")
    assert taken(study, "two") == (0, 2)
    study.turn(Report(0, 2, None, "raised", "a broken machine"), "")


def records(study: pb.DurableStudy, kind: str) -> list[dict[str, Any]]:
    return [from_json(row.body) for row in study.journal.read(0) if row.kind == kind]


def test_it_is_added_as_an_imported_result(
    study: pb.DurableStudy, where: str, tmp_path: Path
) -> None:
    failed_at_attempt_2(study)
    assert taken(study, "three") == (1, 1)  # decided after the failure
    spent = study.spending()
    study.turn(Report(0, 1, 0.25, details={"cost": 3.0, "metrics": {"accuracy": 0.5}}), "")
    history = study.state.history
    assert study.best is not None and study.best.loss == 0.25
    added, first = study.best.trial, history.trial(0)
    assert (added.config, added.fidelity) == (first.config, first.fidelity)
    assert (added.id, added.origin, added.parent) == (2, "imported", None)
    outcome = history.outcome(0)
    assert outcome is not None and outcome.failed and "broken machine" in outcome.reason
    now = study.spending()
    assert (now.trainings, now.trials, now.cost) == (spent.trainings, spent.trials, 3.0)
    assert study.metrics(2) == {"accuracy": 0.5, "cost": 3.0}
    [remark] = records(study, "remark")
    assert remark["text"] == "came too late: a loss of 0.25; added as trial 2"
    [told] = records(study, "told")
    assert (told["attempt"], told["from_trial"], told["from_attempt"]) == (0, 0, 1)
    study.turn(Report(1, 1, 0.5), "")
    assert study.replay().exact
    events = history_of_others(where, tmp_path)
    assert events == study.state.history.events


def history_of_others(where: str, tmp_path: Path) -> object:
    """What another process sees, which is also what a check and a salvage find."""
    with pb.open_study(where, folder=tmp_path / "study") as other:
        events = other.state.history.events
    assert check(where).sound
    salvage(where, tmp_path / "new")
    with pb.open_study(tmp_path / "new") as other:
        assert other.state.history.events == events and other.replay().exact
    return events


def test_it_is_added_once(study: pb.DurableStudy) -> None:
    failed_at_attempt_2(study)
    for _ in range(3):  # as after a lost answer
        study.turn(Report(0, 1, 0.25), "")
    assert len(study.state.history) == 2 and len(records(study, "remark")) == 1


def test_it_also_counts_for_a_worker_that_was_taken_for_dead_at_last(
    study: pb.DurableStudy,
) -> None:
    for attempt in (1, 2, 3):
        assert taken(study, str(attempt)) == (0, attempt)
        study.turn(Report(0, attempt, None, "lost", "no sign of life"), "")
    assert study.ledger.failures == {"lost": 1}
    study.turn(Report(0, 3, 0.25), "")
    study.turn(Report(0, 2, 0.125), "")  # the first result counts
    assert study.best is not None and study.best.loss == 0.25
    assert len(records(study, "remark")) == 2


@pytest.mark.parametrize(
    "report",
    [
        Report(0, 2, 0.25),  # this attempt has reported that it failed
        Report(0, 3, 0.25),  # never handed out
        Report(0, 0, 0.25),
        Report(0, 1, None, "memory", "no more"),
        Report(7, 1, 0.25),  # no such trial
    ],
)
def test_anything_else_is_only_a_remark(study: pb.DurableStudy, report: Report) -> None:
    failed_at_attempt_2(study)
    study.turn(report, "")
    assert len(study.state.history) == 1 and study.best is None
    [remark] = records(study, "remark")
    assert "added" not in remark["text"]


def test_an_imported_failure_has_no_attempts(study: pb.DurableStudy) -> None:
    study.add({"x": 0.5}, float("nan"))
    study.turn(Report(0, 1, 0.25), "")
    assert len(study.state.history) == 1 and study.best is None


def test_after_a_success_it_is_only_a_remark(study: pb.DurableStudy) -> None:
    taken(study, "one")
    study.turn(Report(0, 1, None, "lost", "taken for dead"), "")
    taken(study, "two")
    study.turn(Report(0, 2, 0.5), "")
    study.turn(Report(0, 1, 0.25), "")
    assert study.best is not None and study.best.loss == 0.5 and len(study.state.history) == 1


def test_who_tells_by_hand_learns_that_the_trial_had_ended(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as slow, pb.open_study(tmp_path) as quick:
        trial = slow.ask()
        quick.turn(Report(0, 1, None, "lost", "taken for dead"), "")
        assert taken(quick, "mine") == (0, 2)
        quick.turn(Report(0, 2, None, "raised", "a broken machine"), "")
        assert slow.tell(trial, 0.25) is False
        assert slow.best is not None and slow.best.loss == 0.25


def test_a_real_worker_that_comes_back_has_not_trained_for_nothing(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=1))

        def objective(trial: pb.Attempt) -> float:
            """Another attempt is made, and fails, while this one goes on."""
            (trial.checkpoint_dir / "weights").write_text("1")
            study.turn(Report(0, 1, None, "lost", "frozen"), "other")
            study.turn(Report(0, 2, None, "raised", "a broken machine"), "")
            return 0.25

        assert Worker(study, objective, WorkerOptions(start="same-process")).run().status == "done"
        assert study.best is not None and study.best.loss == 0.25
        assert study.spending().trials == 1 and study.ledger.failures == {"raised": 1}


def test_a_report_that_does_not_count_is_not_in_the_way_of_one_that_does(
    study: pb.DurableStudy,
) -> None:
    failed_at_attempt_2(study)
    study.turn(Report(0, 2, 0.125), "")  # this attempt has reported that it failed
    study.turn(Report(0, 7, 0.125), "")  # never handed out
    study.turn(Report(0, 1, 0.25), "")
    assert study.best is not None and study.best.loss == 0.25
    assert [remark["text"][-16:] for remark in records(study, "remark")][2] == "added as trial 1"


@pytest.mark.parametrize(
    ("kind", "counts"), [("memory", False), ("crashed", False), ("preempted", True)]
)
def test_an_attempt_that_has_reported_its_failure_has_no_late_success(
    study: pb.DurableStudy, kind: FailureKind, counts: bool
) -> None:
    taken(study, "one")
    study.turn(Report(0, 1, None, kind, "its own report"), "")
    assert taken(study, "two") == (0, 2)
    study.turn(Report(0, 2, None, "raised", "a broken machine"), "")
    study.turn(Report(0, 1, 0.25), "")
    assert (study.best is not None) is counts


@pytest.mark.parametrize("attempt", [0, 2, -1])
@pytest.mark.parametrize("loss", [0.25, None])
def test_a_report_of_an_attempt_that_was_never_made_is_only_a_remark(
    study: pb.DurableStudy, attempt: int, loss: float | None
) -> None:
    taken(study, "one")
    study.turn(Report(0, attempt, loss, None if loss else "raised"), "")
    assert not study.state.history.finished and 0 in study.ledger.running
    assert len(records(study, "remark")) == 1
    study.turn(Report(0, 1, 0.5), "")
    assert study.best is not None and study.best.loss == 0.5


def test_a_late_result_from_the_spool_is_added(study: pb.DurableStudy, tmp_path: Path) -> None:
    failed_at_attempt_2(study)
    report = Report(0, 1, 0.25, details={"cost": 3.0})
    file = Spool(study.ledger.study).put("late", report.to_data())
    assert file is not None
    study.limit(pb.Budget(trials=1))
    assert Worker(study, lambda trial: 0.5, WorkerOptions(start="same-process")).run()
    assert study.best is not None and study.best.loss == 0.25 and study.spending().cost == 3
    assert not file.exists()


def test_it_is_shown_in_the_direction_of_the_user_and_in_the_table(
    where: str, tmp_path: Path
) -> None:
    with pb.open_study(where, SPACE, EPOCHS, maximize=True, folder=tmp_path / "study") as study:
        failed_at_attempt_2(study)
        study.turn(Report(0, 1, -0.75, details={"cost": 3.0, "seconds": 9.5}), "")
        overview = study_overview(study, [], study.journal.now())
        assert overview.best is not None and overview.best.value == 0.75
    text = io.StringIO()
    with redirect_stdout(text):
        assert main(["export", where]) == 0
    rows = list(csv.DictReader(io.StringIO(text.getvalue())))
    assert [(row["status"], row["value"], row["origin"]) for row in rows] == [
        ("failed", "", "mode"),
        ("succeeded", "0.75", "imported"),
    ]
    assert (rows[1]["cost"], rows[1]["seconds"]) == ("3.0", "9.5")


def test_a_snapshot_after_it_stands_for_the_same_study(study: pb.DurableStudy) -> None:
    failed_at_attempt_2(study)
    study.turn(Report(0, 1, 0.25, details={"cost": 3.0}), "")
    view = study._view
    data = packed_snapshot(SPACE, view.state.history, view.ledger)
    snapshot, first = unpacked(data or b""), study.journal.first()
    assert snapshot is not None and first is not None
    other = StudyView(study.problem, "", "me")
    restore(other, first, snapshot)
    assert other.state.history.events == view.state.history.events
    assert other.ledger.to_data() == view.ledger.to_data()
    assert taken(study, "next") == (2, 1) and study.replay().exact


def test_a_trial_is_not_retried_if_its_result_came_late(
    study: pb.DurableStudy, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    failed_at_attempt_2(study)
    study.turn(Report(0, 1, 0.25), "")
    assert main(["retry", where, "--failed"]) == 1
    said = capsys.readouterr().err
    assert "Nothing to retry: 1 trial, but their result was added later." in said
    assert main(["retry", where, "0"]) == 0  # if it is asked for
    study.refresh()
    assert taken(study, "again") == (2, 1)


def test_a_late_result_may_come_after_the_trial_was_retried(study: pb.DurableStudy) -> None:
    failed_at_attempt_2(study)
    study.retry([0])
    assert taken(study, "again") == (1, 1)
    study.turn(Report(1, 1, 0.5), "")
    study.turn(Report(0, 1, 0.25), "")
    history = study.state.history
    assert history.trial(1).config == history.trial(2).config == history.trial(0).config
    assert study.best is not None and study.best.loss == 0.25 and study.replay().exact
