"""Ways to lose data, run a trial twice, end a worker or hang one, found by a hostile reading."""

import asyncio
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import priorband as pb
from priorband.attempts import Claim, Report, restored_report
from priorband.errors import FormatError, SpaceError, StorageError
from priorband.storage import sql
from priorband.storage.spool import Spool
from priorband.workers import pool
from priorband.workers.attempt import Attempt
from priorband.workers.evaluation import Options

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
        for step in range(300):
            trial.report(step, loss=0.1)
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


def test_a_metric_that_cannot_be_shown_does_not_cost_the_result(tmp_path: Path) -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        assert study.tell(study.ask(), 0.5, deep=nested, huge=[10**5000])


def test_a_result_can_be_told_again_after_storage_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS, maximize=True) as study:
        study.tell(study.ask(), 0.5)
        trial = study.ask()

        def full(transaction: object) -> None:
            raise StorageError("The disk is full.")

        with monkeypatch.context() as patched:
            patched.setattr(sql, "writes", full)
            with pytest.raises(StorageError):
                study.tell(trial, 0.25)
        assert study.best is not None
        assert study.best.loss == 0.5
        assert study.maximize
        assert study.tell(trial, 0.25)


def test_a_trial_is_told_by_a_process_that_has_not_seen_it_yet(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as asks, pb.open_study(tmp_path) as tells:
        assert tells.tell(asks.ask(hold=60).id, 0.5)


def test_a_cost_that_is_told_by_hand_counts(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(cost=5))
        study.tell(study.ask(), 0.5, cost=6.0, accuracy=0.5)
        with pytest.raises(pb.ExhaustedError):
            study.ask()


@pytest.mark.parametrize("limit", [np.int64(2), np.float32(2), pb.Budget(trials=number(3))])
def test_a_budget_may_be_a_number_of_numpys(tmp_path: Path, limit: Any) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(limit)
        assert study.budget.limits


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), "soon"])
def test_a_time_to_hold_a_trial_for_is_one(tmp_path: Path, seconds: Any) -> None:
    with pytest.raises(SpaceError, match="lease"):
        pb.open_study(tmp_path / "new", SPACE, EPOCHS, lease=seconds)
    assert not (tmp_path / "new").exists()
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study, pytest.raises(SpaceError, match="hold"):
        study.ask(hold=seconds)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_a_folder_may_have_a_name_that_is_no_unicode(tmp_path: Path) -> None:
    with pb.open_study(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"), SPACE, EPOCHS) as study:
        study.tell(study.ask(), 0.5)


def test_a_signal_at_any_moment_leaves_a_study_that_goes_on(tmp_path: Path) -> None:
    """As Ctrl-C does to who asks by hand: no transaction may stay open, and no lock held."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    study = pb.open_study(tmp_path, SPACE, EPOCHS, method="random")
    dice, longest, fired = random.Random(0), 0.003, 0
    claim = study.turn(None, "0")
    try:
        for number in range(1, 400):
            assert isinstance(claim, Claim)
            report = Report(claim.trial.id, claim.attempt, 0.5)
            began = time.monotonic()
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 1e-6 + longest * dice.random())
                    claim = study.turn(report, str(number))
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                longest = 1.2 * (time.monotonic() - began)
            except KeyboardInterrupt:
                fired += 1
                claim = study.turn(report, str(number))
    finally:
        signal.signal(signal.SIGALRM, before)
        study.close()
    with pb.open_study(tmp_path) as again:
        assert fired > 50
        assert len(again.state.history.observations) == 399


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
        restored_report(Report(trial, 1, 0.5).described())


def test_workers_that_have_started_are_ended_when_another_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[pool.Member] = []
    start = pool.Member.start

    def failing(member: pool.Member) -> None:
        if started:
            raise OSError("no more processes")
        started.append(member)
        start(member)

    monkeypatch.setattr(pool.Member, "start", failing)
    job = pool.Job({"where": tmp_path}, raises_mutely, Options(), {})
    with pytest.raises(OSError, match="no more"):
        pool.run_pool([job, job], print, lambda: None)
    assert started[0].process.exitcode is not None


def test_a_worker_that_starts_while_the_signal_comes_is_asked_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pb.open_study(tmp_path, SPACE, EPOCHS).close()
    init = pool.Member.__init__

    def interrupted(member: pool.Member, job: pool.Job) -> None:
        init(member, job)
        os.kill(os.getpid(), signal.SIGTERM)  # before it is in the list

    monkeypatch.setattr(pool.Member, "__init__", interrupted)
    job = pool.Job({"where": tmp_path}, never_ends, Options(grace=1), {})
    (ending,) = pool.run_pool([job], print, lambda: None)
    assert (ending.how, ending.reason) == ("stopped", "SIGTERM")


def never_ends(trial: Attempt) -> float:
    time.sleep(20)
    return 0.5
