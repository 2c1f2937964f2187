"""Fill the disk of a study: workers must wait, and continue when there is space again."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

import priorband as pb
from faults.audit import Audit, common_checks
from faults.results import (
    Check,
    MissingRequirement,
    Result,
    expect_below,
    expect_finished,
    expect_none,
    results_of,
)
from faults.study_setup import Setting, StudySetup, new_setup
from faults.training import Training
from faults.worker_log import LogEntry
from faults.worker_pool import WorkerPool, WorkerTask, running_pool, wait_until
from priorband.storage.spool import VARIABLE

MEGABYTES = 48


def run(setting: Setting, *, seconds: float, trials: int, workers: int) -> Iterator[Result]:
    """Fill the disk, kill a worker that waits with a result, and free the disk again."""
    with new_setup(setting) as outside, small_disk(outside.folder / "disk") as disk:
        setup = StudySetup(outside.folder, str(disk / "study"), setting)
        os.environ[VARIABLE] = str(setup.folder / "spool")
        budget = pb.Budget(trials=trials)
        training = Training(setup.log, seconds=0.05, curves=True, checkpoints=False)
        task = WorkerTask(
            setup.open_arguments(), training, setup.log, budget=budget, plant=setting.plant
        )
        with running_pool(task, workers) as pool:
            full_disk = FullDisk(pool, disk)
            full_disk.fill_and_free(trials // 3, seconds)
            ended = pool.wait()
        checks = full_disk.checks(setup, budget)
        checks["finished"] = expect_finished(ended)
        action = f"full for {seconds:g} s, {workers} workers, one of them killed"
        yield from results_of("full", setting.storage, action, checks.values())


@final
class FullDisk:
    """A disk that is filled until no worker can continue, and what the workers say."""

    def __init__(self, pool: WorkerPool, disk: Path) -> None:
        self.pool = pool
        self.filler = disk / "filler"
        self.log = pool.task.log
        self.victim: tuple[int, int] = (-1, -1)
        """The trial and attempt whose result the killed worker was waiting to write."""
        self.freed_at = 0.0
        self.messages: list[str] = []

    def fill_and_free(self, after: int, seconds: float) -> None:
        """Fill the disk after some results, keep it full for some seconds, and free it."""
        wait_until(lambda: self._count("acknowledged") >= after, "the first trials")
        use_all_space(self.filler)
        wait_until(lambda: len(self._waiting()) >= len(self.pool.processes), "workers to notice")
        self._kill_one()
        self.pool.start_missing()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            use_all_space(self.filler)  # also what the workers free
            time.sleep(0.1)
        self.messages = [entry.details["text"] for entry in self._messages()]
        self.freed_at = time.monotonic()
        self.filler.unlink()

    def _kill_one(self) -> None:
        waiting = {e.pid for e in self._messages() if "is kept in" in e.details["text"]}
        for index, process in enumerate(self.pool.processes):
            if process.pid in waiting:
                done = [
                    e for e in self.log.all_entries() if e.event == "done" and e.pid == process.pid
                ]
                self.victim = (done[-1].trial, done[-1].attempt)
                return self.pool.kill(index)
        raise AssertionError("No worker waits with a result.")

    def checks(self, setup: StudySetup, budget: pb.Budget) -> dict[str, Check]:
        """Whether the workers waited, and nothing was lost."""
        with setup.study(read_only=True) as study:
            audit = Audit(setup.log, study)
        after = [e.at for e in audit.entries_of("acknowledged") if e.at > self.freed_at]
        stored = [
            r.key for r in audit.records_of("told", "remark") if r.body.get("loss") is not None
        ]
        left = [str(path) for path in (setup.folder / "spool").rglob("*.json")]
        naming = [text for text in self.messages if "full" in text or "No space" in text]
        lost = [f"trial {self.victim[0]}"] if self.victim not in stored else []
        failed = [f"trial {r.trial}: {r.body['reason']}" for r in audit.records_of("failed")]
        return {
            **common_checks(audit, self.pool.exit_codes),
            "failed": expect_none(failed, "trials failed", len(audit.records_of("asked"))),
            "message": Check(f"{len(naming)} messages name the full disk", "> 0", bool(naming)),
            "resumed": expect_below(
                min(after, default=1e9) - self.freed_at, 10, "first result after space was freed"
            ),
            "victim": expect_none(lost, "results of a killed worker lost"),
            "spool": expect_none(left, "results left in the spool"),
            "budget": audit.budget_overshoot(budget),
        }

    def _messages(self) -> list[LogEntry]:
        return [entry for entry in self.log.all_entries() if entry.event == "said"]

    def _count(self, event: str) -> int:
        return sum(entry.event == event for entry in self.log.all_entries())

    def _waiting(self) -> set[int]:
        return {
            entry.pid for entry in self._messages() if "Waiting for it" in entry.details["text"]
        }


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A small file system in memory, mounted on a new folder."""
    if os.geteuid() or shutil.which("mount") is None:
        raise MissingRequirement("only root can mount a small disk")
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "faults", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode:
        raise MissingRequirement(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def use_all_space(filler: Path) -> None:
    """Append to a file until the disk is full."""
    descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for size in (1 << 20, 1 << 12):
            while True:
                try:
                    os.write(descriptor, b"x" * size)
                except OSError:
                    break
    finally:
        os.close(descriptor)
