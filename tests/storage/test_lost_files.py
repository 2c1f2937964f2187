"""Files that are removed, renamed or replaced while a study is open."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stored_studies import EPOCHS, SPACE, loss
from waiting import LONGEST

import priorband as pb
from priorband.durable.messages import Assignment
from priorband.durable.open import journal_at
from priorband.errors import DamagedError, StorageError
from priorband.storage.high_water import HighWater
from priorband.storage.journal import Beat
from priorband.storage.spool import VARIABLE, Spool
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker

pytestmark = pytest.mark.skipif(os.name != "posix", reason="an open file cannot be removed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "study"


@pytest.fixture
def study(folder: Path) -> Iterator[pb.DurableStudy]:
    """A study with two results."""
    with pb.open_study(folder, SPACE, EPOCHS, patience=0) as study:
        tell(study, 2)
        yield study


def tell(study: pb.DurableStudy, trials: int) -> None:
    for _ in range(trials):
        trial = study.ask()
        assert study.tell(trial, loss(trial))


def told(folder: Path) -> int:
    """How many results a process finds that opens the study now."""
    code = f"""if True:
        import priorband as pb
        with pb.open_study({str(folder)!r}, read_only=True) as study:
            print(len(study.state.history.observations))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def refuses(study: pb.DurableStudy, trial: pb.Trial, what: str) -> None:
    """Neither acknowledges a result, nor hands out a trial, nor renews a lease."""
    for _ in range(2):
        with pytest.raises(StorageError, match=what):
            study.tell(trial, loss(trial))
        with pytest.raises(StorageError, match=what):
            study.ask()
        with pytest.raises(StorageError, match=what):
            study.turn(None, "more")
        with pytest.raises(StorageError, match=what):
            study.journal.beat(study.worker, [Beat(trial.id, 1)], LONGEST)


def _remove_database(folder: Path) -> None:
    (folder / "study.db").unlink()


def _replace_folder(folder: Path) -> None:
    folder.rename(folder.with_name("away"))
    folder.mkdir()


def _replace_database(folder: Path) -> None:
    shutil.copy(folder / "study.db", folder / "copy.db")
    os.replace(folder / "copy.db", folder / "study.db")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (shutil.rmtree, "does not exist"),
        (_remove_database, "does not exist"),
        (lambda folder: folder.rename(folder.with_name("away")), "does not exist"),
        (_replace_folder, "does not exist"),
        (_replace_database, "was replaced by another file"),
    ],
    ids=["removed", "database", "renamed", "empty", "replaced"],
)
def test_what_nobody_can_find_is_not_acknowledged(
    study: pb.DurableStudy, folder: Path, change: Callable[[Path], object], what: str
) -> None:
    trial = study.ask()
    change(folder)
    refuses(study, trial, what)
    assert not (folder / "study.lock").exists() or (folder / "study.head").exists()


def _replace_by_another_study(folder: Path) -> None:
    folder.rename(folder.with_name("away"))
    with pb.open_study(folder, SPACE, EPOCHS, seed=7) as other:
        tell(other, 20)


@pytest.mark.parametrize(
    "change", [_replace_folder, _replace_by_another_study], ids=["away", "replaced"]
)
def test_a_reader_does_not_take_a_folder_that_was_moved_for_damaged(
    study: pb.DurableStudy, folder: Path, change: Callable[[Path], object]
) -> None:
    """A worker that waits for the write lock reads what others write: it must go on waiting."""
    change(folder)
    for read in (
        lambda: study.journal.read(0),
        lambda: study.journal.read(3),
        lambda: list(study.journal.read_in_pages()),
        lambda: study.is_idle(),
        lambda: study.refresh(),
    ):
        with pytest.raises(StorageError, match="while the study was open"):
            read()
    shutil.rmtree(folder)
    folder.with_name("away").rename(folder)
    tell(study, 1)


def test_a_removal_in_the_middle_of_a_transaction_is_noticed(
    study: pb.DurableStudy, folder: Path
) -> None:
    with (
        pytest.raises(StorageError, match="does not exist"),
        study.journal.transaction(0) as transaction,
    ):
        transaction.confirmed = True
        folder.rename(folder.with_name("away"))


def test_work_goes_on_when_the_folder_is_back(study: pb.DurableStudy, folder: Path) -> None:
    trial = study.ask()
    away = folder.rename(folder.with_name("away"))
    refuses(study, trial, "does not exist")
    away.rename(folder)
    assert study.tell(trial, loss(trial))
    assert told(folder) == 3
    tell(study, 1)
    assert told(folder) == 4


