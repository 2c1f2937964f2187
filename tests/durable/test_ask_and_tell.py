"""Asking and telling by hand: nothing that was told is lost."""

import random
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from amounts import slow

import priorband as pb
from priorband.durable.messages import Assignment, Report
from priorband.errors import ArgumentError, StorageError
from priorband.storage import sql

SPACE = pb.Space({"x": pb.Float(0, 1)})
EPOCHS = pb.Fidelity("epochs", 1, 9)
PACKAGE = str(Path(pb.__file__).parent)
STRIDE = 11

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
    with pb.open_study(tmp_path, SPACE, EPOCHS, maximize=True, patience=0) as study:
        study.tell(study.ask(), 0.5)
        trial = study.ask()

        def full(transaction: object) -> None:
            raise StorageError("The disk is full.")

        with monkeypatch.context() as patched:
            patched.setattr(sql, "write_statements", full)
            with pytest.raises(StorageError):
                study.tell(trial, 0.25)
        assert study.best is not None
        assert study.best.loss == -0.5
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
    with pytest.raises(ArgumentError, match="lease"):
        pb.open_study(tmp_path / "new", SPACE, EPOCHS, lease=seconds)
    assert not (tmp_path / "new").exists()
    with (
        pb.open_study(tmp_path, SPACE, EPOCHS) as study,
        pytest.raises(ArgumentError, match="hold"),
    ):
        study.ask(hold=seconds)


class InterruptedAtCall:
    """Raise KeyboardInterrupt at the n-th call within the library; 0 only counts.

    Calls of Python functions count when they begin, calls of others when they have returned: at
    these moments Python runs the handlers of signals.
    """

    def __init__(self, call: int) -> None:
        self.call = call
        self.seen = 0

    def __enter__(self) -> "InterruptedAtCall":
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        if event in ("call", "c_return") and frame.f_code.co_filename.startswith(PACKAGE):
            self.seen += 1
            if self.seen == self.call:
                raise KeyboardInterrupt


@pytest.mark.parametrize("first", range(1, STRIDE + 1))
def test_an_interrupt_at_any_call_leaves_a_study_that_goes_on(tmp_path: Path, first: int) -> None:
    """As Ctrl-C does to who asks by hand: no transaction may stay open, and no lock held."""
    with pb.open_study(tmp_path, SPACE, EPOCHS, method="random") as study:
        claims = [study.turn(None, "0")]

        def take_turn(call: int) -> int:
            """Tell and ask, once more after an interrupt; how many calls that took."""
            claim = claims[-1]
            assert isinstance(claim, Assignment)
            report = Report(claim.trial.id, claim.attempt, 0.5)
            interrupt = InterruptedAtCall(call)
            try:
                with interrupt:
                    claims.append(study.turn(report, str(len(claims))))
            except KeyboardInterrupt:
                claims.append(study.turn(report, str(len(claims))))
            return interrupt.seen

        calls = take_turn(0)
        assert calls > 100
        for call in range(first, calls, STRIDE):
            assert take_turn(call) == call
    with pb.open_study(tmp_path) as again:
        assert len(again.state.history.observations) == len(claims) - 1


@slow
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
        assert fired > 0
        assert len(again.state.history.observations) == 399
