"""Which file is at a path, regardless of what the file is called."""

import os
from pathlib import Path

FileId = tuple[int, int]
"""A file's device and inode. It keeps them when it is renamed."""


def file_id(path: Path | str, folder: int | None = None) -> FileId | None:
    """The device and inode of the file at a path; None if there is no file.

    With `folder`, an open folder, the path is relative to it.
    """
    try:
        status = os.stat(path, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino
