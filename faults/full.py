"""The full disk: workers wait while there is no room, and go on when there is again."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

import priorband as pb
from faults.audit import Audit, whole
from faults.crew import Crew, crew, until
from faults.diary import Entry
from faults.findings import Figure, Finding, Lacking, at_most, finished, found, none_of
from faults.scene import Scene, Setting, scene
from faults.training import Training
from faults.work import Post
from priorband.storage.spool import VARIABLE

MEGABYTES = 48


def run(setting: Setting, *, seconds: float, trials: int, workers: int) -> Iterator[Finding]:
    """Fill the disk of a study, kill one who waits with a result, and make room."""
    with scene(setting) as here, disk(here.folder / "disk") as place:
        here = Scene(here.folder, str(place / "study"), setting)
        os.environ[VARIABLE] = str(here.folder / "spool")
        budget = pb.Budget(trials=trials)
        training = Training(here.diary, seconds=0.05, curves=True, checkpoints=False)
        post = Post(here.opening(), training, here.diary, budget=budget, plant=setting.plant)
        with crew(post, workers) as made:
            fault = Fullness(made, place)
            fault.happen(trials // 3, seconds)
            ended = made.wait()
        figures = fault.figures(here, budget)
        figures["finish"] = finished(ended)
        done = f"full for {seconds:g} s, {workers} workers, one of them killed"
        yield from found("full", setting.storage, done, figures.values())


@final
class Fullness:
    """A disk that is filled until nobody gets on, and what everybody says to it."""

    def __init__(self, made: Crew, place: Path) -> None:
        self.made = made
        self.ballast = place / "ballast"
        self.diary = made.post.diary
        self.victim: tuple[int, int] = (-1, -1)
        self.freed = 0.0
        self.heard: list[str] = []
        self.pids: set[int] = set()

    def happen(self, after: int, seconds: float) -> None:
        """From the first third of the trials on."""
        until(lambda: self._count("acknowledged") >= after, "the first trials")
        fill(self.ballast)
        until(lambda: len(self._waiting()) >= len(self.made.members), "workers to notice")
        self._kill_one()
        self.made.fill()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            fill(self.ballast)  # what a worker could free is taken, too
            time.sleep(0.1)
        self.pids = {member.pid or 0 for member in self.made.members}
        self.heard = [entry.more["text"] for entry in self._said()]
        self.freed = time.monotonic()
        self.ballast.unlink()

    def _kill_one(self) -> None:
        kept = {e.pid: e for e in self._said() if "is kept in" in e.more["text"]}
        for index, member in enumerate(self.made.members):
            if member.pid in kept:
                done = [e for e in self.diary.all() if e.what == "done" and e.pid == member.pid]
                self.victim = (done[-1].trial, done[-1].attempt)
                return self.made.kill(index)
        raise AssertionError("Nobody waits with a result.")

    def figures(self, here: Scene, budget: pb.Budget) -> dict[str, Figure]:
        """What came of it."""
        with here.study(read_only=True) as study:
            audit = Audit(here.diary, study)
        after = [e.at for e in audit.seen("acknowledged") if e.at > self.freed]
        kept = [r.key for r in audit.of("told", "remark") if r.body.get("loss") is not None]
        left = [str(path) for path in (here.folder / "spool").rglob("*.json")]
        mute = [text for text in self.heard if "full" in text or "No space" in text]
        lost = [f"trial {self.victim[0]}"] if self.victim not in kept else []
        failed = [f"trial {r.trial}: {r.body['reason']}" for r in audit.of("failed")]
        return {
            **whole(audit, self.made.codes),
            "failed": none_of(failed, "trials failed", len(audit.of("asked"))),
            "message": Figure(f"{len(mute)} messages name the full disk", "> 0", bool(mute)),
            "on": at_most(min(after, default=1e9) - self.freed, 10, "first result after room came"),
            "handed in": none_of(lost, "results of a killed worker lost"),
            "spool": none_of(left, "results left in the spool"),
            "budget": audit.overshoot(budget),
        }

    def _said(self) -> list[Entry]:
        return [entry for entry in self.diary.all() if entry.what == "said"]

    def _count(self, what: str) -> int:
        return sum(entry.what == what for entry in self.diary.all())

    def _waiting(self) -> set[int]:
        return {entry.pid for entry in self._said() if "Waiting for it" in entry.more["text"]}


@contextmanager
def disk(place: Path) -> Iterator[Path]:
    """A small disk in memory."""
    if os.geteuid() or shutil.which("mount") is None:
        raise Lacking("only root can mount a small disk")
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "faults", str(place)]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        raise Lacking(f"no disk can be mounted here: {made.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(ballast: Path) -> None:
    """Use up all the room that is left."""
    opened = os.open(ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for size in (1 << 20, 1 << 12):
            while True:
                try:
                    os.write(opened, b"x" * size)
                except OSError:
                    break
    finally:
        os.close(opened)
