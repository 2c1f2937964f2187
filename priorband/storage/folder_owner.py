"""Which study a folder of checkpoints belongs to: the file `trials/study.json`.

The first worker of a study writes it. Another study that is given the same folder is refused, as
it would overwrite the checkpoints, or continue from those of other configurations. The file is in
`trials/`, so that it goes where the checkpoints go.
"""

import os
import re
from pathlib import Path
from typing import Any, final

from priorband.errors import FormatError, MismatchError
from priorband.storage.held_folder import HeldFolder, hold_folder
from priorband.storage.json_text import LONGEST, from_json, to_json
from priorband.values import frozen

TRIALS = "trials"
MARKER = "study.json"
_TRIAL = re.compile(r"0|[1-9]\d{0,17}")


@final
@frozen
class FolderOwner:
    """The study that a folder of checkpoints belongs to."""

    study: str
    """The study's id."""
    where: str
    """Where its records were when it took the folder: a folder, or a URL without a password."""
    unmarked: frozenset[int] = frozenset()
    """The trials with checkpoints from before there were marks, which are the study's, too."""

    def __str__(self) -> str:
        text = f"study {self.study:.40} ({self.where:.200})"  # it is read from a file
        return "".join(letter if letter.isprintable() else "?" for letter in text)


def trial_numbers(trials: HeldFolder) -> list[int]:
    """The trials that have a folder, in order."""
    return sorted(int(name) for name in trials.subfolders() if _TRIAL.fullmatch(name))


def owner(trials: HeldFolder) -> FolderOwner | None:
    """Whose folder it is; None if it has no mark."""
    try:
        text = trials.read(MARKER, LONGEST)
    except FileNotFoundError:
        return None
    try:
        return _from_data(from_json(text.decode().rstrip()))
    except (UnicodeDecodeError, FormatError) as error:
        raise FormatError(
            f"{trials.path / MARKER} is damaged ({error}). It says which study the checkpoints "
            "belong to. If it is the study that you are opening, delete this file: the next worker "
            "writes it again."
        ) from None


def owner_at(root: Path) -> FolderOwner | None:
    """Whose `trials/` folder there is below a path; None without one, or without a mark."""
    try:
        with hold_folder(root) as folder, folder.subfolder(TRIALS) as trials:
            return owner(trials)
    except (FileNotFoundError, NotADirectoryError):
        return None


def require_no_trials(root: Path) -> None:
    """Raise `MismatchError` if checkpoints of another study are where one is to be created."""
    try:
        with hold_folder(root) as folder, folder.subfolder(TRIALS) as trials:
            old, number = owner(trials), len(trial_numbers(trials))
    except (FileNotFoundError, NotADirectoryError):
        return
    if old is None and not number:
        return
    whose = f"of {old}" if old else f"of {number} trials of a study that is not here"
    raise MismatchError(
        f"{root / TRIALS} holds the checkpoints and logs {whose}. A new study would continue from "
        "them, or overwrite them. Create it in another folder (a study in a database: give another "
        f"`folder`, or --folder), or move or delete {root / TRIALS}."
    )


def require_own(root: Path, old: FolderOwner | None, study: str, where: str) -> None:
    """Raise `MismatchError` if a folder belongs to another study."""
    if old is None or old.study == study:
        return
    if where == str(root):
        raise MismatchError(
            f"{root} holds the records of study {study}, but the checkpoints in {root / TRIALS} "
            f"belong to {old}. Were study.db and study.head exchanged? Put the files of one study "
            f"back together; or, to continue without these checkpoints, move or delete "
            f"{root / TRIALS}."
        )
    raise MismatchError(
        f"{root / TRIALS} belongs to {old}, so study {study} ({where}) cannot use it: each would "
        "overwrite the checkpoints of the other. Give this study another `folder` (--folder), or "
        f"move or delete {root / TRIALS}."
    )


def mark(trials: HeldFolder, new: FolderOwner) -> FolderOwner:
    """Write whose folder it is, atomically, unless another process was first; return the owner."""
    part = f"{MARKER}.{os.urandom(4).hex()}.part"
    data = {"study": new.study, "where": new.where, "unmarked": sorted(new.unmarked)}
    trials.write_new(part, f"{to_json(data)}\n".encode(), sync=True)
    try:
        try:
            trials.link(part, MARKER)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            trials.rename(part, MARKER)
    finally:
        trials.remove(part)
    trials.sync()
    written = owner(trials)
    assert written is not None
    return written


def _from_data(data: dict[str, Any]) -> FolderOwner:
    study, where, unmarked = (data.get(name) for name in ("study", "where", "unmarked"))
    whole = isinstance(unmarked, list) and all(type(number) is int for number in unmarked)
    if not (isinstance(study, str) and isinstance(where, str) and whole):
        raise FormatError("it does not name a study")
    return FolderOwner(study, where, frozenset(unmarked or ()))
