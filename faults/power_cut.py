"""Cut the power: shut down a study's file system without a flush, mount it again, and open it.

The file system is an ext4 image on a loop device. Shutting it down has the effect of a power
failure: what was not synced is lost. The workers are stopped just before, as in a power failure. If
a sync is in progress when ext4 is shut down, it can return without an error although nothing was
synced, and the workers must not act on that.
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
from faults.results import MissingRequirement, Result, expect_none, results_of
from faults.study_setup import Setting, StudySetup, new_setup
from faults.training import Training, loss
from faults.worker_pool import WorkerTask, running_pool, wait_until
from priorband.workers.trial_runner import WorkerOptions

IOCTL_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
WITHOUT_FLUSH = 2
MEGABYTES = 96


def run(setting: Setting, *, cuts: int, births: int, workers: int) -> Iterator[Result]:
    """Cut the power repeatedly while workers work on one study, then while studies are created."""
    rng = random.Random(setting.seed)
    with new_setup(setting) as outside, mounted_image(outside.folder) as disk:
        setup = StudySetup(outside.folder, str(disk / "study"), setting)
        problems = []
        for number in range(cuts):
            _cut_power(setup, disk, workers, rng.random() * 0.5, wait_for_result=True)
            problems += [f"cut {number + 1}: {problem}" for problem in _problems(setup)]
            if problems:
                break
        results = sum(entry.event == "acknowledged" for entry in setup.log.all_entries())
        check = expect_none(problems, "acknowledged results lost, or other harm", results)
        action = f"{cuts} cuts of an ext4 image, {workers} workers, {results} results"
        yield from results_of("cut", setting.storage, action, [check])
        problems = []
        for number in range(births):
            (outside.folder / f"{number}").mkdir()
            setup = StudySetup(outside.folder / f"{number}", str(disk / f"{number}"), setting)
            _cut_power(setup, disk, workers, rng.random() * 0.15, wait_for_result=False)
            problems += [f"study {number}: {problem}" for problem in _problems(setup)]
        check = expect_none(problems, "studies that do not open, or other harm", births)
        action = f"{births} cuts while a study is created"
        yield from results_of("cut", setting.storage, action, [check])


def _cut_power(
    setup: StudySetup, disk: Path, workers: int, seconds: float, wait_for_result: bool
) -> None:
    """Start workers, cut the power some seconds later, and mount the disk again."""
    training = Training(setup.log, seconds=0.02)
    options = WorkerOptions(start="same-process", keep="all")
    task = WorkerTask(
        setup.open_arguments(), training, setup.log, options, plant=setup.setting.plant
    )
    setup.log.new_entries()
    with running_pool(task, workers) as pool:
        if wait_for_result:
            wait_until(
                lambda: any(e.event == "acknowledged" for e in setup.log.new_entries()), "a result"
            )
        time.sleep(seconds)
        pool.signal(signal.SIGSTOP)
        shut_down(disk)
    remount(disk.parent)


def _problems(setup: StudySetup) -> Iterator[str]:
    """What is wrong with a study after a cut."""
    try:
        with setup.study() as study:
            audit = Audit(setup.log, study)
            for check in (
                audit.lost_results(),
                audit.repeated_trials(),
                audit.torn_checkpoints(),
                audit.replay_exact(),
            ):
                if not check.passed:
                    yield check.text
            yield from _torn(study)
            trial = study.ask()
            study.tell(trial, loss(trial))
            setup.log.write(
                "done", trial.id, study.ledger.winners.get(trial.id, 1), loss=loss(trial)
            )
    except (pb.errors.DamagedError, pb.errors.StorageError, pb.errors.MismatchError) as error:
        yield str(error)


def _torn(study: pb.DurableStudy) -> Iterator[str]:
    """Checkpoints of told trials that are incomplete: they are synced before the result is."""
    assert study.checkpoints is not None
    for told in study.state.history.observations:
        left = study.checkpoints.left_by(told.trial.id, study.ledger.winners.get(told.trial.id, 1))
        if left is not None:
            contents = sorted(path.read_text() for path in left.iterdir())
            if contents != [str(int(told.fidelity))] * 2:
                yield f"the checkpoint of trial {told.trial.id} contains {contents}"


@contextmanager
def mounted_image(folder: Path) -> Iterator[Path]:
    """A new file system in a file, mounted."""
    if os.geteuid() or not (shutil.which("mkfs.ext4") and shutil.which("mount")):
        raise MissingRequirement("mounting a disk image needs root, mount and mkfs.ext4")
    (folder / "disk").mkdir()
    with open(folder / "image", "wb") as file:
        file.truncate(MEGABYTES << 20)
    subprocess.run(["mkfs.ext4", "-q", str(folder / "image")], check=True)
    if problem := mount(folder):
        raise MissingRequirement(f"no disk image can be mounted here: {problem}")
    try:
        yield folder / "disk"
    finally:
        subprocess.run(["umount", str(folder / "disk")], check=True)


def mount(folder: Path) -> str:
    """Mount the image in a folder; the error message, or an empty text."""
    command = ["mount", "-o", "loop", str(folder / "image"), str(folder / "disk")]
    return subprocess.run(command, capture_output=True, text=True).stderr.strip()


def remount(folder: Path) -> None:
    """Unmount and mount the image again, as after a restart."""
    subprocess.run(["umount", str(folder / "disk")], check=True)
    if problem := mount(folder):
        raise RuntimeError(problem)


def shut_down(mount_point: Path) -> None:
    """Shut down a mounted file system without writing anything more to its disk."""
    descriptor = os.open(mount_point, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, IOCTL_SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))
    finally:
        os.close(descriptor)
