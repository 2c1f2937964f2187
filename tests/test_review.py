"""Ways to lose data, run a trial twice, end a worker or hang one, found by a hostile reading."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import priorband as pb
from priorband.durable.messages import Report
from priorband.errors import FormatError, StorageError
from priorband.storage.spool import Spool
from priorband.workers import pool
from priorband.workers.attempt import Attempt
from priorband.workers.trial_runner import WorkerOptions

SPACE = pb.Space({"x": pb.Float(0, 1)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


number: Any = np.int64


def tuned(
    objective: Callable[[Attempt], Any], study: Path | str, **options: Any
) -> pb.DurableStudy:
    """The study of one trial."""
    limits: dict[str, Any] = {"budget": pb.Budget(trials=1), "show": "quiet"}
    pb.tune(objective, SPACE, EPOCHS, study=study, **limits | options)
    return pb.open_study(study)


def losses(study: pb.DurableStudy) -> list[float]:
    with study:
        return [one.loss for one in study.state.history.observations if not one.failed]


def reports_odd_names(trial: Attempt) -> float:
    trial.report(1, loss=0.5, done=0.5, end=3, hello=1)
    return 0.25


def reports_from_threads(trial: Attempt) -> float:
    def report() -> None:
        for step in range(100):
            trial.report(step, loss=0.1, text="y" * 90_000)
            assert not trial.should_stop

    threads = [threading.Thread(target=report) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 0.25


def sends_nonsense(trial: Attempt) -> float:
    for cell in trial._send.__closure__ or ():  # as two forked processes that write at once
        if hasattr(cell.cell_contents, "send_bytes"):
            cell.cell_contents.send_bytes(b"\x00\x01{")
    time.sleep(60)
    return 0.25


def goes_elsewhere(trial: Attempt) -> float:
    os.chdir("/")
    (trial.checkpoint_dir / "weights").write_text("w")
    return 0.25


class Mute(Exception):
    """An exception that cannot say what it is about."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def raises_mutely(trial: Attempt) -> float:
    raise Mute


def is_cancelled(trial: Attempt) -> float:
    raise asyncio.CancelledError


def dies_after_its_last_step(trial: Attempt) -> float:
    loss = None
    for step in trial.steps():
        with trial.checkpoint(number(step)) as folder:
            (folder / "step").write_text(str(step))
        loss = 1 / step
    if trial.attempt == 1:
        os._exit(3)
    assert loss is not None
    assert trial.start == trial.fidelity - 1
    return loss


def test_a_metric_may_have_any_name(tmp_path: Path) -> None:
    assert losses(tuned(reports_odd_names, tmp_path)) == [0.25]


def test_an_objective_may_report_from_several_threads(tmp_path: Path) -> None:
    assert losses(tuned(reports_from_threads, tmp_path)) == [0.25]


def test_nonsense_from_a_trial_ends_the_trial_and_not_the_worker(tmp_path: Path) -> None:
    with tuned(sends_nonsense, tmp_path, retries={"crashed": 1}) as study:
        assert study.ledger.failures == {"crashed": 1}


@pytest.mark.parametrize("fresh_process", [True, False])
def test_an_objective_may_change_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_process: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    pb.tune(
        goes_elsewhere,
        SPACE,
        EPOCHS,
        study="runs/it",
        budget=pb.Budget(trials=1),
        show="quiet",
        fresh_process=fresh_process,
    )
    assert losses(pb.open_study(tmp_path / "runs/it")) == [0.25]
    assert (tmp_path / "runs/it/trials/0/1/weights").exists()


@pytest.mark.parametrize("objective", [raises_mutely, is_cancelled])
def test_an_exception_of_any_kind_ends_its_trial_only(
    tmp_path: Path, objective: Callable[[Attempt], float]
) -> None:
    with tuned(objective, tmp_path, fresh_process=False) as study:
        assert study.ledger.failures == {"raised": 1}


def test_an_interrupt_that_an_objective_lets_out_stops_the_worker(tmp_path: Path) -> None:
    calls: list[int] = []

    def objective(trial: Attempt) -> float:
        calls.append(trial.attempt)
        if len(calls) < 5:
            raise KeyboardInterrupt
        return 0.25

    with pytest.raises(KeyboardInterrupt):
        tuned(objective, tmp_path, fresh_process=False)
    assert calls == [1]
    assert losses(tuned(lambda trial: 0.25, tmp_path, fresh_process=False)) == [0.25]


def test_a_trial_that_dies_after_its_last_step_does_that_step_again(tmp_path: Path) -> None:
    assert losses(tuned(dies_after_its_last_step, tmp_path)) == [1 / 9]


def test_waiting_does_not_mend_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    began = time.monotonic()
    with pytest.raises(StorageError, match="Not a directory"):
        tuned(raises_mutely, tmp_path / "file")
    assert time.monotonic() - began < 5


def test_devices_are_shared_out_anew_in_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    tuned(lambda trial: 0.5, tmp_path, gpus_per_trial=1, fresh_process=False).close()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "4,7"


def test_a_user_without_a_home_has_a_spool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("PRIORBAND_SPOOL", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert Spool("abc").waiting() == {}


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no users")
def test_results_that_another_user_has_left_are_not_handed_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIORBAND_SPOOL", str(tmp_path))
    spool = Spool("abc")
    assert spool.put("0-1", {"trial": 0})
    assert len(spool.waiting()) == 1
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    assert spool.waiting() == {}


@pytest.mark.parametrize("trial", [-1, 10**30])
def test_a_spooled_result_of_no_trial_is_refused(trial: int) -> None:
    with pytest.raises(FormatError):
        Report.from_data(Report(trial, 1, 0.5).to_data())


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
    job = pool.WorkerJob({"where": tmp_path}, raises_mutely, WorkerOptions(), {})
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


def never_ends(trial: Attempt) -> float:
    time.sleep(20)
    return 0.5
