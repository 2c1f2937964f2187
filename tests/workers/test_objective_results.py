"""What an objective may return, and what becomes of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from single_trial import trial_end

import priorband as pb

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
