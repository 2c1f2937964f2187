"""Copying the folders of trials to another study."""

import os
import re
import shutil
import stat
from collections.abc import Collection
from pathlib import Path

from priorband.repair.scan import Finding
from priorband.storage.checkpoints import sync_tree


def copy_trials(old: Path, new: Path, trials: Collection[int]) -> list[Finding]:
    """Copy the folders of some trials, without following links; what was not copied, and why."""
    source, not_copied = old / "trials", list[Finding]()
    if source.is_symlink() or not source.is_dir():
        finding = Finding("trials", "is not a folder, so it is not copied")
        return [finding] if os.path.lexists(source) else []
    for name in sorted(os.listdir(source)):
        reason = _reason_not_to_copy(source / name, trials)
        if reason:
            not_copied.append(Finding(f"trials/{name}", f"{reason}, so it is not copied"))
        else:
            not_copied += _copy_trial(source / name, new / "trials" / name)
    if (new / "trials").exists():
        sync_tree(new)
    return not_copied


def _reason_not_to_copy(path: Path, trials: Collection[int]) -> str:
    if not re.fullmatch(r"0|[1-9]\d{0,17}", path.name):
        return "is not named after a trial"
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        return "is not a folder"
    return (
        ""
        if int(path.name) in trials
        else "belongs to a trial that is not the same in the new study"
    )


def _copy_trial(old: Path, new: Path) -> list[Finding]:
    not_copied = []

    def ignored(folder: str, names: list[str]) -> list[str]:
        modes = {name: os.lstat(Path(folder, name)).st_mode for name in names}
        links_allowed = Path(folder) != old  # inside of a checkpoint, links are the user's own
        refused = [name for name, mode in modes.items() if not _copyable(mode, links_allowed)]
        for name in refused:
            path = Path(folder, name).relative_to(old.parent.parent)
            finding = Finding(str(path), "is neither a file nor a folder, so it is not copied")
            not_copied.append(finding)
        return refused

    try:
        shutil.copytree(old, new, symlinks=True, ignore=ignored)
    except (OSError, shutil.Error) as error:
        not_copied.append(Finding(f"trials/{old.name}", f"could not be copied in full: {error}"))
    return not_copied


def _copyable(mode: int, links_allowed: bool) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or (links_allowed and stat.S_ISLNK(mode))
