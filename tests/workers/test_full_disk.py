"""A disk that is full while an objective saves: the trial is handed back, and nothing fails."""

import errno
import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import slow
from objectives import EPOCHS, GATE, SPACE, saves, value
from waiting import wait_until

import priorband as pb
from priorband.storage.json_text import from_json
from priorband.storage.spool import VARIABLE
from priorband.workers import worker
from priorband.workers.objective_results import DISK_FULL, failure_from_exception
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker


def raised(make: Callable[[], object]) -> BaseException:
    """The exception that a function raises."""
    try:
        make()
    except BaseException as error:
        return error
    raise AssertionError("it raised nothing")


def out_of_room(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "/somewhere/model.pt")


def quota() -> None:
    raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))


def caused() -> None:
    try:
        out_of_room()
    except OSError as error:
        raise ValueError("the model could not be saved") from error


def in_context() -> None:
    try:
        out_of_room()
    finally:
        raise KeyError("cleaning up failed")


def in_a_group() -> None:
    raise ExceptionGroup("two things", [ValueError("a"), OSError(errno.ENOSPC, "full")])


def torch_without_a_reason() -> None:
    raise RuntimeError(
        "[enforce fail at inline_container.cc:603] . PytorchStreamWriter failed writing file "
        "data/15: file write failed"
    )


def torch_afterwards() -> None:
    raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 576 vs 534")


def other_library() -> None:
    raise RuntimeError("Error while serializing: No space left on device (os error 28)")


def database() -> None:
    raise sqlite3.OperationalError("database or disk is full")


def not_hidden_on_purpose() -> None:
    try:
        out_of_room()
    except OSError:
        raise ValueError("this configuration is too large") from None


def other_errno() -> None:
    raise OSError(errno.EACCES, "Permission denied")


FULL = [out_of_room, quota, caused, in_context, in_a_group, torch_without_a_reason]
FULL += [torch_afterwards, other_library, database]
OTHER = [not_hidden_on_purpose, other_errno, lambda: 1 / 0]


@pytest.mark.parametrize("make", FULL)
def test_a_full_disk_is_not_the_fault_of_the_configuration(make: Callable[[], object]) -> None:
    result = failure_from_exception(raised(make))
    assert result["kind"] == "preempted" and result["details"][DISK_FULL]
    assert result["reason"].startswith("a disk is full (")


@pytest.mark.parametrize("make", OTHER)
def test_other_errors_are_as_before(make: Callable[[], object]) -> None:
    result = failure_from_exception(raised(make))
    assert result["kind"] == "raised" and DISK_FULL not in result["details"]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pb.DurableStudy]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "spool"))
    monkeypatch.setattr(worker, "FIRST_WAIT", 0.01)
    with pb.open_study(tmp_path / "study", SPACE, EPOCHS) as opened:
        opened.limit(pb.Budget(trials=2))
        yield opened


def records(study: pb.DurableStudy) -> list[tuple[str, int | None, Any]]:
    rows = [row for row in study.journal.read(0) if row.trial is not None]
    return [(row.kind, row.trial, from_json(row.body).get("kind")) for row in rows]


HERE = WorkerOptions(start="same-process")


def test_the_trial_is_handed_back_until_there_is_room(study: pb.DurableStudy) -> None:
    tries, said = list[int](), list[str]()

    def objective(trial: pb.Attempt) -> float:
        tries.append(trial.id)
        with open(trial.checkpoint_dir / "weights", "w") as file:
            file.write("incomplete")
            if len(tries) < 4:
                out_of_room()
        assert study.checkpoints is not None
        folders = [path for path in study.checkpoints.folder(trial.id).iterdir() if path.is_dir()]
        assert [path.name.split("-")[0] for path in folders] == [str(trial.attempt)]
        return value(trial)

    assert Worker(study, objective, HERE, said.append).run().status == "done"
    assert tries == [0, 0, 0, 0, 1]
    again = [("returned", 0, "preempted"), ("adopted", 0, None)]
    asked = [("asked", 0, None), *again * 3, ("told", 0, None)]
    assert records(study) == [*asked, ("asked", 1, None), ("told", 1, None)]
    assert (
        "No space left on device: '/somewhere/model.pt'" in said[0]
        and "Waiting for room" in said[0]
    )
    assert study.ledger.failures == {} and study.replay().exact


