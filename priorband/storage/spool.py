"""The spool: results that could not be written to the study yet, kept on this machine's disk."""

import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any, final

from priorband.errors import FormatError
from priorband.storage.json_text import from_json
from priorband.storage.safe_files import sync_folder

VARIABLE = "PRIORBAND_SPOOL"
"""The environment variable that names a folder to try first."""


@final
class Spool:
    """Finished results of one study that are waiting to be written to it."""

    def __init__(self, study: str) -> None:
        self.study = study
        self._folders = [folder / _safe_name(study) for folder in _root_folders()]

    def put(self, name: str, report: dict[str, Any]) -> Path | None:
        """Save a report to a file; None if no disk would take it."""
        data = json.dumps({"study": self.study, "report": report}).encode()
        for folder in self._folders:
            try:
                return _write(folder, f"{_safe_name(name)}.json", data)
            except OSError:
                continue
        return None

    def waiting(self) -> dict[Path, dict[str, Any]]:
        """The reports that are waiting, by file. Files that are not reports are ignored."""
        reports = {}
        for folder in self._folders:
            for path in sorted(folder.glob("*.json")) if _belongs_to_user(folder) else ():
                try:
                    data = from_json(path.read_text(encoding="utf-8"))
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


def _belongs_to_user(folder: Path) -> bool:
    """Whether a folder belongs to this user: in /tmp, anyone can create one."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return stat.S_ISDIR(status.st_mode) and own


def _write(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    part, path = folder / f"{name}.{os.getpid()}.part", folder / name
    with open(part, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    sync_folder(folder)
    return path


def _safe_name(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)[:100]
