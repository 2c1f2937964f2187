"""Trials that fail, each in its own way: told apart, and the worker lives on."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from objectives import EPOCHS, SPACE

import priorband as pb
from priorband.durable.messages import Assignment
from priorband.storage.json_text import from_json
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker

Objective = Callable[[pb.Attempt], Any]


def hangs(trial: pb.Attempt) -> float:
    time.sleep(60)
    return 0.0


def exits(trial: pb.Attempt) -> float:
    os._exit(3)


def quits(trial: pb.Attempt) -> float:
    sys.exit("enough")


def segfaults(trial: pb.Attempt) -> float:
    return float(ctypes.string_at(0)[0])


def is_killed(trial: pb.Attempt) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def hogs(trial: pb.Attempt) -> float:
    raise MemoryError("no more")


def diverges(trial: pb.Attempt) -> float:
    for step in trial.steps():
        trial.report(step, loss=float("nan"))
    return 0.0


def returns_nan(trial: pb.Attempt) -> float:
    return float("nan")


def returns_text(trial: pb.Attempt) -> str:
    return "0.5"


def leaves_a_child(trial: pb.Attempt) -> dict[str, Any]:
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    return {"loss": 0.5, "left": left.pid}


def prints(trial: pb.Attempt) -> float:
    for _ in range(20):
        print("x" * 100_000)
    return 0.5


def one(where: Path, objective: Objective, **options: Any) -> dict[str, Any]:
    """The record of how a single trial ended, after the attempts that it is given."""
    with pb.open_study(where, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=1))
        ending = Worker(study, objective, WorkerOptions(**options)).run()
        assert ending.status == "done"
        rows = study.journal.about(0)
        assert rows[-1].kind in ("told", "failed")
        return from_json(rows[-1].body) | {"kinds": [row.kind for row in rows]}


@pytest.mark.parametrize(
    ("objective", "kind", "said", "attempts"),
    [
        (exits, "crashed", "ended with 3", 2),
        (quits, "crashed", "sys.exit('enough')", 2),
        (segfaults, "crashed", "SIGSEGV", 2),
        (is_killed, "memory", "killed, probably because memory ran out", 2),
        (hogs, "memory", "MemoryError: no more", 2),
        (diverges, "diverged", "the loss was nan at step 1", 1),
        (returns_nan, "diverged", "the loss was nan", 1),
        (returns_text, "invalid", "got '0.5'", 1),
    ],
)
def test_failures_are_told_apart(
    tmp_path: Path, objective: Objective, kind: str, said: str, attempts: int
) -> None:
    ended = one(tmp_path, objective)
    assert (ended["kind"], ended["attempt"]) == (kind, attempts)
    assert said in ended["reason"]


@pytest.mark.parametrize("limit", ["trial_seconds", "step_seconds"])
def test_a_trial_that_hangs_is_ended(tmp_path: Path, limit: str) -> None:
    ended = one(tmp_path, hangs, **{limit: 1.0})
    assert ended["kind"] == "timeout" and "1 s" in ended["reason"]


def test_what_a_trial_leaves_running_is_ended_with_it(tmp_path: Path) -> None:
    left = one(tmp_path, leaves_a_child)["metrics"]["left"]
    for _ in range(100):
        status = Path(f"/proc/{int(left)}/status")
        if not status.exists() or "State:\tZ" in status.read_text():
            return
        time.sleep(0.05)
    raise AssertionError("it still runs")


def test_what_a_trial_prints_goes_to_its_log(tmp_path: Path) -> None:
    assert one(tmp_path, prints)["loss"] == 0.5
    assert (tmp_path / "trials/0/log-1.txt").stat().st_size > 2_000_000


@pytest.mark.parametrize(
    ("given", "loss"),
    [(0.5, 0.5), (1, 1.0), (np.float32(0.5), 0.5), (np.array(2), 2.0), ({"loss": 3}, 3.0)],
)
def test_numbers_are_numbers(tmp_path: Path, given: Any, loss: float) -> None:
    assert one(tmp_path, lambda trial: given, fresh_process=False)["loss"] == loss


@pytest.mark.parametrize(
    "given", [None, True, "1", 1j, [1.0], (1.0,), np.zeros(2), {}, {"loss": None}, {"accuracy": 1}]
)
def test_what_is_no_number_is_refused_for_that_trial(tmp_path: Path, given: Any) -> None:
    assert one(tmp_path, lambda trial: given, fresh_process=False)["kind"] == "invalid"


@pytest.mark.parametrize("given", [float("inf"), -float("inf"), 10**400, np.float64("nan")])
def test_what_is_not_finite_has_diverged(tmp_path: Path, given: Any) -> None:
    assert one(tmp_path, lambda trial: given, fresh_process=False)["kind"] == "diverged"


def test_metrics_are_kept_whatever_they_are(tmp_path: Path) -> None:
    given = {"loss": 1, "cost": 2, "acc": np.float32(0.5), "per_class": np.ones(2), "net": object()}
    ended = one(tmp_path, lambda trial: given, fresh_process=False)
    assert ended["cost"] == 2 and ended["metrics"]["acc"] == 0.5
    assert ended["metrics"]["per_class"] == [1.0, 1.0]
    assert ended["metrics"]["net"].startswith("<object")


def test_a_lost_attempt_is_continued_from_its_last_complete_checkpoint(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "import objectives as o, priorband as pb\n"
        "if __name__ == '__main__':\n"
        "    pb.tune(o.slow, o.SPACE, o.EPOCHS, budget=pb.Budget(trials=1), study=sys.argv[1])\n"
    )
    (tmp_path / "go.py").write_text(script)
    here = str(Path(__file__).parent)
    where = tmp_path / "study"
    worker = subprocess.Popen([sys.executable, tmp_path / "go.py", where, here])
    for _ in range(600):
        if list(where.glob("trials/0/1.step-*")):
            break
        time.sleep(0.05)
    worker.kill()
    worker.wait()
    with pb.open_study(where) as study:
        assignment = study.turn(None, "next")
        assert isinstance(assignment, Assignment)
        assert (assignment.trial.id, assignment.attempt) == (0, 2)
        ran: list[float] = []

        def noted(trial: pb.Attempt) -> float:
            assert trial.resume_from is not None
            assert int((trial.resume_from / "epoch").read_text()) == trial.start
            ran.extend(trial.steps())
            return 0.5

        working = Worker(study, noted, WorkerOptions(fresh_process=False))
        report = working._evaluate(assignment)
        assert report.loss == 0.5 and ran == list(range(int(10 - len(ran)), 10)) and len(ran) < 9


def test_a_trial_handed_out_while_the_worker_is_asked_to_stop_is_given_back(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=9))
        worker = Worker(study, returns_nan, WorkerOptions(fresh_process=False))
        turn = study.turn

        def turned(report: Any, request: str) -> Any:
            if request and not worker.stop_signals.reason:
                worker.stop_signals.request_stop("SIGTERM")
            return turn(report, request)

        vars(study)["turn"] = turned
        assert worker.run().status == "stopped"
        assert list(study.ledger.waiting) == [0] and study.journal.leases() == []


def test_a_process_that_was_being_started_when_the_second_signal_came_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=1))
        worker = Worker(study, hangs, WorkerOptions())
        start = worker.runner.start

        def started(assignment: Assignment) -> Any:
            start(assignment)
            worker.stop_signals.request_stop("SIGINT")
            worker.stop_signals.request_stop(
                "SIGINT"
            )  # raises before anybody waits for the process

        monkeypatch.setattr(worker.runner, "start", started)
        assert worker.run().status == "stopped"
        assert multiprocessing.active_children() == []
        assert list(study.ledger.waiting) == [0]
