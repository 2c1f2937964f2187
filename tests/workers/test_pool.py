"""Worker processes that are started and stopped together."""

import os
import signal
import time
from pathlib import Path

import pytest
from objectives import EPOCHS, SPACE

import priorband as pb
from priorband.workers import pool
from priorband.workers.attempt import Attempt
from priorband.workers.trial_runner import WorkerOptions


def never_ends(trial: Attempt) -> float:
    time.sleep(600)
    return 0.5


def test_workers_that_have_started_are_ended_when_another_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[pool.WorkerProcess] = []
    start = pool.WorkerProcess.start

    def failing(member: pool.WorkerProcess) -> None:
        if started:
            raise OSError("no more processes")
        started.append(member)
        start(member)

    monkeypatch.setattr(pool.WorkerProcess, "start", failing)
    job = pool.WorkerJob({"where": tmp_path}, never_ends, WorkerOptions(), {})
    with pytest.raises(OSError, match="no more"):
        pool.run_pool([job, job], print, lambda: None)
    assert started[0].process.exitcode is not None


def test_a_worker_that_starts_while_the_signal_comes_is_asked_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=1))
    init = pool.WorkerProcess.__init__

    def interrupted(member: pool.WorkerProcess, job: pool.WorkerJob) -> None:
        init(member, job)
        os.kill(os.getpid(), signal.SIGTERM)  # before it is in the list

    monkeypatch.setattr(pool.WorkerProcess, "__init__", interrupted)
    job = pool.WorkerJob({"where": tmp_path}, never_ends, WorkerOptions(grace=1), {})
    (ending,) = pool.run_pool([job], print, lambda: None)
    assert (ending.status, ending.reason) == ("stopped", "SIGTERM")
