"""Checkpoints: kept while they are of use, removed when they are not."""

import os
from pathlib import Path
from typing import Any

import pytest
from objectives import EPOCHS, SPACE, counted
from stored_studies import checkpoints_in

import priorband as pb
from priorband.workers.checkpoint_cleanup import CheckpointCleanup
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker


def tuned(where: Path, method: str = "priorband", budget: float = 6, **options: Any) -> None:
    how: dict[str, Any] = {"show": "quiet", "start": "same-process"} | options
    pb.tune(counted, SPACE, EPOCHS, budget=budget, study=where, method=method, **how)


def test_only_what_can_be_continued_and_the_best_is_kept(tmp_path: Path) -> None:
    tuned(tmp_path)
    with pb.open_study(tmp_path) as study:
        checkpoints = study.checkpoints
        assert checkpoints is not None
        held = checkpoints.held()
        assert study.best is not None and study.best.trial.id in held
        assert set(held) == CheckpointCleanup(study, checkpoints).needed(held)
        history = study.state.history
        assert len(held) < len([t for t in history.trials if not history.promoted(t.id)])
        assert all((tmp_path / f"trials/{t.id}/curve-1.jsonl").exists() for t in history.trials)


def test_all_is_kept_on_request(tmp_path: Path) -> None:
    tuned(tmp_path, budget=3, keep="all")
    with pb.open_study(tmp_path) as study:
        assert study.checkpoints is not None
        assert study.checkpoints.held() == list(range(len(study.state.history)))


def test_where_anyone_may_rise_the_number_is_bounded(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS, method="asha") as study:
        study.limit(pb.Budget(trials=60))
        worker = Worker(study, counted, WorkerOptions(start="same-process"))
        worker.cleanup.max_kept = 5
        worker.run()
        assert study.checkpoints is not None
        assert len(study.checkpoints.held()) <= 5 + 2  # and the best two
        assert study.replay().exact
        continued = [t for t in study.state.history.trials if t.parent is not None]
        assert continued  # those whose parent's checkpoint was gone have started from scratch
        assert study.ledger.units >= study.state.history.spent


def test_a_zombie_does_not_spoil_what_its_successor_goes_on_from(tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path)
    work = checkpoints.workplace(3, 1)
    (work / "w").write_text("five")
    checkpoints.seal(3, 1, 5)
    taken = checkpoints.take_over(3, 2)
    assert taken is not None and taken[1] == 5
    (work / "w").write_text("six")
    checkpoints.seal(3, 1, 6)  # the first attempt was not dead after all
    assert (taken[0] / "w").read_text() == "five"
    again = checkpoints.take_over(3, 3)
    assert again is not None and again[1] == 6 and taken[0].exists()


def test_a_checkpoint_is_complete_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = checkpoints_in(tmp_path)
    work = checkpoints.workplace(0, 1)
    (work / "w").write_text("one")
    checkpoints.seal(0, 1, 1)

    def no_room(source: object, target: object, **folders: object) -> None:
        raise OSError("no room")

    (work / "w").write_text("two")
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", no_room)
        with pytest.raises(OSError, match="no room"):
            checkpoints.seal(0, 1, 2)
    taken = checkpoints.take_over(0, 2)
    assert taken is not None and taken[1] == 1 and (taken[0] / "w").read_text() == "one"
