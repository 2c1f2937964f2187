"""Checkpoints move along with the trials that are what they were, and no link is followed."""

import os
import shutil
from pathlib import Path

import pytest
from stored_studies import Shapes, checkpoints_in, end, rows, write_rows

import priorband as pb
from priorband.repair.salvage import salvage
from priorband.storage.journal import Row


@pytest.fixture
def old(shapes: Shapes, place: Path) -> Path:
    """A study with checkpoints of some trials."""
    folder = place / "old"
    shutil.copytree(shapes.closed, folder)
    checkpoints = checkpoints_in(folder, study_of(folder))
    for trial in (0, 2, 7):
        work = checkpoints.workplace(trial, 1)
        (work / "model").write_text(f"of {trial}")
        checkpoints.seal(trial, 1, 3)
        (folder / "trials" / str(trial) / "log-1.txt").write_text("all is well\n")
    return folder


def test_checkpoints_curves_and_logs_move_along(old: Path, place: Path) -> None:
    made = salvage(old, place / "new")
    assert made.dropped == ()
    assert _files(place / "new" / "trials") == _files(old / "trials")
    left = checkpoints_in(place / "new", study_of(old)).left_by(2, 1)
    assert left is not None and (left / "model").read_text() == "of 2"


def study_of(where: Path) -> str:
    """A study's id."""
    with pb.open_study(where, read_only=True) as study:
        return study.ledger.study


def _files(folder: Path) -> dict[str, str]:
    found = [path for path in folder.rglob("*") if path.is_file() and path.name != "study.json"]
    return {str(path.relative_to(folder)): path.read_text() for path in found}


def test_those_of_a_trial_that_is_decided_on_again_stay_behind(
    shapes: Shapes, old: Path, place: Path
) -> None:
    genuine = rows(shapes.closed)
    left = [row for row in genuine if not _asks(row, 7)]
    for name in ("study.db", "study.head"):
        (old / name).unlink()
    shutil.move(old / "trials", place / "trials")
    shutil.rmtree(old)
    write_rows(old, left, end(genuine))
    shutil.move(place / "trials", old / "trials")
    made = salvage(old, place / "new")
    assert sorted(os.listdir(place / "new" / "trials")) == ["0", "2"]
    [finding] = [finding for finding in made.dropped if finding.where == "trials/7"]
    assert (
        finding.what
        == "belongs to a trial that is not the same in the new study, so it is not copied"
    )


def _asks(row: Row, trial: int) -> bool:
    return row.kind == "asked" and row.trial == trial


def test_links_and_odd_things_stay_behind_by_name(old: Path, place: Path) -> None:
    outside = place / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    trials = old / "trials"
    (trials / "3").symlink_to(outside)
    (trials / "2" / "2").symlink_to(outside)
    (trials / "notes").mkdir()
    (trials / "0007").mkdir()
    [saved] = (trials / "7").glob("1-*/checkpoint")
    os.mkfifo(saved / "pipe")
    (saved / "latest").symlink_to(outside / "secret")
    made = salvage(old, place / "new")
    assert {finding.where for finding in made.dropped} == {
        "trials/3",
        "trials/2/2",
        "trials/notes",
        "trials/0007",
        str(saved.relative_to(old) / "pipe"),
    }
    new = place / "new" / "trials"
    assert sorted(os.listdir(new)) == ["0", "2", "7"]
    assert (
        new / saved.relative_to(trials) / "latest"
    ).is_symlink()  # within a checkpoint it is its maker's own
    assert sorted(os.listdir(outside)) == ["secret"]


def test_a_linked_folder_of_trials_is_not_followed(old: Path, place: Path) -> None:
    shutil.move(old / "trials", place / "elsewhere")
    (old / "trials").symlink_to(place / "elsewhere")
    made = salvage(old, place / "new")
    assert [str(finding) for finding in made.dropped] == [
        "trials is not a folder, so it is not copied"
    ]
    assert not (place / "new" / "trials").exists()
