"""A study whose folder is renamed while a worker is at work, and another study takes its place.

The objective does it itself, in its second step: so it happens at the same moment each time.
"""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from amounts import slow
from objectives import EPOCHS, SPACE

import priorband as pb
from priorband.repair.check import check
from priorband.storage.checkpoints import Checkpoints
from priorband.storage.spool import VARIABLE
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker, WorkerEnd


def run(where: Path, objective: Any, trials: int = 2, **options: Any) -> WorkerEnd:
    """One worker in this process, which soon gives up on storage that is gone.

    With the long lease it does not renew it in between: what then happens depends on the storage.
    """
    how: dict[str, Any] = {"start": "same-process", "keep": "all", "patience": 0.5} | options
    with pb.open_study(where, SPACE, EPOCHS, lease=6000) as study:
        study.limit(pb.Budget(trials=trials))
        return Worker(study, objective, WorkerOptions(**how)).run()


def run_in_a_process_of_its_own(where: Path, objective: Any, **options: Any) -> WorkerEnd:
    """A worker whose process has ended: what it could not give back is taken over at once."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(run, where, objective, **options).result()


def saves(trial: pb.Attempt) -> float:
    for step in trial.steps():
        (trial.checkpoint_dir / "epoch").write_text(f"new {step}")
        trial.report(step, loss=1.0)
    return 0.5


def contents(folder: Path) -> dict[str, str]:
    """Each file of the trials in a folder."""
    paths = [path for path in (folder / "trials").rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


def exchange(root: Path) -> None:
    """Rename a study, and make another one, with checkpoints of the same trials, in its place."""
    root.rename(root.with_name("moved"))
    assert run(root, saves).status == "done"
    (root.parent / "before").write_text(repr(contents(root)))


def keeps_its_path(trial: pb.Attempt) -> float:
    """Saves to a path that it keeps, as long as that exists."""
    kept = trial.checkpoint_dir
    for epoch in trial.steps():
        if epoch == 2:
            exchange(trial.task.root)
        if kept.exists():
            (kept / "epoch").write_text(f"old {epoch}")
        trial.report(epoch, loss=1.0)
        print("epoch", epoch)
    return 0.25


def insists_on_saving(trial: pb.Attempt) -> float:
    """Fails if it cannot save."""
    for epoch in trial.steps():
        if trial.attempt == 1 and epoch == 2:
            exchange(trial.task.root)
        (trial.checkpoint_dir / "epoch").write_text(f"old {epoch}")
    return 0.25


def creates_its_path(trial: pb.Attempt) -> float:
    """Creates the folder that it kept, if it is gone, which many do before they save."""
    kept = trial.checkpoint_dir
    for epoch in trial.steps():
        if epoch == 2:
            exchange(trial.task.root)
        os.makedirs(kept, exist_ok=True)
        (kept / "epoch").write_text(f"old {epoch}")
    return 0.25


@pytest.fixture(autouse=True)
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "spool"))


@pytest.mark.parametrize("fresh", [pytest.param(True, marks=slow), False])
def test_a_result_is_not_lost_and_the_other_study_is_left_alone(
    tmp_path: Path, fresh: bool
) -> None:
    old, moved = tmp_path / "study", tmp_path / "moved"
    end = run(old, keeps_its_path, start="warm" if fresh else "same-process")
    assert end.status == "storage"
    assert repr(contents(old)) == (tmp_path / "before").read_text()
    curve = (moved / "trials" / "0" / "curve-1.jsonl").read_text()
    assert len(curve.splitlines()) == 9
    if fresh:
        log = (moved / "trials" / "0" / "log-1.txt").read_text()
        assert "epoch 9\n" in log
    assert run(moved, saves).status == "done"  # a result in the spool is handed in
    with pb.open_study(moved) as study:
        assert [one.loss for one in study.state.history.observations] == [0.25, 0.5]
        assert study.checkpoints is not None
        assert study.checkpoints.left_by(0, 1) is None  # it is of step 1, not of step 9
        assert study.checkpoints.left_by(1, 2) or study.checkpoints.left_by(1, 1)
    assert check(moved).sound and check(old).sound


@pytest.mark.parametrize("fresh", [pytest.param(True, marks=slow), False])
def test_a_trial_that_cannot_save_is_given_back_and_continued_elsewhere(
    tmp_path: Path, fresh: bool
) -> None:
    old, moved = tmp_path / "study", tmp_path / "moved"
    end = run_in_a_process_of_its_own(
        old, insists_on_saving, start="warm" if fresh else "same-process"
    )
    assert end.status == "storage"
    assert repr(contents(old)) == (tmp_path / "before").read_text()
    resumed: list[str] = []

    def resumes(trial: pb.Attempt) -> float:
        if trial.resume_from:
            resumed.append((trial.resume_from / "epoch").read_text())
        return insists_on_saving(trial)

    with pb.open_study(moved) as study:
        assert study.ledger.failures == {}
    assert run(moved, resumes, 1).status == "done"
    assert resumed == ["old 1"]


def test_a_path_that_is_created_again_is_not_taken_for_a_checkpoint(tmp_path: Path) -> None:
    run(tmp_path / "study", creates_its_path)
    with pb.open_study(tmp_path / "study") as study:
        assert study.checkpoints is not None
        left = study.checkpoints.left_by(0, 1)
        assert left is not None and (left / "epoch").read_text() == "new 9"
        study.checkpoints.remove(0)
        assert study.checkpoints.held() == [1]


def test_a_folder_that_is_only_moved_ends_the_worker(tmp_path: Path) -> None:
    def moves(trial: pb.Attempt) -> float:
        trial.task.root.rename(tmp_path / "moved")
        return 0.25

    end = run(tmp_path / "study", moves)
    assert end.status == "storage" and "moved" in end.reason
    assert not (tmp_path / "study").exists()
    assert run(tmp_path / "moved", saves, 1).status == "done"
    with pb.open_study(tmp_path / "moved") as study:
        assert study.best is not None and study.best.loss == 0.25


def test_a_worker_waits_if_the_folder_is_away_when_a_trial_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away, said, hold = tmp_path / "away", list[str](), Checkpoints.hold

    def moves(checkpoints: Checkpoints) -> object:
        monkeypatch.undo()
        (tmp_path / "study").rename(away)
        return hold(checkpoints)

    def say(text: str) -> None:
        said.append(text)
        if away.exists():
            away.rename(tmp_path / "study")

    with pb.open_study(tmp_path / "study", SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=2))
        monkeypatch.setattr(Checkpoints, "hold", moves)
        options = WorkerOptions(start="same-process", keep="all")
        assert Worker(study, saves, options, say).run().status == "done"
    assert "was removed or moved while this worker was using it" in said[0]
    with pb.open_study(tmp_path / "study") as study:
        assert [one.loss for one in study.state.history.observations] == [0.5, 0.5]
