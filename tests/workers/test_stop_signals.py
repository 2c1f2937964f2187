"""What being asked to stop, once or twice, does to a running trial."""

import multiprocessing
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from objectives import EPOCHS, SPACE

import priorband as pb
from priorband.durable.messages import Assignment
from priorband.workers.stop_signals import StopSignals
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker


@pytest.mark.parametrize("asked", [True, False])
def test_an_objective_that_fails_when_asked_to_stop_is_handed_back(
    tmp_path: Path, asked: bool
) -> None:
    def objective(trial: pb.Attempt) -> float:
        if asked:
            worker.stop_signals.request_stop("SIGTERM")
        raise RuntimeError("a loader of data was killed")

    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=1))
        worker = Worker(study, objective, WorkerOptions(start="same-process"))
        assert worker.run().status == ("stopped" if asked else "done")
        assert list(study.ledger.waiting) == ([0] if asked else [])
        assert study.ledger.failures == ({} if asked else {"raised": 1})


def test_the_same_signal_soon_again_is_an_echo_where_one_is_expected() -> None:
    stopping = StopSignals()
    stopping._handle(signal.SIGTERM, None)
    stopping.duplicate_seconds = 60.0
    stopping._handle(signal.SIGTERM, None)
    assert stopping.count == 1
    with pytest.raises(KeyboardInterrupt):
        stopping._handle(signal.SIGINT, None)


def hangs(trial: pb.Attempt) -> float:
    time.sleep(600)
    return 0.0


def test_a_process_that_was_being_started_when_the_second_signal_came_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=1))
        worker = Worker(study, hangs, WorkerOptions())
        begin = worker.runner.start

        def begun(claim: Assignment) -> Any:
            begin(claim)
            worker.stop_signals.request_stop("SIGINT")
            worker.stop_signals.request_stop("SIGINT")  # raises before the process is watched

        monkeypatch.setattr(worker.runner, "start", begun)
        assert worker.run().status == "stopped"
        assert multiprocessing.active_children() == []
        assert list(study.ledger.waiting) == [0]
