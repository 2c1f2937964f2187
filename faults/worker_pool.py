"""Worker processes with a log, any of which may be killed and replaced."""

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from typing import Any, final

import priorband as pb
from faults.planted_bugs import plant_bug
from faults.worker_log import WorkerLog
from priorband.durable.messages import Assignment, Idle, Report
from priorband.errors import StorageError
from priorband.storage.identity import die_with_parent
from priorband.workers.open_with_retry import open_with_retry
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker

TIMEOUT = 300.0


@final
@dataclass(frozen=True)
class WorkerTask:
    """What a worker process is to do."""

    open_arguments: Mapping[str, Any]
    """The arguments of `open_study`."""
    objective: Callable[[pb.Attempt], Any]
    log: WorkerLog
    options: WorkerOptions = field(default_factory=lambda: WorkerOptions(start="same-process"))
    budget: pb.Budget | None = None
    plant: str = ""
    """The name of the bug to plant; empty for none."""


def run_worker(task: WorkerTask, parent: int) -> None:
    """Run the library's own worker, and log what it does and how it ends."""
    die_with_parent(signal.SIGKILL, parent)
    plant_bug(task.plant)
    log = task.log

    def say(text: str) -> None:
        log.write("said", text=text)

    try:
        with open_with_retry(task.open_arguments, say) as study:
            log.write("joined", worker=study.worker)
            if task.budget:
                _set_budget(study, task.budget)
            _log_turns(study, log)
            ending = Worker(study, task.objective, task.options, say).run()
        log.write("ended", how=ending.status, reason=ending.reason)
    except BaseException:
        log.write("broke", trace=traceback.format_exc())
        raise


def _log_turns(study: pb.DurableStudy, log: WorkerLog) -> None:
    """Log each result that `turn` has acknowledged, and each trial that it has handed out."""
    turn = study.turn

    def logged_turn(report: Report | None, claim: str) -> Assignment | Idle | None:
        began = time.monotonic()
        answer = turn(report, claim)
        if report is not None:
            told = {"loss": report.loss, "kind": report.failure, "began": began}
            log.write("acknowledged", report.trial, report.attempt, **told)
        if isinstance(answer, Assignment):
            log.write("claimed", answer.trial.id, answer.attempt)
        return answer

    vars(study)["turn"] = logged_turn


def _set_budget(study: pb.DurableStudy, budget: pb.Budget) -> None:
    """Set the budget, even if the storage is busy for a while."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return study.limit(budget)
        except StorageError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@final
class WorkerPool:
    """Worker processes, forked from this process. Only these are ever killed."""

    def __init__(
        self, task: WorkerTask, size: int, main: Callable[[WorkerTask, int], None]
    ) -> None:
        self.task = task
        self.size = size
        self.main = main
        """What each process runs, with the task and the pid of this process."""
        self.processes: list[BaseProcess] = []
        self.exit_codes: list[int | None] = []
        """The exit codes of the processes that were not killed."""

    def start_missing(self) -> None:
        """Start processes until the pool has its size."""
        context = multiprocessing.get_context("fork")
        while len(self.processes) < self.size:
            process = context.Process(target=self.main, args=(self.task, os.getpid()))
            process.start()
            self.processes.append(process)

    def count_alive(self) -> int:
        """Collect the processes that have ended, and return how many are left."""
        for process in [p for p in self.processes if not p.is_alive()]:
            self.exit_codes.append(process.exitcode)
            self.processes.remove(process)
        return len(self.processes)

    def kill(self, index: int) -> None:
        """Kill a process with SIGKILL, whatever it is doing."""
        process = self.processes.pop(index)
        assert process.pid is not None
        self.task.log.write("killed", victim=process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        self.task.log.write("dead", victim=process.pid)
        if process.exitcode != -signal.SIGKILL:  # it ended by itself just before
            self.exit_codes.append(process.exitcode)

    def signal(self, number: int) -> None:
        """Send a signal to all processes."""
        for process in self.processes:
            assert process.pid is not None
            os.kill(process.pid, number)

    def wait(self, seconds: float = TIMEOUT) -> bool:
        """Whether all processes end by themselves within some seconds."""
        deadline = time.monotonic() + seconds
        while self.count_alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def kill_all(self) -> None:
        """Kill all processes that are left."""
        for process in self.processes:
            process.kill()
            process.join()
        self.processes.clear()


def wait_until(condition: Callable[[], bool], what: str, seconds: float = TIMEOUT) -> None:
    """Wait until a condition holds; raise `TimeoutError` if it takes too long."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Waited {seconds:g} s for {what}.")
        time.sleep(0.02)


@contextmanager
def running_pool(
    task: WorkerTask, size: int, main: Callable[[WorkerTask, int], None] = run_worker
) -> Iterator[WorkerPool]:
    """A pool with all its processes started; those left at the end of the block are killed."""
    pool = WorkerPool(task, size, main)
    try:
        pool.start_missing()
        yield pool
    finally:
        pool.kill_all()
