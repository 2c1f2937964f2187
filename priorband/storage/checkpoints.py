"""Checkpoints: one folder an attempt, and copies of it that are complete.

    trials/17/1/            what attempt 1 of trial 17 saves; complete once its result is told
    trials/17/1.step-5/     a copy made when step 5 was done; complete, or not there at all
    trials/17/2.from-5/     the same, taken over by attempt 2
    trials/17/curve-1.jsonl, log-1.txt

A worker that was thought dead goes on writing into its own folders only. Names are made of numbers,
never of anything a person gave.
"""

import math
import os
import re
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import final

from priorband.errors import FormatError
from priorband.storage.safe_files import inner_folder, refuse_link, sync_folder

_COPY = re.compile(r"(\d+)\.(step|from)-(\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
_FICLONE = 0x40049409  # Linux: share a file's blocks until one of the two is written


@final
class Checkpoints:
    """The folders of a study's trials."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._trials = str(root / "trials")

    def knows(self, trial: int) -> bool:
        """Whether a trial has a folder at all; most cheap ones have none."""
        return os.path.lexists(f"{self._trials}/{trial}")

    def folder(self, trial: int) -> Path:
        """A trial's folder, made if need be."""
        return inner_folder(self.root, "trials", str(trial))

    def workplace(self, trial: int, attempt: int) -> Path:
        """The folder that an attempt saves into, empty."""
        path = self.folder(trial) / str(attempt)
        _remove(path)
        return inner_folder(self.folder(trial), str(attempt))

    def left_by(self, trial: int, attempt: int) -> Path | None:
        """The checkpoint that a trial's successful attempt has left."""
        if not self.knows(trial):
            return None
        place = self.root / "trials" / str(trial)
        for path in (self.root / "trials", place, place / str(attempt)):
            refuse_link(path)
        if _filled(place / str(attempt)):
            return place / str(attempt)
        copies = [path for step, path in _copies(place, "step", attempt)]
        return copies[-1] if copies else None

    def seal(self, trial: int, attempt: int, step: float) -> None:
        """Keep a copy of what an attempt has saved by a step, in place of earlier copies."""
        self.put(trial, attempt, step, self.folder(trial) / str(attempt))

    def put(  # noqa: PLR0913  # whose, what, and how
        self,
        trial: int,
        attempt: int,
        step: float,
        made: Path,
        copy: bool = True,
        last: bool = False,
    ) -> None:
        """Keep a folder as the checkpoint of a step: completely, or not at all.

        The `last` step's is kept beside the one before: from there a trial whose result was lost
        is ended once more.
        """
        place, name = self.folder(trial), f"{attempt}.step-{step!r}"
        if not _COPY.fullmatch(name):
            raise FormatError(f"A step must be a number of at least 0, got {step!r}.")
        part = place / f"{attempt}.part"
        if copy:
            _remove(part)
            shutil.copytree(made, part, symlinks=True, copy_function=_clone)
        else:
            part = made
        sync_tree(part)
        earlier = [] if last else [path for _, path in _copies(place, "step", attempt)]
        _remove(place / name)
        os.rename(part, place / name)
        sync_folder(place)
        for path in earlier:
            _remove(path)

    def take_over(
        self, trial: int, attempt: int, below: float = math.inf
    ) -> tuple[Path, float] | None:
        """The newest complete checkpoint of earlier attempts, made this one's, and its step.

        It lies `below` a step, so that one is left to do: an objective returns what that brings.
        """
        place = self.folder(trial)
        while True:
            copies = [found for found in _copies(place) if found[0] < below]
            if not copies:
                return None
            step, path = copies[-1]
            mine = place / f"{attempt}.from-{path.name.partition('-')[2]}"
            try:
                os.rename(path, mine)
            except FileNotFoundError:  # its maker, not dead after all, has just replaced it
                continue
            return mine, step

    def settle(self, trial: int, attempt: int) -> None:
        """Remove all but what the attempt that ended a trial has left."""
        place = self.root / "trials" / str(trial)
        keep = self.left_by(trial, attempt)
        for path in _subfolders(place):
            if path != keep:
                _remove(path)

    def remove(self, trial: int) -> None:
        """Remove a trial's checkpoints; its curves and logs stay."""
        place = self.root / "trials" / str(trial)
        for path in (self.root / "trials", place):
            refuse_link(path)
        for path in _subfolders(place):
            _remove(path)

    def held(self, but: Collection[int] = ()) -> list[int]:
        """The trials that have checkpoints, but for some that need no look."""
        refuse_link(self.root / "trials")
        places = _subfolders(self.root / "trials")
        numbers = [int(path.name) for path in places if re.fullmatch(r"\d{1,18}", path.name)]
        looked = sorted(number for number in numbers if number not in but)
        return [n for n in looked if _subfolders(self.root / "trials" / str(n))]


def sync_tree(folder: Path) -> None:
    """Make all that lies in a folder survive a power loss."""
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if path.is_symlink():
                continue
            opened = os.open(path, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)
        sync_folder(Path(place))


def stamp(folder: Path) -> tuple[tuple[str, int, int, int], ...]:
    """What tells whether the files of a folder have changed."""
    found = []
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(place, name)
            about = os.lstat(path)
            found.append((path, about.st_size, about.st_mtime_ns, about.st_ino))
    return tuple(sorted(found))


def _copies(place: Path, kind: str = "", attempt: int | None = None) -> list[tuple[float, Path]]:
    """The complete copies, by step."""
    found = []
    for path in _subfolders(place):
        match = _COPY.fullmatch(path.name)
        wanted = match and kind in ("", match[2]) and attempt in (None, int(match[1]))
        if match and wanted:
            found.append((float(match[3]), path))
    return sorted(found)


def _subfolders(place: Path) -> list[Path]:
    """Real folders only: a link in a study's folder is nobody's checkpoint."""
    try:
        with os.scandir(place) as entries:
            return [Path(e.path) for e in entries if e.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _filled(path: Path) -> bool:
    try:
        with os.scandir(path) as entries:
            return any(True for _ in entries)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _remove(path: Path) -> None:
    """Remove a folder, also while somebody else removes it."""
    if path.is_symlink():
        path.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)


def _clone(source: str, target: str) -> str:
    """Copy a file, without copying its blocks where the file system can share them."""
    try:
        import fcntl

        with open(source, "rb") as old, open(target, "wb") as new:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
    except (ImportError, OSError):
        shutil.copyfile(source, target, follow_symlinks=False)
    return target