def test_a_trial_that_was_not_handed_out_is_handed_out_later(
    study: pb.DurableStudy, folder: Path
) -> None:
    away = folder.rename(folder.with_name("away"))
    with pytest.raises(StorageError):
        study.turn(None, "third")
    away.rename(folder)
    answer = study.turn(None, "third")
    assert isinstance(answer, Assignment) and answer.trial.id == 2


def test_a_new_study_at_the_old_path_is_left_alone(study: pb.DurableStudy, folder: Path) -> None:
    trial = study.ask()
    folder.rename(folder.with_name("away"))
    with pb.open_study(folder, SPACE, EPOCHS, seed=7) as other:
        tell(other, 1)
        refuses(study, trial, "was replaced by another file")
        study.close()
        refuses(study, trial, "was replaced by another file")
        tell(other, 1)
        rows = other.journal.read(0)
        assert {row.worker for row in rows[1:]} == {other.worker}
    assert told(folder) == 2
    assert told(folder.with_name("away")) == 2


@pytest.mark.parametrize("first", [False, True])
def test_the_head_of_a_new_study_is_left_alone(
    study: pb.DurableStudy, folder: Path, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    """The folder is exchanged between the commit and the writing of the head file."""
    trial, write = study.ask(), HighWater.write
    if first:
        study.close()  # so that the head file is opened after the exchange

    def exchange_and_write(head: HighWater, seq: int, seal: int) -> bool:
        monkeypatch.undo()
        folder.rename(folder.with_name("away"))
        with pb.open_study(folder, SPACE, EPOCHS, seed=7) as other:
            tell(other, 1)
        return write(head, seq, seal)

    study.patience = 0
    monkeypatch.setattr(HighWater, "write", exchange_and_write)
    with pytest.raises(StorageError, match="was replaced by another file"):
        study.tell(trial, loss(trial))
    study.close()
    assert told(folder) == 1
    assert told(folder.with_name("away")) == 3


@pytest.mark.parametrize("names", [("wal",), ("shm",), ("wal", "shm")])
def test_results_in_a_log_that_was_removed_are_found_again(
    study: pb.DurableStudy, folder: Path, names: tuple[str, ...]
) -> None:
    trial = study.ask()
    for name in names:
        (folder / f"study.db-{name}").unlink()
    refuses(study, trial, "was removed or replaced")
    study.close()
    assert told(folder) == 2
    with pb.open_study(folder) as again:
        assert again.tell(trial.id, loss(trial))
    assert told(folder) == 3


def test_a_process_whose_log_was_removed_does_not_delete_a_new_one(
    folder: Path, tmp_path: Path
) -> None:
    """Closed as the last one, SQLite would delete the log of another process by its name."""
    code = f"""if True:
        import sys, priorband as pb
        study = pb.open_study({str(folder)!r}, patience=0)
        trial = study.ask()
        print(trial.id, flush=True)
        input()
        try:
            study.tell(trial, 0.5)
            print("acknowledged", flush=True)
        except pb.errors.StorageError:
            print("refused", flush=True)
        input()
        study.close()
    """
    with pb.open_study(folder, SPACE, EPOCHS):
        pass
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout and other.stdin
        number = int(other.stdout.readline())
        for name in ("wal", "shm"):
            (folder / f"study.db-{name}").unlink()
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == "refused\n"
        study = pb.open_study(folder, patience=0)
        assert study.tell(number, 0.25)
        shutil.copytree(folder, tmp_path / "killed")  # as if this process were killed now
        study.close()
        assert (folder / "study.db-wal").stat().st_size  # it is not the last one
        other.stdin.write("\n")
        other.stdin.close()
        assert other.wait(LONGEST) == 0
    assert told(tmp_path / "killed") == 1
    assert told(folder) == 1


def _two_versions(folder: Path) -> Path:
    """A study, and an older copy of its database."""
    with pb.open_study(folder, SPACE, EPOCHS, patience=0) as study:
        tell(study, 3)
    older = folder.with_name("older.db")
    shutil.copy(folder / "study.db", older)
    with pb.open_study(folder, patience=0) as study:
        tell(study, 40)
    return older


def test_a_database_that_is_overwritten_in_place_is_noticed(folder: Path) -> None:
    older = _two_versions(folder)
    with pb.open_study(folder, patience=0) as study:
        trial = study.ask()
        with open(folder / "study.db", "r+b") as file:
            inode = os.fstat(file.fileno()).st_ino
            file.truncate()
            file.write(older.read_bytes())
        assert (folder / "study.db").stat().st_ino == inode
        for _ in range(2):
            with pytest.raises((StorageError, DamagedError)):
                study.tell(trial, loss(trial))
            with pytest.raises((StorageError, DamagedError)):
                study.ask()


def test_another_study_written_over_the_database_is_noticed(folder: Path, tmp_path: Path) -> None:
    _two_versions(folder)
    with pb.open_study(tmp_path / "other", SPACE, EPOCHS, seed=3) as other:
        tell(other, 60)
    with pb.open_study(folder, patience=0) as study:
        trial = study.ask()
        shutil.copyfile(tmp_path / "other" / "study.db", folder / "study.db")
        with pytest.raises((StorageError, DamagedError)):
            study.tell(trial, loss(trial))


def test_a_database_with_a_new_date_is_still_the_same(folder: Path) -> None:
    """As after `touch`, with which people keep files from being cleaned up."""
    _two_versions(folder)
    with pb.open_study(folder, patience=0) as study:
        for _ in range(3):
            trial = study.ask()
            shutil.copyfile(folder / "study.db", folder.with_name("copy.db"))
            shutil.copyfile(folder.with_name("copy.db"), folder / "study.db")
            os.utime(folder / "study.db", (1, 1))
            assert study.tell(trial, loss(trial))
    assert told(folder) == 46


def test_writers_share_the_lock_file_that_is_there(study: pb.DurableStudy, folder: Path) -> None:
    """A lock file looks like something that one may delete."""
    other = journal_at(folder)
    entered, leave = threading.Event(), threading.Event()

    def write() -> None:
        with other.transaction(0):
            entered.set()
            assert leave.wait(LONGEST)

    (folder / "study.lock").unlink()
    tell(study, 1)
    thread = threading.Thread(target=write)
    thread.start()
    assert entered.wait(LONGEST)
    lock = study.journal._write_lock  # type: ignore[attr-defined]  # of a folder
    assert not lock.try_acquire()
    leave.set()
    thread.join(LONGEST)
    other.close()
    tell(study, 1)
    assert told(folder) == 4


def test_a_head_file_that_was_removed_is_written_again(
    study: pb.DurableStudy, folder: Path
) -> None:
    trial = study.ask()
    (folder / "study.head").unlink()
    assert study.tell(trial, loss(trial))
    assert told(folder) == 3


def test_a_process_reads_on_without_a_head_file_until_one_is_written(
    study: pb.DurableStudy, folder: Path
) -> None:
    (folder / "study.head").unlink()
    assert len(study.journal.read(0)) == 5
    study.refresh()
    tell(study, 1)
    assert told(folder) == 3


def test_a_folder_that_comes_back_while_it_is_read_is_not_taken_for_damaged(
    study: pb.DurableStudy, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head file is read while another study is there, and the rest once this one is back."""
    read = HighWater.read

    def read_elsewhere(head: HighWater) -> tuple[int, int]:
        monkeypatch.undo()
        return 4, 123456789

    monkeypatch.setattr(HighWater, "read", read_elsewhere)
    with pytest.raises(StorageError, match="replaced while it was read"):
        study.journal.read(0)
    assert HighWater.read is read
    assert len(study.journal.read(0)) == 5


def test_a_head_file_that_names_another_record_is_noticed(
    study: pb.DurableStudy, folder: Path, tmp_path: Path
) -> None:
    with pb.open_study(tmp_path / "other", SPACE, EPOCHS) as other:
        tell(other, 20)
    trial = study.ask()
    os.replace(tmp_path / "other" / "study.head", folder / "study.head")
    with pytest.raises(DamagedError, match="says that record"):
        study.tell(trial, loss(trial))


@pytest.mark.parametrize("broken", ["renamed", "overwritten"])
def test_a_worker_keeps_the_result_of_a_study_that_is_gone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "spool"))
    away, older = folder.with_name("away"), _two_versions(folder)

    def objective(trial: pb.Attempt) -> float:
        if broken == "renamed":
            folder.rename(away)
        else:
            shutil.copytree(folder, away)
            shutil.copyfile(older, folder / "study.db")
        return 0.125

    options = WorkerOptions(start="same-process", patience=0.1)
    with pb.open_study(folder, patience=0) as study:
        study.limit(pb.Budget(trials=44))
        name = study.ledger.study
        assert Worker(study, objective, options).run().status == "storage"
    assert [data["loss"] for data in Spool(name).waiting().values()] == [0.125]
    shutil.rmtree(folder, ignore_errors=True)
    away.rename(folder)
    with pb.open_study(folder, patience=0) as study:
        assert Worker(study, lambda trial: 0.5, options).run().status == "done"
        assert study.best is not None and 0.125 in [
            o.loss for o in study.state.history.observations
        ]
    assert not Spool(name).waiting()
