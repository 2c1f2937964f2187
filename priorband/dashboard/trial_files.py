"""The files of a trial, as a list of names and sizes. Links are shown as such, and not followed."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from priorband.durable.study import DurableStudy
from priorband.errors import FormatError
from priorband.storage.safe_files import open_own

MOST = 200
DEPTH = 3


def trial_files(study: DurableStudy, trial: int) -> list[dict[str, Any]]:
    """The files that a trial has left, with their sizes and times; at most `MOST`."""
    if study.checkpoints is None:
        return []
    found = []
    for entry in _entries(study.checkpoints.root / "trials", str(trial)):
        found.append(entry)
        if len(found) == MOST:
            break
    return found


def _entries(trials: Path, name: str) -> Iterator[dict[str, Any]]:
    try:
        parent = open_own(trials, os.O_RDONLY)
    except (OSError, FormatError):
        return
    try:
        yield from _below(Path(name), parent, "", DEPTH)
    finally:
        os.close(parent)


def _below(path: Path, parent: int, shown: str, depth: int) -> Iterator[dict[str, Any]]:
    """What is in a folder, which is opened within the open folder `parent`."""
    try:
        folder = open_own(path, os.O_RDONLY, dir_fd=parent)
    except (OSError, FormatError):
        return
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            name = f"{shown}{entry.name}"
            if entry.is_symlink():
                yield {"name": name, "size": None, "at": None, "link": True}
            elif entry.is_dir(follow_symlinks=False):
                if depth > 1:
                    yield from _below(Path(entry.name), folder, f"{name}/", depth - 1)
            else:
                status = entry.stat(follow_symlinks=False)
                yield {"name": name, "size": status.st_size, "at": status.st_mtime, "link": False}
    finally:
        os.close(folder)
