"""The real data that some tests need: beside the project, or where the environment says."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2] / "shared"


def data_folder() -> Path:
    """The folder of the benchmarks' data; the test is skipped where there is none."""
    return _existing("PRIORBAND_DATA", _BESIDE / "data", "the benchmarks' data")


def paper_folder() -> Path:
    """The folder of the paper's figures; the test is skipped where there is none."""
    return _existing("PRIORBAND_PAPER", data_folder().parent / "paper", "the paper's figures")


def _existing(variable: str, usual: Path, what: str) -> Path:
    folder = Path(os.environ.get(variable, usual))
    if not folder.is_dir():
        pytest.skip(f"{what} are not on this machine: name their folder with {variable}")
    return folder
