"""What an objective may return, and what becomes of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from objectives import EPOCHS, SPACE
from single_trial import trial_end

import priorband as pb
from priorband.failures import advice
from priorband.workers.objective_results import result_from_value

Objective = Callable[[pb.Attempt], Any]


@pytest.mark.parametrize(
    ("given", "loss"),
    [(0.5, 0.5), (1, 1.0), (np.float32(0.5), 0.5), (np.array(2), 2.0), ({"loss": 3}, 3.0)],
)
def test_numbers_are_numbers(tmp_path: Path, given: Any, loss: float) -> None:
    assert trial_end(tmp_path, lambda trial: given, start="same-process")["loss"] == loss


@pytest.mark.parametrize(
    "given", [None, True, "1", 1j, [1.0], (1.0,), np.zeros(2), {}, {"loss": None}, {"accuracy": 1}]
)
def test_what_is_no_number_is_refused_for_that_trial(tmp_path: Path, given: Any) -> None:
    assert trial_end(tmp_path, lambda trial: given, start="same-process")["kind"] == "invalid"


@pytest.mark.parametrize("given", [float("inf"), -float("inf"), 10**400, np.float64("nan")])
def test_what_is_not_finite_has_diverged(tmp_path: Path, given: Any) -> None:
    assert trial_end(tmp_path, lambda trial: given, start="same-process")["kind"] == "diverged"


def test_metrics_are_kept_whatever_they_are(tmp_path: Path) -> None:
    given = {"loss": 1, "cost": 2, "acc": np.float32(0.5), "per_class": np.ones(2), "net": object()}
    ended = trial_end(tmp_path, lambda trial: given, start="same-process")
    assert ended["cost"] == 2 and ended["metrics"]["acc"] == 0.5
    assert ended["metrics"]["per_class"] == [1.0, 1.0]
    assert ended["metrics"]["net"].startswith("<object")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "The objective returned None instead of the loss. Is a `return` missing?"),
        (
            (0.5, 0.9),
            "The objective returned a tuple of 2 instead of the loss. Return the loss alone, or "
            "give each number a name in a dict.",
        ),
        (
            np.zeros((2, 3)),
            "The objective returned an array of shape (2, 3) instead of the loss. Reduce it to one "
            "number, with `.mean()` for example.",
        ),
        (
            "0.5",
            "The objective returned the text '0.5' instead of the loss. Convert it with "
            "`float(...)`.",
        ),
        (True, "The objective returned True (bool) instead of the loss."),
        ({}, "The objective returned a dict without 'loss': it has nothing in it."),
        (
            {"accuracy": 0.9, "f1": 0.8},
            "The objective returned a dict without 'loss': it has 'accuracy', 'f1'.",
        ),
        (
            {"loss": None},
            "The objective returned None as 'loss' in its dict instead of the loss.",
        ),
        (
            {"loss": 1.0, "value": 1.0},
            "The objective returned a dict with both 'loss' and 'value'. Return one of them.",
        ),
    ],
)
def test_what_is_no_loss_is_named(given: Any, said: str) -> None:
    with pytest.raises(pb.errors.LossError) as raised:
        result_from_value(given, maximize=False)
    assert str(raised.value) == said


def test_who_maximises_is_told_of_values() -> None:
    for given, said in (
        (None, "The objective returned None instead of the value to maximise. Is a `return` "),
        ({"acc": 1}, "The objective returned a dict without 'value': it has 'acc'."),
    ):
        with pytest.raises(pb.errors.LossError) as raised:
            result_from_value(given, maximize=True)
        assert str(raised.value).startswith(said)
    assert result_from_value(float("nan"), maximize=True)["reason"] == "the value was nan"
    assert advice("invalid", maximize=True).splitlines()[1:] == [
        "    def train(trial):",
        '        return 0.93  # or {"value": 0.93, "seconds": 12.5}',
    ]


def two(lr: float, epochs: int) -> float:
    return lr * epochs


def none() -> float:
    return 0.0


def named(*, trial: pb.Attempt) -> float:
    return trial.fidelity


@pytest.mark.parametrize(
    ("objective", "shown"),
    [
        (two, "two(lr: float, epochs: int) -> float"),
        (none, "none() -> float"),
        (named, "named(*, trial: priorband.workers.attempt.Attempt) -> float"),
    ],
)
def test_a_wrong_number_of_arguments_is_refused_before_anything_is_made(
    tmp_path: Path, objective: Any, shown: str
) -> None:
    with pytest.raises(pb.errors.MethodError) as raised:
        pb.tune(objective, SPACE, EPOCHS, budget=1, study=tmp_path / "s")
    assert str(raised.value) == (
        f"`objective` must take exactly one argument, the trial, got {shown}. The settings are in "
        "`trial.config`, how long to train is in `trial.fidelity`. For example:\n"
        "    def train(trial):\n"
        '        return fit(lr=trial.config["lr"], epochs=trial.fidelity)'
    )
    assert not (tmp_path / "s").exists()


def test_a_type_error_of_the_objective_itself_stays_what_it_is(tmp_path: Path) -> None:
    ended = trial_end(tmp_path, lambda trial: len(5), start="same-process")  # type: ignore[arg-type]  # wrong
    assert ended["kind"] == "raised" and ended["reason"].startswith("TypeError: object of type")


def helper(trial: pb.Attempt) -> float:
    return json.loads("{")  # type: ignore[no-any-return]  # raises


def fails(trial: pb.Attempt) -> float:
    print("training")
    return helper(trial)


@pytest.mark.parametrize("start", ["warm", "cold", "same-process"])
def test_a_failure_keeps_own_frames_and_its_log_has_the_traceback(
    tmp_path: Path, start: str
) -> None:
    ended = trial_end(tmp_path, fails, start=start)
    assert [frame[2:] for frame in ended["frames"]] == [
        ["fails", "return helper(trial)"],
        ["helper", 'return json.loads("{")  # type: ignore[no-any-return]  # raises'],
    ]
    assert {frame[0] for frame in ended["frames"]} == {__file__}
    log = (tmp_path / "trials/0/log-1.txt").read_text()
    assert "Traceback (most recent call last)" in log and "json/decoder.py" in log
    assert "\nraised: JSONDecodeError: Expecting property name" in log
    assert log.endswith(
        "\nFix the error and run the same again. "
        "`priorband retry STUDY --failed` queues the failed trials again.\n"
    )
    assert log.startswith("training\n") is (start != "same-process")


def test_a_returned_failure_names_the_objective(tmp_path: Path) -> None:
    def nothing(trial: pb.Attempt) -> None:
        del trial

    ended = trial_end(tmp_path, nothing, start="same-process")
    assert ended["frames"][0][2:] == ["nothing", "def nothing(trial: pb.Attempt) -> None:"]
    assert (
        "    def train(trial):\n        return 0.25"
        in (tmp_path / "trials/0/log-1.txt").read_text()
    )


def test_a_reported_nan_names_its_line(tmp_path: Path) -> None:
    def diverges(trial: pb.Attempt) -> float:
        trial.report(1, loss=float("nan"))
        return 0.0

    ended = trial_end(tmp_path, diverges, start="same-process")
    assert (ended["kind"], ended["reason"]) == ("diverged", "the loss was nan at step 1")
    assert ended["frames"][-1][3] == 'trial.report(1, loss=float("nan"))'
