"""Which devices each worker sees."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from objectives import EPOCHS, SPACE

import priorband as pb
from priorband.workers.attempt import Attempt
from priorband.workers.devices import MASKS, masks
from priorband.workers.gpus import gpus_found


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
    with pytest.raises(pb.errors.ArgumentError, match="needs 4 GPUs, but CUDA_VIS.* lists 2"):
        masks(2, 2, {"CUDA_VISIBLE_DEVICES": "0,1"})


LISTED = "list them in the environment: CUDA_VISIBLE_DEVICES="


@pytest.mark.parametrize(
    ("workers", "each", "found", "message"),
    [
        (
            *(2, 1, 0),
            "`gpus_per_trial`=1 with workers=2 needs 2 GPUs, but no GPU was found on this machine. "
            "Leave `gpus_per_trial` out to train on the CPU. If there are GPUs that were not found"
            f", {LISTED}0,1.",
        ),
        (*(4, 1, 3), "needs 4 GPUs, but only 3 GPUs were found on this machine. Use at most 3 "),
        (*(2, 2, 1), "needs 4 GPUs, but only 1 GPU was found on this machine. Ask for fewer"),
    ],
)
def test_more_gpus_than_the_machine_has_are_refused(
    workers: int, each: int, found: int, message: str
) -> None:
    with pytest.raises(pb.errors.ArgumentError) as caught:
        masks(workers, each, {}, found)
    assert message in str(caught.value)


def test_devices_that_a_user_lists_are_trusted_and_none_may_be_hidden() -> None:
    listed = {"CUDA_VISIBLE_DEVICES": "0"}
    assert masks(1, 1, listed, found=0) == [listed]
    assert masks(1, 0, {}, found=0) == [{"CUDA_VISIBLE_DEVICES": ""}]


def test_a_machine_without_gpus_leaves_no_study_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in MASKS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("priorband.workers.tuning.gpus_found", lambda: 0)
    with pytest.raises(pb.errors.ArgumentError, match="no GPU was found on this machine"):
        tuned(lambda trial: 0.5, tmp_path / "s", gpus_per_trial=1, start="same-process")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ([], 0),
        (["dev/nvidia0", "dev/nvidia1", "dev/nvidiactl", "dev/nvidia-uvm"], 2),
        (["dev/nvidiactl"], 0),
        (["dev/kfd"], None),
        (["dev/dxg"], None),
        (["proc/driver/nvidia/gpus/0000:01:00.0"], None),
    ],
)
def test_gpus_are_found_by_their_device_files(
    tmp_path: Path, files: list[str], found: int | None
) -> None:
    for name in ("dev/null", *files):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert gpus_found(tmp_path, "linux") == found
    assert gpus_found(tmp_path, "darwin") is None
    assert gpus_found(tmp_path / "nothing", "linux") is None
