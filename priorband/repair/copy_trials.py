"""Copying the folders of trials to another study."""

import os
import re
import shutil
import stat
from collections.abc import Collection
from pathlib import Path

from priorband.errors import FormatError
from priorband.repair.scan import Finding
from priorband.storage.folder_owner import MARKER, TRIALS, FolderOwner
from priorband.storage.held_folder import hold_folder
from priorband.storage.safe_files import open_own


def copy_trials(
    old: Path, new: Path, trials: Collection[int], owner: FolderOwner | None, study: str
) -> list[Finding]:
    """Copy the folders of some trials, without following links; what was not copied, and why.

    Nothing is copied from a folder whose owner is another study.
    """
    source, not_copied = old / TRIALS, list[Finding]()
    if owner is not None and owner.study != study:
        return [Finding(TRIALS, f"belongs to {owner}, so it is not copied")]
    if source.is_symlink() or not source.is_dir():
        finding = Finding(TRIALS, "is not a folder, so it is not copied")
        return [finding] if os.path.lexists(source) else []
    for name in sorted(set(os.listdir(source)) - {MARKER}):  # the next worker writes it again
        reason = _reason_not_to_copy(source / name, trials)
        if reason:
            not_copied.append(Finding(f"{TRIALS}/{name}", f"{reason}, so it is not copied"))
        else:
            not_copied += _copy_trial(source / name, new / TRIALS / name)
    if (new / TRIALS).exists():
        with hold_folder(new) as folder:
            folder.sync_tree()
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
        shutil.copytree(old, new, symlinks=True, ignore=ignored, copy_function=_copy_file)
    except (OSError, shutil.Error, FormatError) as error:
        not_copied.append(Finding(f"{TRIALS}/{old.name}", f"could not be copied in full: {error}"))
    return not_copied


def _copy_file(old: str, new: str) -> None:
    with os.fdopen(open_own(Path(old), os.O_RDONLY), "rb") as source, open(new, "xb") as target:
        shutil.copyfileobj(source, target)
    shutil.copystat(old, new, follow_symlinks=False)


def _copyable(mode: int, links_allowed: bool) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or (links_allowed and stat.S_ISLNK(mode))
