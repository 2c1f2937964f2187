"""Looking at a study without writing beside it: without permission, and on read-only disks."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from stored_studies import EPOCHS, SPACE, Shapes, events, loss, tell_some
from waiting import LONGEST

import priorband as pb
from priorband.errors import StorageError
from priorband.repair.check import check
from priorband.storage.permissions import require_writable
from priorband.storage.read_only_database import ReadOnlyDatabase

NOBODY = 65534
SHAPES = ("closed", "live", "copied", "halfway")

needs_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can start a process of another user"
)

START = """
import contextlib, io, os, sys
import priorband as pb
from priorband.cli import main

def look(where):
    with pb.open_study(where, read_only=True) as study:
        print(len(study.state.history.events), flush=True)
    for words in ("status", "status --json", "best", "export", "export --json", "replay"):
        name, *options = words.split()
        assert main([name, where, *options]) == 0, words
    assert main(["journal", "check", where]) == 0

where, other, user = sys.argv[1:]
if user:
    with contextlib.redirect_stdout(io.StringIO()):  # loads modules that the user may not read
        look(other)
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
"""
LOOK = "look(where)"
FOLLOW = """
with pb.open_study(where, read_only=True) as study:
    for _ in sys.stdin:
        study.refresh()
        print(len(study.state.history.events), len(study.journal.leases()), flush=True)
"""
READ = """
try:
    pb.open_study(where, read_only=True)
except pb.errors.StorageError as error:
    print(error)
"""
WRITE = """
try:
    pb.open_study(where)
except pb.errors.StorageError as error:
    print(error)
assert main(["retry", where, "--failed"]) != 0
"""


def listing(folder: Path) -> dict[str, tuple[int, ...]]:
    """What is in a folder and below, when each of it was changed, and the folder itself."""
    found = dict[str, tuple[int, ...]]()
    for path in (folder, *folder.rglob("*")):
        status = path.stat()
        found[str(path)] = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
    return found


@pytest.fixture
def arguments(shapes: Shapes) -> Callable[..., list[str]]:
    """A function for the words that start a program, which becomes another user."""

    def words(code: str, where: Path, user: int | str = NOBODY) -> list[str]:
        return [sys.executable, "-c", START + code, str(where), str(shapes.closed), str(user)]

    return words


@pytest.fixture
def output(arguments: Callable[..., list[str]]) -> Callable[..., str]:
    """A function for what a program prints about a study, which another user runs."""

    def text(code: str, where: Path, user: int | str = NOBODY) -> str:
        words = arguments(code, where, user)
        done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return text


def open_to_all(folder: Path) -> None:
    """Let everybody read a folder, except what the trials have saved."""
    os.chmod(folder.parent, 0o755)
    os.chmod(folder, 0o755)
    for path in folder.iterdir():
        if path.is_file():
            os.chmod(path, 0o644)
    if (folder / "trials").exists():
        os.chmod(folder / "trials", 0o700)


@contextmanager
def follower(words: list[str]) -> Iterator["subprocess.Popen[str]"]:
    """A program of another user that looks at a study whenever it gets a line."""
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def seen(process: "subprocess.Popen[str]") -> tuple[int, int]:
    """How many events and how many leases the other program sees now."""
    assert process.stdin and process.stdout
    process.stdin.write("\n")
    process.stdin.flush()
    happened, leases = process.stdout.readline().split()
    return int(happened), int(leases)


@needs_root
@pytest.mark.parametrize("shape", SHAPES)
def test_a_reader_without_write_permission_sees_all(
    shapes: Shapes, place: Path, shape: str, output: Callable[..., str]
) -> None:
    """`live` is what a worker leaves that was killed; `copied` has lost the index of its log."""
    shutil.copytree(getattr(shapes, shape), place / "study")
    (place / "study" / "trials" / "0").mkdir(parents=True)
    open_to_all(place / "study")
    before = listing(place / "study")
    assert output(LOOK, place / "study").startswith(f"{len(shapes.events)}\n")
    assert listing(place / "study") == before


@needs_root
def test_a_reader_says_which_folder_it_could_not_check(
    shapes: Shapes, place: Path, output: Callable[..., str]
) -> None:
    shutil.copytree(shapes.closed, place / "study")
    (place / "study" / "trials").mkdir()
    open_to_all(place / "study")
    assert "Not checked:\n  trials cannot be read" in output(LOOK, place / "study")


MOUNT = """
set -e
mount -t tmpfs none "$1"
cp -a "$2" "$1/study"
mount -o remount,ro "$1"
shift 2
exec "$@"
"""


@pytest.fixture
def on_read_only_disk(place: Path, arguments: Callable[..., list[str]]) -> Callable[..., str]:
    """A function for what a program prints about a study on a disk that is mounted read-only.

    The mount is in a namespace of the program's own, so it is gone when the program is.
    """
    if os.name != "posix" or os.geteuid() or not shutil.which("unshare"):
        pytest.skip("mounting a file system of one's own needs root, and unshare")
    alone = ["unshare", "--mount", "--propagation", "private"]
    mount = ["mount", "-t", "tmpfs", "none", str(place)]
    tried = subprocess.run([*alone, *mount], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no file system can be mounted here: {tried.stderr}")

    def text(code: str, study: Path) -> str:
        (place / "disk").mkdir()
        words = arguments(code, place / "disk" / "study", user="")
        command = [*alone, "sh", "-c", MOUNT, "sh", str(place / "disk"), str(study), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return text


@pytest.mark.parametrize("shape", SHAPES)
def test_a_study_on_a_read_only_disk_is_read(
    shapes: Shapes, on_read_only_disk: Callable[..., str], shape: str
) -> None:
    said = on_read_only_disk(LOOK, getattr(shapes, shape))
    assert said.startswith(f"{len(shapes.events)}\n")


def test_a_writer_on_a_read_only_disk_is_told_what_to_do(
    shapes: Shapes, on_read_only_disk: Callable[..., str]
) -> None:
    create = """
