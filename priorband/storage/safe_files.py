"""Files of a study's folder, opened so that nothing outside of it is ever touched.

A folder may come from a stranger. What lies in it may be read, but a link that leads out of it is
never followed: not for the database and its companions, not for checkpoints.
"""

import os
import stat
from pathlib import Path

from priorband.errors import FormatError


def refuse_link(path: Path) -> None:
    """Complain if something of a study is a link, or neither a file nor a folder."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        what = "a link" if stat.S_ISLNK(mode) else "neither a file nor a folder"
        raise FormatError(
            f"{path} is {what}. A study holds files and folders of its own only; move the "
            f"whole folder if its disk is too small."
        )


def inner_folder(root: Path, *names: str) -> Path:
    """A folder below another, made if need be; none of the parts in between may be a link."""
    path = root
    for name in names:
        path = path / name
        refuse_link(path)
        path.mkdir(exist_ok=True)
    return path


def sync_folder(path: Path) -> None:
    """Make names in a folder survive a power loss."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def open_own(path: Path, flags: int) -> int:
    """Open a file of our own for reading and writing, unless it is a link."""
    refuse_link(path)
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
