"""The power cut: a study on a disk of its own, which is shut down without a flush, then repaired.

The disk is an ext4 image on a loop device. Its file system is shut down as if the power had failed:
what was not synced by then is gone. It is mounted again, and the study opened. Workers are stopped
just before, as the power fails for them, too: a call to sync that is under way when ext4 is shut
down can return without an error, and nobody may act upon that.
"""

import fcntl
import os
import random
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import priorband as pb
from faults.audit import Audit
from faults.crew import crew, until
from faults.findings import Finding, Lacking, found, none_of
from faults.scene import Scene, Setting, scene
from faults.training import Training, loss
from faults.work import Post
from priorband.workers.trial_runner import WorkerOptions

SHUT_DOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
WITHOUT_A_FLUSH = 2
MEGABYTES = 96


def run(setting: Setting, *, cuts: int, births: int, workers: int) -> Iterator[Finding]:
    """Cut the power again and again in one study, then in new ones as they are created."""
    dice = random.Random(setting.seed)
    with scene(setting) as outside, image(outside.folder) as disk:
        here = Scene(outside.folder, str(disk / "study"), setting)
        problems = []
        for number in range(cuts):
            _cut(here, disk, workers, dice.random() * 0.5, worked=True)
            problems += [f"cut {number + 1}: {problem}" for problem in _problems(here)]
            if problems:
                break
        results = sum(entry.what == "acknowledged" for entry in here.diary.all())
        figure = none_of(problems, "acknowledged results lost, or other harm", results)
        done = f"{cuts} cuts of an ext4 image, {workers} workers, {results} results"
        yield from found("cut", setting.storage, done, [figure])
        unborn = []
        for number in range(births):
            (outside.folder / f"{number}").mkdir()
            here = Scene(outside.folder / f"{number}", str(disk / f"{number}"), setting)
            _cut(here, disk, workers, dice.random() * 0.15, worked=False)
            unborn += [f"study {number}: {problem}" for problem in _problems(here)]
        figure = none_of(unborn, "studies that do not open, or other harm", births)
        done = f"{births} cuts while a study is created"
        yield from found("cut", setting.storage, done, [figure])


def _cut(here: Scene, disk: Path, workers: int, seconds: float, worked: bool) -> None:
    """Let workers begin, cut the power some seconds after, and start again."""
    training = Training(here.diary, seconds=0.02)
    options = WorkerOptions(fresh_process=False, keep="all")
    post = Post(here.opening(), training, here.diary, options, plant=here.setting.plant)
    here.diary.new()
    with crew(post, workers) as made:
        if worked:
            until(lambda: any(e.what == "acknowledged" for e in here.diary.new()), "a result")
        time.sleep(seconds)
        made.signal(signal.SIGSTOP)
        shut_down(disk)
    remount(disk.parent)


def _problems(here: Scene) -> Iterator[str]:
    """What is wrong with a study after a cut."""
    try:
        with here.study() as study:
            audit = Audit(here.diary, study)
            for figure in (audit.lost(), audit.twice(), audit.torn(), audit.replay()):
                if not figure.good:
                    yield figure.shown
            yield from _torn(study)
            trial = study.ask()
            study.tell(trial, loss(trial))
            here.diary.note(
                "done", trial.id, study.ledger.winners.get(trial.id, 1), loss=loss(trial)
            )
    except (pb.DamagedError, pb.StorageError) as error:
        yield str(error)


def _torn(study: pb.DurableStudy) -> Iterator[str]:
    """Checkpoints of told trials that are not whole: they are synced before the result is."""
    assert study.checkpoints is not None
    for told in study.state.history.observations:
        left = study.checkpoints.left_by(told.trial.id, study.ledger.winners.get(told.trial.id, 1))
        if left is not None:
            found = sorted(path.read_text() for path in left.iterdir())
            if found != [str(int(told.fidelity))] * 2:
                yield f"the checkpoint of trial {told.trial.id} holds {found}"


@contextmanager
def image(folder: Path) -> Iterator[Path]:
    """A file with a file system of its own, mounted."""
    if os.geteuid() or not (shutil.which("mkfs.ext4") and shutil.which("mount")):
        raise Lacking("a disk of its own needs root, mount and mkfs.ext4")
    (folder / "disk").mkdir()
    with open(folder / "image", "wb") as file:
        file.truncate(MEGABYTES << 20)
    subprocess.run(["mkfs.ext4", "-q", str(folder / "image")], check=True)
    if problem := mount(folder):
        raise Lacking(f"no image can be mounted here: {problem}")
    try:
        yield folder / "disk"
    finally:
        subprocess.run(["umount", str(folder / "disk")], check=True)


def mount(folder: Path) -> str:
    """Mount the image of a folder; what was wrong, or nothing."""
    command = ["mount", "-o", "loop", str(folder / "image"), str(folder / "disk")]
    return subprocess.run(command, capture_output=True, text=True).stderr.strip()


def remount(folder: Path) -> None:
    """Start again after a cut."""
    subprocess.run(["umount", str(folder / "disk")], check=True)
    if problem := mount(folder):
        raise RuntimeError(problem)


def shut_down(place: Path) -> None:
    """Cut off a mounted file system from its disk."""
    opened = os.open(place, os.O_RDONLY)
    try:
        fcntl.ioctl(opened, SHUT_DOWN, struct.pack("I", WITHOUT_A_FLUSH))
    finally:
        os.close(opened)
