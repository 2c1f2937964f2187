"""A FIFO, a socket, a device or a link where a file should be: never opened, nothing is lost.

To open a FIFO blocks until another process opens its other end, beyond all time limits.
"""

import os
import socket
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amounts import slow
from objectives import EPOCHS, SPACE

import priorband as pb
from priorband.errors import FormatError, PriorbandError
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.storage import safe_files
from priorband.storage.spool import VARIABLE, Spool
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")


def make_special(path: Path, kind: str) -> None:
    """Put something that is no plain file at a path."""
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    elif kind == "device":
        if os.geteuid():
            pytest.skip("only root can make devices")
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # as /dev/zero, which never ends
    else:
        folder = os.open(path.parent, os.O_RDONLY)
        try:  # the whole path may be too long for a socket
            with socket.socket(socket.AF_UNIX) as opened:
                opened.bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)


KINDS = ["fifo", "socket", "device", "link"]


def saves_special(kind: str) -> Callable[[pb.Attempt], float]:
    def objective(trial: pb.Attempt) -> float:
        for step in trial.steps():
            (trial.checkpoint_dir / "model").write_text(str(step))
            (trial.checkpoint_dir / "inner").mkdir(exist_ok=True)
            for name in ("special", "inner/special"):
                make_special(trial.checkpoint_dir / name, kind)
            trial.report(step, loss=1.0)
        return 0.25

    return objective


def saves_fifo(trial: pb.Attempt) -> float:
    return saves_special("fifo")(trial)


def saves_fifo_at_once(trial: pb.Attempt) -> float:
    for step in trial.steps():
        with trial.checkpoint(step) as folder:
            (folder / "model").write_text(str(step))
            os.mkfifo(folder / "pipe")
    return 0.25


def reports(trial: pb.Attempt) -> float:
    trial.report(1, loss=1.0)
    print("trained")
    return 0.25


def run(where: Path, objective: Any, **options: Any) -> pb.DurableStudy:
    """The study after a worker with one trial."""
    with pb.open_study(where, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=1))
        how: dict[str, Any] = {"start": "same-process", "keep": "all"} | options
        assert Worker(study, objective, WorkerOptions(**how)).run().status == "done"
        assert study.best is not None and study.best.loss == 0.25
    return study


@pytest.fixture(autouse=True)
def no_hang(patience: Callable[[], None]) -> None:
    patience()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_among_what_was_saved_is_skipped(tmp_path: Path, kind: str) -> None:
    run(tmp_path, saves_special(kind))
    [saved] = (tmp_path / "trials" / "0").glob("1-*/checkpoint")
    assert (saved / "model").read_text() == "9"
    log = tmp_path / "trials" / "0" / "log-1.txt"
    if kind == "link":  # a link is copied as a link, and not opened
        assert not log.exists()
    else:
        said = log.read_text()
        for name in ("special", "inner/special"):
            assert f"{saved}/{name} is neither a file nor a folder, so it is not copied." in said
            assert f"{saved}/{name} is neither a file nor a folder, so it is not synced." in said


@pytest.mark.parametrize("objective", [saves_fifo_at_once, saves_fifo])
def test_a_checkpoint_with_a_fifo_is_taken_over(tmp_path: Path, objective: Any) -> None:
    def is_stopped(trial: pb.Attempt) -> float:
        taken = trial.resume_from
        if taken:
            assert (taken / "model").read_text() == f"{trial.start:g}" == "8"
            assert not (taken / "special").exists()  # a copy has files and folders only
            return 0.25
        objective(trial)
        raise MemoryError

    run(tmp_path, is_stopped)


@slow
@pytest.mark.parametrize("objective", [saves_fifo, saves_fifo_at_once])
def test_a_fifo_does_not_hold_up_a_worker_with_a_time_limit(tmp_path: Path, objective: Any) -> None:
    run(tmp_path, objective, start="warm", trial_seconds=60.0)


@pytest.mark.parametrize("fresh", [pytest.param(True, marks=slow), False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["log-1.txt", "curve-1.jsonl"])
def test_a_log_or_a_curve_that_is_no_file_is_not_written(
    tmp_path: Path, name: str, kind: str, fresh: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trials").mkdir()
    pb.open_study(tmp_path, SPACE, EPOCHS).close()
    (tmp_path / "trials" / "0").mkdir()
    path = tmp_path / "trials" / "0" / name
    make_special(path, kind)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        run(tmp_path, reports, start="warm" if fresh else "same-process")
    assert not stat.S_ISREG(os.lstat(path).st_mode)
    said = capfd.readouterr().err + "".join(str(each.message) for each in warned)
    if name == "curve-1.jsonl" and fresh:
        said = (tmp_path / "trials" / "0" / "log-1.txt").read_text()
    if name == "curve-1.jsonl" or fresh:
        assert str(path) in said and "plain files and folders" in said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    [
        *("study.head", "study.lock", "study.db", "trials", "trials/study.json", "trials/0"),
        *("trials/0/1-*", "trials/0/1-*/checkpoint", "trials/0/1-*/identity.json"),
    ],
)
def test_what_is_no_file_in_a_study_is_refused_or_ignored(
    tmp_path: Path, name: str, kind: str
) -> None:
    old = tmp_path / "study"
    study = run(old, saves_special("link"))
    [path] = old.glob(name)
    path.rename(tmp_path / "kept")
    make_special(path, kind)
    assert study.checkpoints is not None
    for act in (
        lambda: study.checkpoints.left_by(0, 1),
        lambda: study.checkpoints.claim(),
        lambda: study.checkpoints.seal(0, 1, 5),
        lambda: study.checkpoints.settle(0, 1),
        lambda: pb.open_study(old).close(),
        lambda: pb.open_study(old, read_only=True).close(),
        lambda: check(old),
        lambda: salvage(old, tmp_path / "new"),
    ):
        try:
            act()
        except PriorbandError as error:
            assert str(error)
        except OSError as error:
            assert error.errno, error
    study.close()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_in_the_spool_is_ignored(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "spool"))
    folder = tmp_path / "spool" / "abc"
    assert Spool("abc").put("1-1", {"trial": 1}) == folder / "1-1.json"
    make_special(folder / "0-1.json", kind)
    assert list(Spool("abc").waiting()) == [folder / "1-1.json"]
    assert Spool("abc").put("0-1", {"trial": 0}) == folder / "0-1.json"
    assert len(Spool("abc").waiting()) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_spool_that_is_no_folder_is_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "spool"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    make_special(tmp_path / "spool", kind)
    spool = Spool("abc")
    assert spool.refused == {tmp_path / "spool": "it is not a folder"}
    kept = spool.put("0-1", {"trial": 0})
    assert kept is not None and kept.is_relative_to(tmp_path / "state")
    assert list(spool.waiting()) == [kept]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_RDWR])
def test_a_file_that_is_exchanged_at_the_last_moment_is_not_waited_for(
    tmp_path: Path, kind: str, flags: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_special(tmp_path / "special", kind)
    before = os.listdir("/proc/self/fd") if Path("/proc/self/fd").exists() else []
    monkeypatch.setattr(safe_files, "refuse_link", lambda path, dir_fd: None)
    with pytest.raises((FormatError, OSError)):
        safe_files.open_own(tmp_path / "special", flags)
    if before:
        assert len(os.listdir("/proc/self/fd")) == len(before)
