"""The folder of a study: whether there can be one in a place, and its creation."""

import os
from pathlib import Path

from priorband.errors import ArgumentError


def require_no_file(folder: Path) -> None:
    """Raise `ArgumentError` if a file is where a study's folder or one above it should be."""
    for path in (folder, *folder.parents):
        if os.path.isfile(path):
            raise ArgumentError(f"`study` must be a folder, but {path} is a file. {_advice(path)}")
        if os.path.lexists(path):
            return


def create_folder(folder: Path) -> None:
    """Create a study's folder and those above it, unless they exist.

    Raise `ArgumentError` where no folder can ever be created; other errors may go away.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileNotFoundError as error:
        if not folder.parent.is_dir():  # it was removed at this moment
            raise
        raise ArgumentError(
            f"`study` must be a folder that can be created, but {folder.parent} takes no new "
            f"folders, so there can be no {folder}. Choose a place on a disk, such as "
            f"'runs/{folder.name}'."
        ) from error


def _advice(path: Path) -> str:
    if path.name == "study.db":
        return f"For the study in it, give the folder: {str(path.parent)!r}."
    return f"Choose another place for the study, such as 'runs/{path.stem}'."
