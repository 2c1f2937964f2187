"""Where the data of benchmarks lies: a folder that the user names. Nothing is ever downloaded."""

import os
from pathlib import Path

from priorband.errors import DataError

DATA = "PRIORBAND_DATA"
"""The environment variable that names the folder of the benchmarks' data."""
PAPER = "PRIORBAND_PAPER"
"""The environment variable that names the folder of the paper's own figures."""


def data_folder(given: str | Path | None = None) -> Path | None:
    """The folder of the data: the one given, else the environment's; None where neither is."""
    return named_folder(given, DATA, "--data")


def paper_folder(given: str | Path | None = None, data: Path | None = None) -> Path | None:
    """The folder of the paper's figures: given, the environment's, or `paper` beside the data's."""
    named = named_folder(given, PAPER, "--paper")
    if named is not None or data is None:
        return named
    beside = data.absolute().parent / "paper"
    return beside if beside.is_dir() else None


def required(folder: Path | None, relative: str, what: str) -> Path:
    """A file of the data folder, or an error that says which file to put where."""
    if folder is None:
        raise DataError(
            f"{what} needs the file {relative} of a data folder, and none is named. "
            f"Name it with --data FOLDER or the environment variable {DATA}."
        )
    path = folder / relative
    if not path.is_file():
        raise DataError(f"{what} needs the file {path}, which is not there. Put it there.")
    return path


def named_folder(given: str | Path | None, variable: str, option: str) -> Path | None:
    """The folder that is given, else the one an environment variable names; None with neither."""
    named = given if given is not None else os.environ.get(variable) or None
    if named is None:
        return None
    path = Path(named)
    if not path.is_dir():
        source = option if given is not None else variable
        raise DataError(f"{source} names {str(path)!r}, which is no folder. Name one that is.")
    return path
