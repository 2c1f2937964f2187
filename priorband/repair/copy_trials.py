"""The folders of trials, copied to another study."""

import os
import re
import shutil
import stat
from collections.abc import Collection
from pathlib import Path

from priorband.repair.scan import Finding
from priorband.storage.checkpoints import sync_tree


def copy_trials(old: Path, new: Path, trials: Collection[int]) -> list[Finding]:
    """Copy what some trials have saved; what is not copied is named. No link is followed."""
    source, left = old / "trials", list[Finding]()
    if source.is_symlink() or not source.is_dir():
        linked = Finding("trials", "is no folder, so it is not copied")
        return [linked] if os.path.lexists(source) else []
    for name in sorted(os.listdir(source)):
        why = _unfit(source / name, trials)
        if why:
            left.append(Finding(f"trials/{name}", f"{why}, so it is not copied"))
        else:
            left += _copy(source / name, new / "trials" / name)
    if (new / "trials").exists():
        sync_tree(new)
    return left


def _unfit(path: Path, trials: Collection[int]) -> str:
    if not re.fullmatch(r"0|[1-9]\d{0,17}", path.name):
        return "is no trial's"
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        return "is no folder"
    return "" if int(path.name) in trials else "belongs to a trial that is not as it was"


def _copy(old: Path, new: Path) -> list[Finding]:
    left = []

    def odd(folder: str, names: list[str]) -> list[str]:
        modes = {name: os.lstat(Path(folder, name)).st_mode for name in names}
        links = Path(folder) != old  # within a checkpoint they are its maker's own
        found = [name for name, mode in modes.items() if not _plain(mode, links)]
        for name in found:
            place = Path(folder, name).relative_to(old.parent.parent)
            left.append(Finding(str(place), "is no file or folder, so it is not copied"))
        return found

    try:
        shutil.copytree(old, new, symlinks=True, ignore=odd)
    except (OSError, shutil.Error) as error:
        left.append(Finding(f"trials/{old.name}", f"could not be copied in full: {error}"))
    return left


def _plain(mode: int, links: bool) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or (links and stat.S_ISLNK(mode))
