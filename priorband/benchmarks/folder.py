"""The folders that hold the data of benchmarks. Nothing is ever downloaded."""

import os
from pathlib import Path

from priorband.errors import DataError

DATA_VARIABLE = "PRIORBAND_DATA"
"""The environment variable that names the folder with the benchmarks' data."""
PAPER_VARIABLE = "PRIORBAND_PAPER"
"""The environment variable that names the folder with the paper's own results."""


def data_folder(folder: str | Path | None = None) -> Path | None:
    """The folder with the benchmarks' data: `folder`, else the one in the environment, or None."""
    return named_folder(folder, DATA_VARIABLE, "--data")


def paper_folder(folder: str | Path | None = None, data: Path | None = None) -> Path | None:
    """The folder with the paper's results: `folder`, the environment's, or `paper` beside `data`.

    None if there is no such folder.
    """
    named = named_folder(folder, PAPER_VARIABLE, "--paper")
    if named is not None or data is None:
        return named
    beside = data.absolute().parent / "paper"
    return beside if beside.is_dir() else None


def required(folder: str | Path | None, relative: str, needed_by: str) -> Path:
    """The path of a file in the data folder; raises `DataError` if it does not exist."""
    if folder is None:
        raise DataError(
            f"{needed_by} needs the file {relative} from a data folder, but no data folder is "
            f"set. Set it with --data FOLDER or the environment variable {DATA_VARIABLE}."
        )
    path = Path(folder) / relative
    if not path.is_file():
        raise DataError(f"{needed_by} needs the file {path}, which does not exist. Put it there.")
    return path


def named_folder(folder: str | Path | None, variable: str, option: str) -> Path | None:
    """The folder in `folder`, else the one in an environment variable; None if neither is set."""
    named = folder if folder is not None else os.environ.get(variable) or None
    if named is None:
        return None
    path = Path(named)
    if not path.is_dir():
        source = option if folder is not None else variable
        raise DataError(
            f"{source} is {str(path)!r}, which is not a folder. Set it to an existing folder."
        )
    return path
