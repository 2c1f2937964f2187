"""Opening files in a study's folder without ever following a link out of it.

A study's folder may come from someone you do not trust. Its files may be read, but a symbolic link
in it is never followed, neither for the database and its companion files nor for checkpoints.
"""

import os
import stat
from pathlib import Path

from priorband.errors import FormatError


def refuse_link(path: Path) -> None:
    """Raise `FormatError` if a path is a link, or neither a file nor a folder."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        file_type = "a link" if stat.S_ISLNK(mode) else "neither a file nor a folder"
        raise FormatError(
            f"{path} is {file_type}. A study's folder may hold only plain files and folders. To "
            "keep the study on another disk, move its whole folder."
        )


def inner_folder(root: Path, *names: str) -> Path:
    """A folder below another, created if necessary; raise `FormatError` for a link on the way."""
    path = root
    for name in names:
        path = path / name
        refuse_link(path)
        path.mkdir(exist_ok=True)
    return path


def sync_folder(path: Path) -> None:
    """Make new, renamed and removed names in a folder survive a power loss."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def open_own(path: Path, flags: int) -> int:
    """Open one of the study's own files with `os.open`; raise `FormatError` for a link."""
    refuse_link(path)
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
