"""The log of what workers did, in a file beside the storage.

Each entry is one write to a file that is open for appending, so it is in the file completely or not
at all, and a SIGKILL cannot undo it. Times are of the monotonic clock, which all processes of a
machine share.
"""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final


@final
@dataclass(frozen=True, slots=True)
class LogEntry:
    """One event in a worker's life, such as "start" or "acknowledged"."""

    event: str
    at: float
    pid: int
    trial: int
    attempt: int
    details: dict[str, Any]


@final
class WorkerLog:
    """A log file that many processes append to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position = 0
        self._pid = 0
        self._file = -1

    def __getstate__(self) -> Path:
        return self.path

    def __setstate__(self, path: Path) -> None:
        WorkerLog.__init__(self, path)

    def write(self, event: str, trial: int = -1, attempt: int = -1, **details: Any) -> None:
        """Append an entry."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        entry = [event, time.monotonic(), self._pid, trial, attempt, details]
        os.write(self._file, json.dumps(entry).encode() + b"\n")

    def new_entries(self) -> list[LogEntry]:
        """The entries since the last call."""
        entries, self._position = self._entries_from(self._position)
        return entries

    def all_entries(self) -> list[LogEntry]:
        """All entries, sorted by time."""
        return sorted(self._entries_from(0)[0], key=lambda entry: entry.at)

    def _entries_from(self, start: int) -> tuple[list[LogEntry], int]:
        if not self.path.exists():
            return [], 0
        with open(self.path, "rb") as file:
            file.seek(start)
            complete = file.read().rpartition(b"\n")[0]
        lines = complete.split(b"\n") if complete else []
        entries = [LogEntry(*json.loads(line)) for line in lines]
        return entries, start + len(complete) + bool(complete)
