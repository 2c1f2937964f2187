"""The spool: results that could not be written to the study yet, kept on this machine's disk."""

import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any, final

from priorband.errors import FormatError
from priorband.storage.json_text import from_json
from priorband.storage.safe_files import open_own, sync_folder

VARIABLE = "PRIORBAND_SPOOL"
"""The environment variable that names a folder to try first."""


@final
class Spool:
    """Finished results of one study that are waiting to be written to it."""

    def __init__(self, study: str) -> None:
        self.study = study
        self.refused: dict[Path, str] = {}
        """The places that cannot be used, and why: a result there would never be submitted."""
        self._folders: list[Path] = []
        for root in _root_folders():
            folder = root / _safe_name(study)
            reason = _reason_to_refuse(root, shared=True) or _reason_to_refuse(folder)
            if reason:
                self.refused[root] = reason
            else:
                self._folders.append(folder)

    @property
    def place(self) -> Path | None:
        """Where a result is kept; None if there is no usable place."""
        return self._folders[0].parent if self._folders else None

    def put(self, name: str, report: dict[str, Any]) -> Path | None:
        """Save a report to a file; None if no disk would take it."""
        data = json.dumps({"study": self.study, "report": report}).encode()
        for folder in self._folders:
            try:
                return _write(folder, f"{_safe_name(name)}.json", data)
            except (OSError, FormatError):
                continue
        return None

    def waiting(self) -> dict[Path, dict[str, Any]]:
        """The reports that are waiting, by file. Files that are not reports are ignored."""
        reports = {}
        for folder in self._folders:
            for path in [] if _reason_to_refuse(folder) else sorted(folder.glob("*.json")):
                try:
                    with os.fdopen(open_own(path, os.O_RDONLY), encoding="utf-8") as file:
                        data = from_json(file.read())
                except (OSError, ValueError, FormatError):
                    continue
                if data.get("study") == self.study and isinstance(data.get("report"), dict):
                    reports[path] = data["report"]
        return reports

    def remove(self, path: Path) -> None:
        """Delete the file of a report that was written to the study."""
        path.unlink(missing_ok=True)


def _root_folders() -> list[Path]:
    """The folders to try, best first; none is in the study's folder, whose disk may be full."""
    chosen = os.environ.get(VARIABLE)
    home = os.path.expanduser("~")  # stays "~" for a user without a home, as in containers
    state = os.environ.get("XDG_STATE_HOME") or (f"{home}/.local/state" if home != "~" else "")
    user = os.getuid() if hasattr(os, "getuid") else "me"
    usual = [Path(state, "priorband", "spool")] if state else []
    usual.append(Path(tempfile.gettempdir(), f"priorband-{user}"))
    return [Path(chosen), *usual] if chosen else usual


def _reason_to_refuse(folder: Path, shared: bool = False) -> str:
    """Why results cannot be kept in a folder; empty if they can, or if it does not exist yet.

    In the folder of another user they could be read, changed or removed, and in /tmp anyone can
    create a folder of any name. A `shared` folder, in which there is one for each study, may also
    belong to root, and be a link.
    """
    users = [] if not hasattr(os, "getuid") else [os.getuid(), *([0] if shared else [])]
    try:
        status = os.stat(folder, follow_symlinks=shared)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"it cannot be used ({error})"
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a folder"
    if users and status.st_uid not in users:
        return f"it belongs to another user (uid {status.st_uid})"
    return "" if os.access(folder, os.W_OK | os.X_OK) else "it cannot be written to"


def _write(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if reason := _reason_to_refuse(folder):
        raise FormatError(f"{folder} cannot hold results: {reason}.")
    part, path = folder / f"{name}.{os.urandom(4).hex()}.part", folder / name
    file = open_own(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(folder)
    return path


def _safe_name(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)[:100]
