"""The spool: results that storage could not take, on this machine's own disk until it can."""

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


@final
class Spool:
    """Finished results of one study that wait to be handed in."""

    def __init__(self, study: str) -> None:
        self.study = study
        self._places = [place / _safe(study) for place in _places()]

    def put(self, name: str, report: dict[str, Any]) -> Path | None:
        """Keep a report; where it lies, or None if no disk would take it."""
        data = json.dumps({"study": self.study, "report": report}).encode()
        for place in self._places:
            try:
                return _written(place, f"{_safe(name)}.json", data)
            except OSError:
                continue
        return None

    def waiting(self) -> dict[Path, dict[str, Any]]:
        """The reports that wait, by file. What is not one of ours is left where it is."""
        found = {}
        for place in self._places:
            for path in sorted(place.glob("*.json")) if _ours(place) else ():
                try:
                    data = from_json(path.read_text(encoding="utf-8"))
                except (OSError, ValueError, FormatError):
                    continue
                if data.get("study") == self.study and isinstance(data.get("report"), dict):
                    found[path] = data["report"]
        return found

    def remove(self, path: Path) -> None:
        """A report was handed in."""
        path.unlink(missing_ok=True)


def _places() -> list[Path]:
    """Where to write, best first; not in the study's folder, whose disk may be the full one."""
    chosen = os.environ.get(VARIABLE)
    home = os.path.expanduser("~")  # which stays "~" for a user without one, as in containers
    state = os.environ.get("XDG_STATE_HOME") or (f"{home}/.local/state" if home != "~" else "")
    user = os.getuid() if hasattr(os, "getuid") else "me"
    usual = [Path(state, "priorband", "spool")] if state else []
    usual.append(Path(tempfile.gettempdir(), f"priorband-{user}"))
    return [Path(chosen), *usual] if chosen else usual


def _ours(place: Path) -> bool:
    """Whether a folder is this user's own: in /tmp anybody may make one."""
    try:
        about = os.lstat(place)
    except OSError:
        return False
    mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    return stat.S_ISDIR(about.st_mode) and mine


def _written(place: Path, name: str, data: bytes) -> Path:
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    part, path = place / f"{name}.{os.getpid()}.part", place / name
    with open(part, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    sync_folder(place)
    return path


def _safe(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)[:100]
