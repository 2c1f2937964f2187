"""Asking and telling by hand: nothing that was told is lost."""

import random
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import priorband as pb
from priorband.durable.messages import Assignment, Report
from priorband.errors import SpaceError, StorageError
from priorband.storage import sql

SPACE = pb.Space({"x": pb.Float(0, 1)})
EPOCHS = pb.Fidelity("epochs", 1, 9)

number: Any = np.int64


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
            patched.setattr(sql, "write_statements", full)
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


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), "soon"])
def test_a_time_to_hold_a_trial_for_is_one(tmp_path: Path, seconds: Any) -> None:
    with pytest.raises(SpaceError, match="lease"):
        pb.open_study(tmp_path / "new", SPACE, EPOCHS, lease=seconds)
    assert not (tmp_path / "new").exists()
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study, pytest.raises(SpaceError, match="hold"):
        study.ask(hold=seconds)


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
            assert isinstance(claim, Assignment)
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
