"""What an objective may do during its attempt, and that it ends that attempt only."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waiting import wait_until

import priorband as pb
from priorband.display.overview import study_overview
from priorband.workers import trial_process
from priorband.workers.attempt import Attempt
from priorband.workers.trial_starter import Start

SPACE = pb.Space({"x": pb.Float(0, 1)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


number: Any = np.int64


def run(objective: Callable[[Attempt], Any], study: Path | str, **options: Any) -> None:
    limits: dict[str, Any] = {"budget": pb.Budget(trials=1), "show": "quiet"}
    pb.tune(objective, SPACE, EPOCHS, study=study, **limits | options)


def tuned(
    objective: Callable[[Attempt], Any], study: Path | str, **options: Any
) -> pb.DurableStudy:
    """The study of one trial, which may have failed."""
    with suppress(pb.errors.HaltedError):
        run(objective, study, **options)
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
    time.sleep(600)
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


def test_nonsense_from_a_trial_ends_the_trial_and_not_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_process, "AFTER_TERM", 0.1)
    with tuned(sends_nonsense, tmp_path, retries={"crashed": 1}) as study:
        assert study.ledger.failures == {"crashed": 1}


@pytest.mark.parametrize("start", ["warm", "cold", "same-process"])
def test_an_objective_may_change_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    monkeypatch.chdir(tmp_path)
    pb.tune(
        goes_elsewhere,
        SPACE,
        EPOCHS,
        study="runs/it",
        budget=pb.Budget(trials=1),
        show="quiet",
        start=start,
    )
    assert losses(pb.open_study(tmp_path / "runs/it")) == [0.25]
    assert list((tmp_path / "runs/it/trials/0").glob("1-*/checkpoint/weights"))


@pytest.mark.parametrize("objective", [raises_mutely, is_cancelled])
def test_an_exception_of_any_kind_ends_its_trial_only(
    tmp_path: Path, objective: Callable[[Attempt], float]
) -> None:
    with tuned(objective, tmp_path, start="same-process") as study:
        assert study.ledger.failures == {"raised": 1}


def test_an_interrupt_that_an_objective_lets_out_stops_the_worker(tmp_path: Path) -> None:
    calls: list[int] = []

    def objective(trial: Attempt) -> float:
        calls.append(trial.attempt)
        if len(calls) < 5:
            raise KeyboardInterrupt
        return 0.25

    with pytest.raises(KeyboardInterrupt):
        tuned(objective, tmp_path, start="same-process")
    assert calls == [1]
    assert losses(tuned(lambda trial: 0.25, tmp_path, start="same-process")) == [0.25]


def test_a_trial_that_dies_after_its_last_step_does_that_step_again(tmp_path: Path) -> None:
    assert losses(tuned(dies_after_its_last_step, tmp_path)) == [1 / 9]


@pytest.mark.parametrize("word", ["loss", "value"])
def test_what_is_reported_under_maximize_is_shown_with_its_sign(tmp_path: Path, word: str) -> None:
    def shown() -> list[float | None]:
        with pb.open_study(tmp_path, read_only=True) as other:
            overview = study_overview(other, other.journal.leases(), other.journal.now())
            return [running.value for running in overview.running]

    def reports(trial: Attempt) -> float:
        trial.report(1, **{word: 0.75})
        wait_until(lambda: shown() == [0.75], "the value that was reported")
        return 0.75

    with tuned(reports, tmp_path, maximize=True, start="same-process") as study:
        assert study.best is not None and study.best.loss == -0.75
    curve = (tmp_path / "trials/0/curve-1.jsonl").read_text()
    assert curve == f'{{"step": 1.0, "{word}": 0.75}}\n'


def test_a_value_that_is_not_finite_ends_a_trial_that_maximises(tmp_path: Path) -> None:
    def diverges(trial: Attempt) -> float:
        trial.report(1, value=float("nan"))
        return 0.5

    with pytest.raises(pb.errors.HaltedError, match="the value was nan at step 1"):
        run(diverges, tmp_path, maximize=True, start="same-process")


def test_a_loss_and_a_value_are_one_too_many(tmp_path: Path) -> None:
    def both(trial: Attempt) -> float:
        trial.report(1, 0.5, value=0.5)
        return 0.5

    with pytest.raises(pb.errors.HaltedError, match="takes `loss` or `value`, and was given both"):
        run(both, tmp_path, maximize=True, start="same-process")


def test_a_value_is_a_metric_where_losses_are_minimised(tmp_path: Path) -> None:
    def reports(trial: Attempt) -> float:
        trial.report(1, loss=0.5, value=float("nan"))
        return 0.5

    assert losses(tuned(reports, tmp_path, start="same-process")) == [0.5]
