"""Opening files in a study's folder and in the spool: only plain files and folders, never a link.

A study's folder may come from someone you do not trust, and an objective may leave anything in it.
Its files may be read, but a symbolic link is never followed, neither for the database and its
companion files nor for checkpoints. A FIFO, a socket or a device is never opened: that could block
forever, beyond any time limit.
"""

import os
import stat
from pathlib import Path

from priorband.errors import FormatError

_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def refuse_link(path: Path, dir_fd: int | None = None) -> None:
    """Raise `FormatError` if a path is a link, or neither a file nor a folder.

    With `dir_fd`, only the last name of the path is used, within that open folder.
    """
    try:
        status = os.stat(_name(path, dir_fd), dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    _refuse_mode(path, status.st_mode)


def open_own(path: Path, flags: int, dir_fd: int | None = None) -> int:
    """Open a file or a folder with `os.open`. It never blocks, and never follows a link.

    Every file in a study's folder and in the spool is opened here. Raise `FormatError` for a link,
    and for what is neither a file nor a folder. With `dir_fd`, only the last name of the path is
    used, within that open folder.
    """
    refuse_link(path, dir_fd)  # first: opening a device may already have an effect
    file = os.open(_name(path, dir_fd), flags | _SAFELY, 0o666, dir_fd=dir_fd)
    try:
        _refuse_mode(path, os.fstat(file).st_mode)  # it may have been exchanged in between
        if _SAFELY:
            os.set_blocking(file, True)  # for processes of the objective that inherit the file
    except BaseException:
        os.close(file)
        raise
    return file


def sync_folder(path: Path) -> None:
    """Make new, renamed and removed names in a folder survive a power loss."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _name(path: Path, dir_fd: int | None) -> Path | str:
    return path if dir_fd is None else path.name


def _refuse_mode(path: Path, mode: int) -> None:
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        file_type = "a link" if stat.S_ISLNK(mode) else "neither a file nor a folder"
        raise FormatError(
            f"{path} is {file_type}. A study's folder may hold only plain files and folders. To "
            "keep the study on another disk, move its whole folder."
        )
