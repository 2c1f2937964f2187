"""A worker process as the faults start it: the library's own worker, with a diary."""

import os
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, final

import priorband as pb
from faults.diary import Diary
from faults.plants import sow
from priorband.durable.messages import Assignment, Idle, Report
from priorband.errors import StorageError
from priorband.storage.identity import die_with_parent
from priorband.workers.open_with_retry import open_with_retry
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker

MARK = "PRIORBAND_FAULTS"


@final
@dataclass(frozen=True)
class Post:
    """What a worker is told to do."""

    opening: Mapping[str, Any]
    objective: Callable[[pb.Attempt], Any]
    diary: Diary
    options: WorkerOptions = field(default_factory=lambda: WorkerOptions(fresh_process=False))
    budget: pb.Budget | None = None
    plant: str = ""


def work(post: Post, parent: int) -> None:
    """A worker's life, from joining to its end, which is noted with its reason."""
    die_with_parent(signal.SIGKILL, parent)
    sow(post.plant)
    diary = post.diary

    def say(text: str) -> None:
        diary.note("said", text=text)

    try:
        with open_with_retry(post.opening, say) as study:
            diary.note("joined", worker=study.worker)
            if post.budget:
                _limit(study, post.budget)
            watch(study, diary)
            ending = Worker(study, post.objective, post.options, say).run()
        diary.note("ended", how=ending.how, reason=ending.reason)
    except BaseException:
        diary.note("broke", trace=traceback.format_exc())
        raise


def watch(study: pb.DurableStudy, diary: Diary) -> None:
    """Note in the diary what `turn` has acknowledged, and given, when it has returned."""
    turn = study.turn

    def noted(report: Report | None, claim: str) -> Assignment | Idle | None:
        answer = turn(report, claim)
        if report is not None:
            told = {"loss": report.loss, "kind": report.kind}
            diary.note("acknowledged", report.trial, report.attempt, **told)
        if isinstance(answer, Assignment):
            diary.note("claimed", answer.trial.id, answer.attempt)
        return answer

    vars(study)["turn"] = noted


def _limit(study: pb.DurableStudy, budget: pb.Budget) -> None:
    """Set the budget, however busy the storage is."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return study.limit(budget)
        except StorageError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be buried does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def marked(name: str, value: str) -> list[int]:
    """The running processes, other than this one, that were started with a variable set."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if f"{name}={value}".encode() in file.read().split(b"\0"):
                        found.append(int(entry))
            except OSError:
                continue
    return [pid for pid in found if alive(pid)]


def left(mark: str, patience: float = 30.0) -> list[str]:
    """The processes of a fault that outlive it by more than a moment; they are ended here."""
    deadline = time.monotonic() + patience
    while (found := marked(MARK, mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [f"process {pid}" for pid in found]


def new_mark() -> str:
    """A word that all processes started from now on carry in their environment."""
    os.environ[MARK] = os.urandom(8).hex()
    return os.environ[MARK]
