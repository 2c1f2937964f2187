"""Workers that are stopped, whose storage does not answer, or whose disk is full."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from objectives import EPOCHS, GATE, SPACE, counted, value
from servers import Server, fresh_url
from waiting import wait_until

import priorband as pb
from priorband.durable.expiry import DOUBT
from priorband.durable.messages import Assignment, Report
from priorband.durable.open import journal_at
from priorband.errors import StorageError
from priorband.storage import checkpoints
from priorband.storage.heartbeat import BEATS
from priorband.storage.json_text import LONGEST, to_json
from priorband.storage.spool import VARIABLE, Spool
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker, WorkerEnd

HERE = WorkerOptions(start="same-process")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "spool"))
    with pb.open_study(tmp_path / "study", SPACE, EPOCHS) as opened:
        opened.limit(pb.Budget(trials=1))
        yield opened


def full(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def failing(study: pb.DurableStudy, times: int, appended: bool = True) -> list[float]:
    """Let the next writes fail, after what was to be written is in the cache; when they did."""
    real, when = study.journal.transaction, list[float]()

    def transaction(*given: Any) -> Any:
        if len(when) < times:
            when.append(time.monotonic())
            if appended:
                study._view.forget()
            raise StorageError("The disk is full.")
        return real(*given)

    vars(study.journal)["transaction"] = transaction
    return when


def test_a_result_is_spooled_under_its_study_also_after_a_write_failed(
    study: pb.DurableStudy, tmp_path: Path
) -> None:
    name, kept = study.ledger.study, list[Path]()

    def objective(trial: pb.Attempt) -> float:
        failing(study, 2)
        return value(trial)

    def say(text: str) -> None:
        kept.extend(Spool(name).waiting())

    assert Worker(study, objective, HERE, say).run().status == "done"
    assert kept and not Spool(name).waiting()


def test_a_worker_waits_until_it_can_hand_in_what_another_has_left(study: pb.DurableStudy) -> None:
    assert isinstance(study.turn(None, "killed while it waited"), Assignment)
    Spool(study.ledger.study).put("0-1", Report(0, 1, 0.25).to_data())
    failing(study, 2, appended=False)
    assert Worker(study, value, HERE).run().status == "done"
    assert study.best is not None and study.best.loss == 0.25


def test_one_that_is_asked_to_stop_does_not_hammer_at_the_storage(study: pb.DurableStudy) -> None:
    worker = Worker(study, value, WorkerOptions(start="same-process", grace=1.0))
    worker.stop_signals.request_stop("SIGTERM")
    tries = failing(study, 1_000_000)
    with pytest.raises(StorageError, match="Gave up"):
        worker._retry(lambda: study.turn(None, "more"))
    assert len(tries) < 20


def test_who_comes_second_leaves_the_winners_checkpoint(study: pb.DurableStudy) -> None:
    def late(trial: pb.Attempt) -> float:
        """Another attempt is made, and ends, while this one goes on."""
        (trial.checkpoint_dir / "by").write_text("late")
        study.turn(Report(0, 1, None, "preempted", "frozen"), "other")
        assert study.checkpoints is not None
        (study.checkpoints.workplace(0, 2) / "by").write_text("winner")
        study.turn(Report(0, 2, 0.25), "")
        return 0.5

    assert (
        Worker(study, late, WorkerOptions(start="same-process", keep="all")).run().status == "done"
    )
    assert study.checkpoints is not None and study.best is not None and study.best.loss == 0.25
    left = study.checkpoints.left_by(0, 2)
    assert left is not None and (left / "by").read_text() == "winner"


def test_a_full_disk_costs_the_curve_and_the_copies_but_not_the_training(
    study: pb.DurableStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def objective(trial: pb.Attempt) -> float:
        monkeypatch.setattr(trial._checkpoints, "seal", full, raising=False)
        for step in trial.steps():
            (trial.checkpoint_dir / "step").write_text(str(step))
            with monkeypatch.context() as patch:
                patch.setattr(json, "dumps", full)
                trial.report(step, loss=1.0)
        return 0.5

    monkeypatch.setattr(checkpoints.Checkpoints, "seal", full)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert Worker(study, objective, HERE).run().status == "done"
    assert study.best is not None and study.best.loss == 0.5
    said = " ".join(str(warning.message) for warning in warned)
    assert "point of the curve could not be kept" in said
    assert "checkpoint of step 1 could not be kept" in said


def test_nobody_goes_on_from_a_checkpoint_that_could_not_be_synced(
    study: pb.DurableStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def objective(trial: pb.Attempt) -> float:
        (trial.checkpoint_dir / "weights").write_text("1")
        return 0.5

    monkeypatch.setattr(checkpoints.Checkpoints, "sync", full)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert Worker(study, objective, HERE).run().status == "done"
    assert "checkpoint of trial 0 is lost" in str(said[0].message)
    assert study.best is not None and study.best.loss == 0.5
    assert study.checkpoints is not None and study.checkpoints.left_by(0, 1) is None


def test_metrics_without_end_do_not_spoil_the_study(study: pb.DurableStudy) -> None:
    many = {f"m{number:0200}": number for number in range(LONGEST // 100)}
    given = {"loss": 0.5, "curve": [0.25] * (LONGEST // 2), "first": 1} | many
    assert Worker(study, lambda trial: given, HERE).run().status == "done"
    with pb.open_study(study.where) as again:
        assert again.best is not None and again.best.loss == 0.5
        (told,) = (row for row in again.journal.trial_rows(0) if row.kind == "told")
    kept = json.loads(told.body)["metrics"]
    assert kept["first"] == 1 and "characters" in kept["curve"] and "more metrics" in kept["..."]


def test_a_record_that_nobody_could_read_is_not_written(study: pb.DurableStudy) -> None:
    trial = study.ask()
    with pytest.raises(pb.errors.FormatError, match="too long"):
        to_json({"reason": "x" * LONGEST})
    with pytest.raises(pb.errors.FormatError, match="too long"):
        study.fail(trial, "x" * LONGEST)
    with pb.open_study(study.where) as again:
        assert again.state.history.running == (trial,)


def test_a_living_worker_beats_between_two_looks_at_its_lease() -> None:
    assert 1.2 / BEATS < DOUBT


def test_a_result_is_spooled_while_storage_is_away_and_handed_in_later(
    tmp_path: Path, new_postgres: Callable[[], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIORBAND_SPOOL", str(tmp_path / "spool"))
    server = new_postgres()
    where = fresh_url(server)
    said: list[str] = []

    def unlucky(trial: pb.Attempt) -> float:
        server.kill()
        return 0.25

    with pb.open_study(where, SPACE, EPOCHS, folder=tmp_path) as study:
        study.limit(pb.Budget(trials=1))
        options = WorkerOptions(start="same-process", patience=0.5)
        ending = Worker(study, unlucky, options, said.append).run()
        assert ending.status == "storage"
        assert any("is kept in" in text for text in said) and any("Waiting" in t for t in said)
        assert len(Spool(study.ledger.study).waiting()) == 1
    server.restart()
    with pb.open_study(where, folder=tmp_path) as study:
        Worker(study, counted, WorkerOptions(start="same-process"), said.append).run()
        assert study.best is not None and study.best.loss == 0.25
        assert Spool(study.ledger.study).waiting() == {}
        assert any("Submitted" in text for text in said)


def returns_nan(trial: pb.Attempt) -> float:
    return float("nan")


def test_a_lost_attempt_is_continued_from_its_last_complete_checkpoint(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "import objectives as o, priorband as pb\n"
        "if __name__ == '__main__':\n"
        "    pb.tune(o.waits, o.SPACE, o.EPOCHS, budget=pb.Budget(trials=1), study=sys.argv[1])\n"
    )
    (tmp_path / "go.py").write_text(script)
    here = str(Path(__file__).parent)
    where = tmp_path / "study"
    command = [sys.executable, str(tmp_path / "go.py"), str(where), here]
    with subprocess.Popen(command, env=os.environ | {GATE: str(tmp_path)}) as worker:
        try:
            wait_until(lambda: list(where.glob("trials/0/1.step-*")), "a step that is saved")
        finally:
            worker.kill()
    with pb.open_study(where) as study:
        claim = study.turn(None, "next")
        assert isinstance(claim, Assignment) and (claim.trial.id, claim.attempt) == (0, 2)
        ran: list[float] = []

        def noted(trial: pb.Attempt) -> float:
            assert trial.resume_from is not None
            assert int((trial.resume_from / "epoch").read_text()) == trial.start
            ran.extend(trial.steps())
            return 0.5

        working = Worker(study, noted, WorkerOptions(start="same-process"))
        report = working._evaluate(claim)
        assert report.loss == 0.5 and ran == list(range(2, 10))


def test_a_trial_handed_out_while_the_worker_is_asked_to_stop_is_given_back(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=9))
        worker = Worker(study, returns_nan, WorkerOptions(start="same-process"))
        turn = study.turn

        def turned(report: Any, request: str) -> Any:
            if request and not worker.stop_signals.reason:
                worker.stop_signals.request_stop("SIGTERM")
            return turn(report, request)

        vars(study)["turn"] = turned
        assert worker.run().status == "stopped"
        assert list(study.ledger.waiting) == [0] and study.journal.leases() == []


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The place of a study whose write lock may be held for long."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "spool"))
    monkeypatch.setattr("priorband.storage.write_lock.LOCK_TIMEOUT", 600)
    monkeypatch.setattr("priorband.storage.postgres.LOCK_TIMEOUT", 600)
    monkeypatch.setattr("priorband.storage.postgres.LONGEST_WAIT", 0.1)
    if request.param == "sqlite":
        return str(tmp_path / "study")
    return fresh_url(request.getfixturevalue("postgres"))


def test_a_worker_that_is_asked_to_stop_does_not_wait_for_the_lock(
    where: str, tmp_path: Path
) -> None:
    with pb.open_study(where, SPACE, EPOCHS, folder=_folder(where, tmp_path)) as study:
        study.limit(1)
        worker = Worker(study, value, HERE)
        worker.stop_signals.request_stop("SIGTERM")
        with closing(journal_at(where)) as other, other.transaction(study.ledger.seq):
            assert worker.run() == WorkerEnd("stopped", "SIGTERM")


def test_a_result_is_spooled_after_the_grace_if_the_lock_is_held(
    where: str, tmp_path: Path
) -> None:
    options = WorkerOptions(start="same-process", grace=0)
    with (
        closing(journal_at(where)) as other,
        ExitStack() as held,
        pb.open_study(where, SPACE, EPOCHS, folder=_folder(where, tmp_path)) as study,
    ):

        def objective(trial: pb.Attempt) -> float:
            held.enter_context(other.transaction(study.ledger.seq))
            worker.stop_signals.request_stop("SIGTERM")
            return value(trial)

        study.limit(1)
        worker = Worker(study, objective, options)
        assert worker.run().status == "storage"
        assert len(Spool(study.ledger.study).waiting()) == 1


def _folder(where: str, tmp_path: Path) -> Path | None:
    return tmp_path / "folder" if "://" in where else None


def test_a_result_that_was_spooled_for_a_copy_of_a_study_is_not_taken(
    study: pb.DurableStudy, tmp_path: Path
) -> None:
    study.limit(pb.Budget(trials=2))
    shutil.copytree(tmp_path / "study", tmp_path / "copy")
    with pb.open_study(tmp_path / "copy") as copied:
        copied.queue(SPACE.complete({"x": 0.9}))

        def objective(trial: pb.Attempt) -> float:
            failing(copied, 100)
            return 0.125

        options = WorkerOptions(start="same-process", patience=0)
        assert Worker(copied, objective, options).run().status == "storage"
    spool = Spool(study.ledger.study)
    [kept] = spool.waiting()
    said: list[str] = []
    assert isinstance(study.turn(None, "first"), Assignment)
    study.turn(Report(0, 1, None, "preempted", "it was stopped"), "")
    assert Worker(study, value, HERE, said.append).run().status == "done"
    assert [kept] == [*spool.waiting()]
    [about] = [text for text in said if str(kept) in text]
    assert "trial 0 has another configuration" in about and "a copy of this study" in about
    assert 0.125 not in [one.loss for one in study.state.history.observations]


def test_a_result_of_a_trial_that_a_backup_does_not_have_is_kept(study: pb.DurableStudy) -> None:
    spool, said = Spool(study.ledger.study), list[str]()
    kept = spool.put("7-1", Report(7, 1, 0.25).to_data())
    assert Worker(study, value, HERE, said.append).run().status == "done"
    assert [kept] == [*spool.waiting()]
    assert any("there is no trial 7" in text for text in said)
