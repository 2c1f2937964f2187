"""The folder of a study: whether there can be one in a place, and its creation."""

import os
from difflib import get_close_matches
from pathlib import Path

from priorband.errors import ArgumentError
from priorband.storage.sqlite_file import DATABASE_NAME


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
    except FileNotFoundError:
        if not folder.parent.is_dir():  # it was removed at this moment
            raise
        raise ArgumentError(
            f"`study` must be a folder that can be created, but {folder.parent} takes no new "
            f"folders, so there can be no {folder}. Choose a place on a disk, such as "
            f"'runs/{folder.name}'."
        ) from None


def nearby_studies(where: str | Path) -> str:
    """Where studies are that may have been meant: in the folder itself, or beside it."""
    folder = Path(where)
    inside, beside = _studies_in(folder), _studies_in(folder.parent)
    close = get_close_matches(folder.name, [study.name for study in beside], n=1, cutoff=0.6)
    found = inside or [study for study in beside if study.name in close]
    shown = " or ".join(repr(str(study)) for study in found[:3])
    return f" Did you mean {shown}?" if shown else ""


def _studies_in(folder: Path) -> list[Path]:
    try:
        return sorted(path.parent for path in folder.glob(f"*/{DATABASE_NAME}"))
    except (OSError, ValueError):
        return []


def _advice(path: Path) -> str:
    if path.name == DATABASE_NAME:
        return f"For the study in it, give the folder: {str(path.parent)!r}."
    return f"Choose another place for the study, such as 'runs/{path.stem}'."
