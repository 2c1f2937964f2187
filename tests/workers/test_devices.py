"""Which devices each worker sees."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from objectives import EPOCHS, SPACE

import priorband as pb
from priorband.workers.attempt import Attempt
from priorband.workers.devices import masks


def tuned(
    objective: Callable[[Attempt], Any], study: Path | str, **options: Any
) -> pb.DurableStudy:
    """The study of one trial."""
    limits: dict[str, Any] = {"budget": pb.Budget(trials=1), "show": "quiet"}
    pb.tune(objective, SPACE, EPOCHS, study=study, **limits | options)
    return pb.open_study(study)


def test_devices_are_shared_out_anew_in_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    tuned(lambda trial: 0.5, tmp_path, gpus_per_trial=1, start="same-process").close()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "4,7"


@pytest.mark.parametrize(
    ("workers", "each", "environment", "made"),
    [
        (2, None, {}, [{}, {}]),
        (2, 1, {}, [{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}]),
        (1, 2, {"CUDA_VISIBLE_DEVICES": "3, 5"}, [{"CUDA_VISIBLE_DEVICES": "3,5"}]),
        (2, 0, {"CUDA_VISIBLE_DEVICES": "3"}, [{"CUDA_VISIBLE_DEVICES": ""}] * 2),
        (1, 1, {"HIP_VISIBLE_DEVICES": "2"}, [{"HIP_VISIBLE_DEVICES": "2"}]),
    ],
)
def test_each_worker_sees_its_own_devices(
    workers: int, each: int | None, environment: dict[str, str], made: list[dict[str, str]]
) -> None:
    assert masks(workers, each, environment) == made


def test_more_devices_than_there_are_cannot_be_shared_out() -> None:
    with pytest.raises(pb.errors.ArgumentError, match="need 4 devices, but CUDA_VIS.* lists 2"):
        masks(2, 2, {"CUDA_VISIBLE_DEVICES": "0,1"})
