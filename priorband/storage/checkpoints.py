"""The checkpoints of a study's trials, in folders on disk.

    trials/17/1/            what attempt 1 of trial 17 saves; complete once its result is told
    trials/17/1.step-5/     a copy from when step 5 was done; always complete
    trials/17/2.from-5/     the same copy, taken over by attempt 2
    trials/17/curve-1.jsonl, log-1.txt

Each attempt has folders of its own, so a worker that was wrongly taken for dead cannot change the
checkpoints of its successor. Names are made of numbers only, never of text from a user.
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

_COPY_NAME = re.compile(r"(\d+)\.(step|from)-(\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
_FICLONE = 0x40049409  # Linux: share a file's blocks until one of the two files is changed


@final
class Checkpoints:
    """The checkpoints in a study's folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._trials = str(root / "trials")

    def knows(self, trial: int) -> bool:
        """Whether a trial has a folder. Most cheap trials have none."""
        return os.path.lexists(f"{self._trials}/{trial}")

    def folder(self, trial: int) -> Path:
        """A trial's folder, created if necessary."""
        return inner_folder(self.root, "trials", str(trial))

    def workplace(self, trial: int, attempt: int) -> Path:
        """A new, empty folder for an attempt to save into."""
        path = self.folder(trial) / str(attempt)
        _remove(path)
        return inner_folder(self.folder(trial), str(attempt))

    def left_by(self, trial: int, attempt: int) -> Path | None:
        """The checkpoint that the successful attempt at a trial has left; None if there is none."""
        if not self.knows(trial):
            return None
        trial_folder = self.root / "trials" / str(trial)
        for path in (self.root / "trials", trial_folder, trial_folder / str(attempt)):
            refuse_link(path)
        if _has_files(trial_folder / str(attempt)):
            return trial_folder / str(attempt)
        copies = [path for step, path in _copies(trial_folder, "step", attempt)]
        return copies[-1] if copies else None

    def seal(self, trial: int, attempt: int, step: float) -> None:
        """Copy what an attempt has saved by a step, and delete its earlier copies."""
        self.put(trial, attempt, step, self.folder(trial) / str(attempt))

    def put(  # noqa: PLR0913  # which attempt and step, which folder, and two options
        self,
        trial: int,
        attempt: int,
        step: float,
        source: Path,
        copy: bool = True,
        last: bool = False,
    ) -> None:
        """Make a folder the checkpoint of a step, atomically.

        The folder is copied, or moved if `copy` is false. The attempt's earlier checkpoints are
        deleted. With `last`, the checkpoint before is kept: if the result of the trial is lost, the
        next attempt does the last step again from there.
        """
        trial_folder, name = self.folder(trial), f"{attempt}.step-{step!r}"
        if not _COPY_NAME.fullmatch(name):
            raise FormatError(f"A step must be a number of at least 0, got {step!r}.")
        part = trial_folder / f"{attempt}.part"
        if copy:
            _remove(part)
            shutil.copytree(source, part, symlinks=True, copy_function=_clone)
        else:
            part = source
        sync_tree(part)
        earlier = [] if last else [path for _, path in _copies(trial_folder, "step", attempt)]
        _remove(trial_folder / name)
        os.rename(part, trial_folder / name)
        sync_folder(trial_folder)
        for path in earlier:
            _remove(path)

    def take_over(
        self, trial: int, attempt: int, below: float = math.inf
    ) -> tuple[Path, float] | None:
        """Give the newest complete checkpoint of earlier attempts to this one.

        Return its new folder and its step; None if there is no checkpoint `below` that step. With
        the trial's last step as `below`, at least one step is left to do, whose result the
        objective returns.
        """
        trial_folder = self.folder(trial)
        while True:
            copies = [(step, path) for step, path in _copies(trial_folder) if step < below]
            if not copies:
                return None
            step, path = copies[-1]
            taken = trial_folder / f"{attempt}.from-{path.name.partition('-')[2]}"
            try:
                os.rename(path, taken)
            except FileNotFoundError:  # the earlier attempt is still running, and replaced it
                continue
            return taken, step

    def settle(self, trial: int, attempt: int) -> None:
        """Remove all checkpoints of a trial except that of the attempt that ended it."""
        trial_folder = self.root / "trials" / str(trial)
        keep = self.left_by(trial, attempt)
        for path in _subfolders(trial_folder):
            if path != keep:
                _remove(path)

    def discard(self, trial: int, attempt: int) -> None:
        """Remove what an attempt has saved incompletely; its complete copies stay."""
        for name in (str(attempt), f"{attempt}.part"):
            _remove(self.root / "trials" / str(trial) / name)

    def remove(self, trial: int) -> None:
        """Remove a trial's checkpoints, but not its curves and logs."""
        trial_folder = self.root / "trials" / str(trial)
        for path in (self.root / "trials", trial_folder):
            refuse_link(path)
        for path in _subfolders(trial_folder):
            _remove(path)

    def held(self, but: Collection[int] = ()) -> list[int]:
        """The trials that have checkpoints, in order; those in `but` are skipped."""
        refuse_link(self.root / "trials")
        folders = _subfolders(self.root / "trials")
        numbers = [int(path.name) for path in folders if re.fullmatch(r"\d{1,18}", path.name)]
        candidates = sorted(number for number in numbers if number not in but)
        return [n for n in candidates if _subfolders(self.root / "trials" / str(n))]


def sync_tree(folder: Path) -> None:
    """Make everything in a folder survive a power loss."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.is_symlink():
                continue
            file = os.open(path, os.O_RDONLY)
            try:
                os.fsync(file)
            finally:
                os.close(file)
        sync_folder(Path(parent))


def stamp(folder: Path) -> tuple[tuple[str, int, int, int], ...]:
    """The path, size, time and inode of each file in a folder: they differ if a file changed."""
    files = []
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(parent, name)
            status = os.lstat(path)
            files.append((path, status.st_size, status.st_mtime_ns, status.st_ino))
    return tuple(sorted(files))


def _copies(
    trial_folder: Path, kind: str = "", attempt: int | None = None
) -> list[tuple[float, Path]]:
    """The complete copies in a trial's folder with their steps, sorted by step."""
    copies = []
    for path in _subfolders(trial_folder):
        match = _COPY_NAME.fullmatch(path.name)
        wanted = match and kind in ("", match[2]) and attempt in (None, int(match[1]))
        if match and wanted:
            copies.append((float(match[3]), path))
    return sorted(copies)


def _subfolders(folder: Path) -> list[Path]:
    """The folders in a folder, without symbolic links."""
    try:
        with os.scandir(folder) as entries:
            return [Path(e.path) for e in entries if e.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _has_files(path: Path) -> bool:
    try:
        with os.scandir(path) as entries:
            return any(True for _ in entries)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _remove(path: Path) -> None:
    """Remove a folder, even if another process is removing it at the same time."""
    if path.is_symlink():
        path.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)


def _clone(source: str, target: str) -> str:
    """Copy a file; where the file system can, share its blocks instead of copying them."""
    try:
        import fcntl

        with open(source, "rb") as old, open(target, "wb") as new:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
    except (ImportError, OSError):
        shutil.copyfile(source, target, follow_symlinks=False)
    return target