try:
    pb.open_study(where + "-new", pb.Space({"x": pb.Float(0, 1)}))
except pb.errors.StorageError as error:
    print(error)
"""
    said = on_read_only_disk(WRITE + create, shapes.closed)
    old, new = said.splitlines()
    assert "mounted read-only" in old and "read_only=True" in old and "copy its folder" in old
    assert "Read-only file system" in new and "Check the permissions" in new


@needs_root
@pytest.mark.parametrize("shape", ["closed", "live"])
def test_a_writer_without_permission_is_told_what_to_do(
    shapes: Shapes, place: Path, shape: str, output: Callable[..., str]
) -> None:
    shutil.copytree(getattr(shapes, shape), place / "study")
    open_to_all(place / "study")
    before = listing(place / "study")
    said = output(WRITE, place / "study")
    assert f"no permission to write to {place / 'study'}" in said
    assert "read_only=True" in said and "ask its owner" in said
    assert listing(place / "study") == before


@needs_root
def test_a_writer_without_permission_for_one_file_is_told_which(
    shapes: Shapes, place: Path, output: Callable[..., str]
) -> None:
    shutil.copytree(shapes.closed, place / "study")
    open_to_all(place / "study")
    os.chmod(place / "study", 0o777)
    assert f"no permission to write to {place / 'study' / 'study.db'}." in output(
        WRITE, place / "study"
    )


@needs_root
@pytest.mark.parametrize("hidden", ["", "study.db-shm"])
def test_a_reader_without_permission_follows_a_live_worker(
    place: Path, hidden: str, arguments: Callable[..., list[str]]
) -> None:
    """Also if the index of the log cannot be read: then a copy of the files is."""
    with pb.open_study(place / "study", SPACE, EPOCHS) as study:
        tell_some(study, 3)
        open_to_all(place / "study")
        if hidden:
            os.chmod(place / "study" / hidden, 0o600)
        with follower(arguments(FOLLOW, place / "study")) as reader:
            for _ in range(3):
                assert seen(reader) == (len(study.state.history.events), len(study.ledger.running))
                tell_some(study, 2)
                study.ask()


@needs_root
def test_a_log_that_cannot_be_read_is_an_error_and_never_ignored(
    place: Path, output: Callable[..., str]
) -> None:
    with pb.open_study(place / "study", SPACE, EPOCHS) as study:
        tell_some(study, 3)
        open_to_all(place / "study")
        os.chmod(place / "study" / "study.db-wal", 0o600)
        said = output(READ, place / "study")
        assert f"no permission to read {place / 'study' / 'study.db-wal'}." in said


@needs_root
def test_a_reader_without_permission_sees_what_later_workers_write(
    place: Path, arguments: Callable[..., list[str]]
) -> None:
    """The study is closed at first, then a worker opens it, closes it, and opens it again."""
    with pb.open_study(place / "study", SPACE, EPOCHS) as study:
        tell_some(study, 3)
    open_to_all(place / "study")
    with follower(arguments(FOLLOW, place / "study")) as reader:
        assert seen(reader)[0] == len(study.state.history.events)
        for _ in range(2):
            with pb.open_study(place / "study") as study:
                for _ in range(3):
                    tell_some(study, 1)
                    assert seen(reader)[0] == len(study.state.history.events)
            assert seen(reader)[0] == len(study.state.history.events)


@pytest.mark.parametrize("shape", ["closed", "copied", "halfway"])
def test_a_reader_with_permission_creates_nothing(shapes: Shapes, place: Path, shape: str) -> None:
    """Workers of other users could not write to a file that it creates."""
    shutil.copytree(getattr(shapes, shape), place / "study")
    before = listing(place / "study")
    assert events(place / "study") == shapes.events
    assert check(place / "study").sound
    assert listing(place / "study") == before


def test_a_query_is_run_again_if_the_study_changes_meanwhile(place: Path) -> None:
    with pb.open_study(place / "study", SPACE, EPOCHS) as study:
        tell_some(study, 1)
    answers = list[int]()
    database = ReadOnlyDatabase(place / "study")

    def last_number(connection: sqlite3.Connection) -> int:
        if not answers:
            with pb.open_study(place / "study") as study:
                tell_some(study, 1)
        [[number]] = connection.execute("SELECT max(seq) FROM record").fetchall()
        answers.append(number)
        return int(number)

    assert database.run(last_number) == 5
    assert answers[-1] == 5 and len(answers) == 2
    database.close()


def test_a_reader_and_a_worker_in_one_process(place: Path) -> None:
    """A reader that has the study open first must not keep the worker from writing."""
    with pb.open_study(place / "study", SPACE, EPOCHS) as study:
        tell_some(study, 1)
    with (
        pb.open_study(place / "study", read_only=True) as early,
        pb.open_study(place / "study") as worker,
        pb.open_study(place / "study", read_only=True) as late,
    ):
        for _ in range(3):
            tell_some(worker, 1)
            for reader in (early, late):
                reader.refresh()
                assert reader.state.history.events == worker.state.history.events
        early.close()
        late.close()
        trial = worker.ask()
        assert worker.tell(trial, loss(trial))
    assert not list((place / "study").glob("study.db-*"))


def test_nothing_is_written_to_a_study_that_is_open_to_be_read(where: str) -> None:
    with pb.open_study(where, SPACE, EPOCHS) as study:
        tell_some(study, 1)
    if "://" not in where:
        os.unlink(Path(where) / "study.lock")
    with pb.open_study(where, read_only=True) as study:
        with pytest.raises(StorageError, match="opened with read_only=True"):
            study.ask()
        with pytest.raises(StorageError, match="opened with read_only=True"):
            study.journal.beat("me", [], 60)
    assert "://" in where or not (Path(where) / "study.lock").exists()


def test_a_file_that_is_removed_meanwhile_needs_no_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path / "study.db-shm"
    index.touch()
    real = os.access

    def access(path: Any, *arguments: Any, **options: Any) -> bool:
        if path == index:
            index.unlink(missing_ok=True)  # as SQLite does when the last process closes it
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "access", access)
    require_writable(tmp_path)
    assert not index.exists()
