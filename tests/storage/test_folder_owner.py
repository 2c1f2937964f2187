"""Whose checkpoints a folder holds: each study has its own, and refuses those of others."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from servers import Server, fresh_url
from stored_studies import EPOCHS, SPACE, Shapes, checkpoints_in, end, rows, write_rows

import priorband as pb
from priorband.durable.open import checkpoint_folder
from priorband.errors import FormatError, MismatchError
from priorband.problem import make_problem
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.storage.checkpoints import Checkpoints
from priorband.storage.folder_owner import owner_at
from priorband.storage.sqlite import SqliteJournal
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker

FIRST, SECOND = "1" * 16, "2" * 16


def saves(trial: pb.Attempt) -> float:
    """Saves the configuration, and says if it was given the checkpoint of another one."""
    mine = json.dumps(trial.config)
    if trial.resume_from:
        assert (trial.resume_from / "config").read_text() == mine
    for step in trial.steps():
        trial.report(step, loss=1.0)
        (trial.checkpoint_dir / "config").write_text(mine)
    return float(trial.config["x"])


def work(where: str | Path, trials: int = 2, **opening: Any) -> str:
    """Run a worker in this process; how it ended."""
    with pb.open_study(where, SPACE, EPOCHS, **opening) as study:
        study.limit(pb.Budget(trials=study.ledger.trials + trials))
        end = Worker(study, saves, WorkerOptions(start="same-process", keep="all")).run()
        return "done" if end.status == "done" else end.reason


def tree(folder: Path) -> dict[str, bytes]:
    """Everything in a folder."""
    return {str(p): p.read_bytes() if p.is_file() else b"" for p in folder.rglob("*")}


def study_id(where: str | Path) -> str:
    with pb.open_study(where, read_only=True) as study:
        return study.ledger.study


def exchange_records(one: Path, other: Path) -> None:
    """Put the records of another study where those of one are."""
    for name in ("study.db", "study.head"):
        shutil.copy(other / name, one / name)


def test_a_worker_marks_its_folder_and_a_reader_does_not(place: Path) -> None:
    with pb.open_study(place / "study", SPACE, EPOCHS) as study:
        study.tell(study.ask(), 0.5)
        assert study.checkpoints is not None and study.checkpoints.left_by(0, 1) is None
    with pb.open_study(place / "study", read_only=True) as study:
        assert study.checkpoints is not None and study.checkpoints.held() == []
    assert not (place / "study" / "trials").exists()
    assert work(place / "study") == "done"
    owner = owner_at(place / "study")
    assert owner is not None and owner.study == study_id(place / "study")
    assert owner.unmarked == frozenset()


def test_a_folder_that_does_not_exist_is_created_by_a_worker_only(
    postgres: Server, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    where, folder = fresh_url(postgres), place / "deep" / "down" / "here"
    with pb.open_study(where, SPACE, EPOCHS, folder=folder) as study:
        study.limit(pb.Budget(trials=1))
    with pb.open_study(where, folder=folder, read_only=True) as study:
        assert study.checkpoints is not None and not study.checkpoints.knows(0)
    assert os.listdir(place) == []
    assert work(where, folder=folder) == "done"
    assert list((folder / "trials" / "0").glob("1-*/checkpoint/config"))


def test_the_usual_folder_of_a_study_in_a_database_is_created(
    postgres: Server, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    where = fresh_url(postgres)
    assert work(where) == "done"
    with pb.open_study(where, read_only=True) as study:
        folder = checkpoint_folder(study.journal)  # type: ignore[arg-type]  # it is one of these
    assert folder.parent == place and list((folder / "trials").glob("0/1-*/checkpoint/config"))


def test_fresh_processes_save_in_a_folder_that_did_not_exist(postgres: Server, place: Path) -> None:
    limits: dict[str, Any] = {"budget": pb.Budget(trials=1), "show": "quiet"}
    pb.tune(saves, SPACE, EPOCHS, study=fresh_url(postgres), folder=place / "a" / "b", **limits)
    assert list((place / "a" / "b" / "trials" / "0").glob("1-*/checkpoint/config"))
    assert (place / "a" / "b" / "trials" / "0" / "log-1.txt").exists()


def test_a_second_study_in_a_folder_is_refused_before_it_is_created(
    postgres: Server, place: Path
) -> None:
    first, second = fresh_url(postgres), fresh_url(postgres)
    assert work(first, folder=place) == "done"
    before = tree(place)
    with pytest.raises(MismatchError, match="another `folder`") as refused:
        work(second, folder=place)
    assert study_id(first) in str(refused.value)
    assert first.partition("#")[2] in str(refused.value)
    with pytest.raises(FormatError, match="There is no study"):
        pb.open_study(second, folder=place)
    assert tree(place) == before
    assert work(second, folder=place / "other") == "done"
    assert tree(place).items() >= before.items()


def test_a_second_study_that_exists_is_refused_by_both_names(postgres: Server, place: Path) -> None:
    first, second = fresh_url(postgres), fresh_url(postgres)
    for where in (first, second):
        pb.open_study(where, SPACE, EPOCHS, folder=place).close()
    with pb.open_study(second, folder=place) as late:
        late.limit(pb.Budget(trials=1))
        assert work(first, folder=place) == "done"
        before = tree(place)
        end = Worker(late, saves, WorkerOptions(start="same-process")).run()
        assert end.status == "storage" and late.ledger.trials == 0
        for said in (study_id(first), study_id(second), "--folder", "move or delete"):
            assert said in end.reason
    with pytest.raises(MismatchError, match="overwrite the checkpoints of the other"):
        pb.open_study(second, folder=place)
    assert tree(place) == before
    with pb.open_study(second, folder=place, read_only=True) as reader:
        assert reader.ledger.trials == 0


@pytest.mark.parametrize("marked", [True, False])
def test_a_new_study_does_not_take_the_checkpoints_of_a_deleted_one(
    place: Path, marked: bool
) -> None:
    assert work(place) == "done"
    for path in [*place.glob("study.*"), *([] if marked else [place / "trials" / "study.json"])]:
        path.unlink()
    before = tree(place)
    with pytest.raises(MismatchError, match="move or delete"):
        pb.open_study(place, SPACE, EPOCHS)
    assert tree(place) == before
    shutil.move(place / "trials", place / "old-trials")
    assert work(place) == "done"


def test_a_folder_with_other_things_in_it_is_no_obstacle(place: Path) -> None:
    (place / "trials" / "notes").mkdir(parents=True)
    assert work(place) == "done"


def test_a_study_that_another_process_has_just_created_is_joined(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert work(place, 1) == "done"
    exists, answers = SqliteJournal.exists, [False]
    monkeypatch.setattr(
        SqliteJournal, "exists", lambda self: answers.pop() if answers else exists(self)
    )
    with pb.open_study(place, SPACE, EPOCHS) as study:
        assert not answers and study.ledger.trials == 1


def test_records_that_were_exchanged_are_named(place: Path) -> None:
    one, other = place / "one", place / "other"
    for folder in (one, other):
        assert work(folder) == "done"
    ids = study_id(one), study_id(other)
    assert check(one).sound
    exchange_records(one, other)
    with pytest.raises(MismatchError, match=r"exchanged\?") as refused:
        pb.open_study(one)
    assert all(name in str(refused.value) for name in ids)
    [finding] = check(one).findings
    assert finding.where == "trials" and all(name in finding.what for name in ids)
    with pb.open_study(one, read_only=True) as study:
        assert study.ledger.study == ids[1]
    made = salvage(one, place / "new")
    assert [finding.where for finding in made.dropped] == ["trials"]
    assert not (place / "new" / "trials").exists()


def test_a_mark_that_is_damaged_says_what_to_do(place: Path) -> None:
    assert work(place) == "done"
    (place / "trials" / "study.json").write_text("{")
    with pytest.raises(FormatError, match=r"study\.json is damaged .* delete this file"):
        pb.open_study(place)
    assert [finding.where for finding in check(place).findings] == ["trials/study.json"]
    (place / "trials" / "study.json").unlink()
    assert work(place) == "done"


def test_a_salvaged_study_keeps_its_id_and_its_checkpoints(place: Path) -> None:
    old = place / "old"
    assert work(old, 3) == "done"
    genuine, name = rows(old), study_id(old)
    shutil.move(old / "trials", place / "trials")
    shutil.rmtree(old)
    write_rows(old, genuine[1:], end(genuine))  # the record of the creation is lost
    shutil.move(place / "trials", old / "trials")
    salvage(old, place / "new", make_problem(SPACE, EPOCHS, "priorband", 0, None))
    assert study_id(place / "new") == name
    with pb.open_study(place / "new") as study:
        assert study.checkpoints is not None
        assert all(study.checkpoints.left_by(trial, 1) for trial in range(3))


def old_study(shapes: Shapes, folder: Path) -> Path:
    """A study from before there were marks, with checkpoints of its trials 0 and 2."""
    shutil.copytree(shapes.closed, folder)
    for name in ("0/1", "2/1", "2/1.step-3", "5/2.from-3"):
        (folder / "trials" / name).mkdir(parents=True)
        (folder / "trials" / name / "model").write_text(name)
    return folder


def test_the_checkpoints_of_an_old_study_are_adopted(shapes: Shapes, place: Path) -> None:
    old = old_study(shapes, place / "old")
    assert check(old).sound
    with pb.open_study(old) as study:
        checkpoints = study.checkpoints
        assert checkpoints is not None
        checkpoints.claim()
        left = checkpoints.left_by(2, 1)
        assert left == old / "trials" / "2" / "1" and (left / "model").read_text() == "2/1"
        assert checkpoints.take_over(2, 2) == (old / "trials" / "2" / "2.from-3", 3.0)
        assert checkpoints.held() == [0, 2, 5]
        checkpoints.settle(2, 1)
        assert os.listdir(old / "trials" / "2") == ["1"]
        checkpoints.remove(0)
        assert checkpoints.held() == [2, 5]
    owner = owner_at(old)
    assert owner is not None and owner.unmarked == {0, 2, 5}
    (old / "trials" / "7" / "1").mkdir(parents=True)
    (old / "trials" / "7" / "1" / "model").write_text("from elsewhere")
    with pb.open_study(old) as study:
        assert study.checkpoints is not None
        assert study.checkpoints.left_by(2, 1) and study.checkpoints.left_by(7, 1) is None


def test_a_worker_continues_an_old_study(shapes: Shapes, place: Path) -> None:
    with pb.open_study(old_study(shapes, place / "old")) as study:
        study.limit(pb.Budget(trials=study.ledger.trials + 3))
        options = WorkerOptions(start="same-process", wait=False)  # not for a worker from back then
        assert Worker(study, lambda trial: 0.5, options).run().status == "done"
    assert check(place / "old").sound


@pytest.fixture
def checkpoints(place: Path) -> Checkpoints:
    return checkpoints_in(place, FIRST)


def saved(checkpoints: Checkpoints, trial: int, attempt: int = 1, step: int = 3) -> Path:
    """Save a checkpoint, and a copy of it at a step; the folder of the attempt."""
    work = checkpoints.workplace(trial, attempt)
    (work / "model").write_text(f"{trial}.{attempt}")
    checkpoints.seal(trial, attempt, step)
    return work.parent


def test_a_copy_during_which_a_file_changes_is_not_used(checkpoints: Checkpoints) -> None:
    folder = saved(checkpoints, 4)
    stamp = checkpoints.stamp(4, 1)
    (folder / "checkpoint" / "model").write_text("half of another one")
    assert not checkpoints.seal(4, 1, 5, stamp)
    taken = checkpoints.take_over(4, 2)
    assert taken is not None and taken[1] == 3 and (taken[0] / "model").read_text() == "4.1"
    assert checkpoints.seal(4, 1, 5, checkpoints.stamp(4, 1))


def test_an_attempt_says_whose_it_is(checkpoints: Checkpoints) -> None:
    assert json.loads((saved(checkpoints, 4) / "identity.json").read_text()) == {
        "study": FIRST,
        "trial": 4,
        "attempt": 1,
        "config": "config",
    }


@pytest.mark.parametrize("key", ["study", "trial", "attempt", "config", None])
def test_a_checkpoint_of_something_else_is_not_resumed(checkpoints: Checkpoints, key: str) -> None:
    said: list[str] = []
    work = saved(checkpoints, 4)
    assert checkpoints.left_by(4, 1) is not None
    for path in work.parent.glob("*/identity.json"):
        about = json.loads(path.read_text())
        path.write_text("{" if key is None else json.dumps(about | {key: "other"}))
    assert checkpoints.left_by(4, 1, said.append) is None
    assert checkpoints.take_over(4, 2, say=said.append) is None
    wrong = "cannot be read" if key is None else f"it is of {key} 'other'"
    assert len(said) == 3 and all(wrong in text for text in said)


def test_checkpoints_that_were_mixed_up_are_not_resumed(
    checkpoints: Checkpoints, place: Path
) -> None:
    work, other = saved(checkpoints, 4), saved(checkpoints, 5)
    shutil.rmtree(work)
    shutil.copytree(other, work)  # another trial
    copy = work.parent / work.name.replace("1-", "1.step-3-")
    shutil.rmtree(copy)
    foreign = saved(checkpoints_in(place / "second", SECOND), 4)
    shutil.copytree(foreign, copy)  # another study, under a name of this one
    shutil.copytree(foreign, work.parent / foreign.name)  # another study, under its own name
    assert checkpoints.left_by(4, 1) is None and checkpoints.take_over(4, 2) is None
    assert checkpoints.left_by(5, 1) is not None
    checkpoints.remove(4)
    assert os.listdir(work.parent) == [foreign.name]  # what is not ours is not removed


def test_a_copy_that_was_taken_over_can_be_taken_over_again(checkpoints: Checkpoints) -> None:
    saved(checkpoints, 4)
    for attempt in (2, 3):
        taken = checkpoints.take_over(4, attempt)
        assert taken is not None and taken[1] == 3
        assert (taken[0] / "model").read_text() == "4.1"


def test_copying_the_parents_files_does_not_change_whose_they_are(
    checkpoints: Checkpoints,
) -> None:
    saved(checkpoints, 4)
    left = checkpoints.left_by(4, 1)
    assert left is not None and os.listdir(left) == ["model"]
    work = checkpoints.workplace(9, 1)
    shutil.copytree(left, work, dirs_exist_ok=True)
    assert checkpoints.left_by(9, 1) == work and os.listdir(work) == ["model"]


def test_an_objective_may_replace_its_folder(checkpoints: Checkpoints) -> None:
    work = checkpoints.workplace(4, 1)
    new = work.with_name("new")
    new.mkdir()
    (new / "model").write_text("whole")
    shutil.rmtree(work)
    new.rename(work)
    assert checkpoints.left_by(4, 1) == work


def test_an_empty_folder_is_no_checkpoint(checkpoints: Checkpoints) -> None:
    assert checkpoints.stamp(4, 1) == ()
    work = checkpoints.workplace(4, 1)
    assert checkpoints.left_by(4, 1) is None and checkpoints.stamp(4, 1) == ()
    (work / "folder").mkdir()
    assert checkpoints.left_by(4, 1) == work


def test_an_odd_id_stays_within_the_folder(place: Path) -> None:
    odd = checkpoints_in(place / "study", "../../\ud800x")
    work = odd.workplace(0, 1)
    assert work.resolve().is_relative_to((place / "study" / "trials" / "0").resolve())


def test_all_is_done_in_the_folder_that_is_held(place: Path) -> None:
    checkpoints = checkpoints_in(place / "study", FIRST)
    checkpoints.hold()
    work = saved(checkpoints, 4)
    (place / "study").rename(place / "moved")
    other = checkpoints_in(place / "study", SECOND)
    saved(other, 4)
    before = tree(place / "study")
    assert checkpoints.moved
    with pytest.raises(MismatchError, match="was moved or replaced"):
        checkpoints.hold()
    assert not work.exists()  # the path of an objective leads nowhere
    checkpoints.seal(4, 1, 5)
    checkpoints.add_point(4, 1, "{}")
    checkpoints.note(4, 1, "a line")
    checkpoints.workplace(5, 1)
    checkpoints.take_over(4, 2)
    checkpoints.sync(4, 1)
    moved = place / "moved" / "trials"
    assert len(list(moved.glob("4/2.from-5-*/checkpoint/model"))) == 1
    assert (moved / "4" / "log-1.txt").read_text() == "a line\n" and (moved / "5").exists()
    checkpoints.settle(4, 1)
    checkpoints.remove(4)
    assert checkpoints.held() == [5] and not list(moved.glob("4/*/checkpoint"))
    assert tree(place / "study") == before


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_process_that_is_started_later_finds_the_folder_that_is_held(place: Path) -> None:
    checkpoints = checkpoints_in(place / "study", FIRST)
    held = checkpoints.hold()
    assert held is not None
    (place / "study").rename(place / "moved")
    saved(checkpoints_in(place / "study", SECOND), 4)
    before = tree(place / "study")
    if pid := os.fork():  # another process, as that of a trial is
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    else:
        try:
            checkpoints.close()
            child = Checkpoints(place / "study", FIRST, lambda trial: "config", held=held)
            child.add_point(7, 1, "{}")
            os._exit(0)
        finally:
            os._exit(1)
    assert (place / "moved" / "trials" / "7" / "curve-1.jsonl").exists()
    assert tree(place / "study") == before


def test_trials_that_were_deleted_are_created_again(place: Path) -> None:
    checkpoints = checkpoints_in(place / "study", FIRST)
    checkpoints.hold()
    shutil.rmtree(place / "study" / "trials")
    assert checkpoints.moved
    checkpoints.hold()
    assert saved(checkpoints, 1).exists() and not checkpoints.moved


def test_a_folder_that_cannot_be_used_is_named(place: Path) -> None:
    (place / "file").write_text("")
    for path in (place / "file", place / "file" / "inner"):
        with pytest.raises(FormatError, match="cannot be used as the folder for checkpoints"):
            checkpoints_in(path).claim()
