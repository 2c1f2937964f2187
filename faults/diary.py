"""The diary: what workers did, in a file beside the storage that no SIGKILL can undo.

Each entry is one write to a descriptor that appends, so it is in the file, whole, or not at all.
Times are of the monotonic clock, which all processes of a machine share.
"""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened: `what` to `trial` in process `pid`, `at` a moment."""

    what: str
    at: float
    pid: int
    trial: int
    attempt: int
    more: dict[str, Any]


@final
class Diary:
    """A file that many processes append to and one reads, from where it stopped before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0
        self._pid = 0
        self._file = -1

    def __getstate__(self) -> Path:
        return self.path

    def __setstate__(self, path: Path) -> None:
        Diary.__init__(self, path)

    def note(self, what: str, trial: int = -1, attempt: int = -1, **more: Any) -> None:
        """Write an entry."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        entry = [what, time.monotonic(), self._pid, trial, attempt, more]
        os.write(self._file, json.dumps(entry).encode() + b"\n")

    def new(self) -> list[Entry]:
        """The entries since the last look."""
        entries, self._read = self._from(self._read)
        return entries

    def all(self) -> list[Entry]:
        """The entries from the beginning, in the order of their times."""
        return sorted(self._from(0)[0], key=lambda entry: entry.at)

    def _from(self, start: int) -> tuple[list[Entry], int]:
        if not self.path.exists():
            return [], 0
        with open(self.path, "rb") as file:
            file.seek(start)
            whole = file.read().rpartition(b"\n")[0]
        lines = whole.split(b"\n") if whole else []
        return [Entry(*json.loads(line)) for line in lines], start + len(whole) + bool(whole)