def test_the_pauses_grow(study: pb.DurableStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses, tries = list[float](), list[int]()
    monkeypatch.setattr(Worker, "_pause", lambda self, seconds: pauses.append(seconds))
    monkeypatch.setattr(worker, "LONGEST_WAIT", 0.04)

    def objective(trial: pb.Attempt) -> float:
        tries.append(trial.id)
        if len(tries) < 6:
            out_of_room()
        return value(trial)

    assert Worker(study, objective, HERE).run().status == "done"
    assert sorted({*pauses}) == [0.01, 0.02, 0.04] == list(dict.fromkeys(pauses))


@pytest.mark.parametrize("patience", [0.0, 0.2])
def test_a_disk_that_stays_full_ends_the_worker(study: pb.DurableStudy, patience: float) -> None:
    tries = list[int]()

    def objective(trial: pb.Attempt) -> float:
        tries.append(trial.attempt)
        out_of_room()
        return 0.5

    ending = Worker(study, objective, WorkerOptions(start="same-process", patience=patience)).run()
    assert ending.status == "storage"
    assert ending.reason.startswith("Gave up after ") and "a disk is full" in ending.reason
    assert (len(tries) > 1) == (patience > 0)
    assert list(study.ledger.waiting) == [0] and study.journal.leases() == []
    assert study.ledger.failures == {}


def test_one_that_is_asked_to_stop_does_not_wait(
    study: pb.DurableStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "FIRST_WAIT", 1e6)

    def objective(trial: pb.Attempt) -> float:
        threading.Timer(0.05, lambda: working.stop_signals.request_stop("SIGTERM")).start()
        out_of_room()
        return 0.5

    working = Worker(study, objective, HERE)
    assert working.run().status == "stopped"
    assert list(study.ledger.waiting) == [0]


def test_an_objective_may_handle_it_by_itself(study: pb.DurableStudy) -> None:
    def objective(trial: pb.Attempt) -> float:
        try:
            out_of_room()
        except OSError:
            return 0.5
        return 0.1

    assert Worker(study, objective, HERE).run().status == "done"
    assert [kind for kind, _, _ in records(study)] == ["asked", "told"] * 2


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of eight megabytes."""
    if os.geteuid() or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "test", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path, but: int) -> Path:
    """Fill a disk, except for some bytes."""
    filler = disk / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(disk).free - but))
    return filler


def save_with_numpy(path: Path) -> None:
    np.save(path, np.ones(1_000_000))


def save_with_torch(path: Path) -> None:
    import torch

    torch.save({"weights": torch.ones(1_000_000)}, path)


def save_with_torch_to_a_file(path: Path) -> None:
    import torch

    with open(path, "wb") as file:
        torch.save({"weights": torch.ones(1_000_000)}, file)


def save_with_sqlite(path: Path) -> None:
    connection = sqlite3.connect(path)
    try:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (?)", (bytes(4_000_000),))
    finally:
        connection.close()


WAYS = [save_with_numpy, save_with_torch, save_with_torch_to_a_file, save_with_sqlite]


@pytest.mark.parametrize("save", WAYS)
def test_what_libraries_raise_on_a_full_disk_is_recognised(
    save: Callable[[Path], None], disk: Path
) -> None:
    if "torch" in save.__name__:
        pytest.importorskip("torch")
    fill(disk, 500_000)
    result = failure_from_exception(raised(lambda: save(disk / "model")))
    assert result["kind"] == "preempted", result["reason"]


@slow
@pytest.mark.parametrize(("workers", "fresh"), [(1, False), (1, True), (2, True)])
def test_trials_that_found_a_real_disk_full_are_done_once_there_is_room(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, fresh: bool
) -> None:
    monkeypatch.setenv(GATE, str(tmp_path))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "spool"))
    where = disk / "study"
    with pb.open_study(where, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=2))
    filler = fill(disk, 1_500_000)
    ended = list[object]()
    options: dict[str, Any] = {
        "workers": workers,
        "start": "warm" if fresh else "same-process",
        "show": "quiet",
    }
    run = threading.Thread(target=lambda: ended.append(pb.tune(saves, study=where, **options)))
    run.start()
    try:
        wait_until(lambda: [*tmp_path.glob("attempt-0-3")], "a third attempt")
    finally:
        filler.unlink()
        run.join()
    assert ended
    with pb.open_study(where, read_only=True) as study:
        assert study.ledger.failures == {} and study.state.history.finished == 2
