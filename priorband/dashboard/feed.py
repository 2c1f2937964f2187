"""A study as the dashboard reads it: opened once, read when it has changed, and not too often.

Reading takes no lock that a worker waits for. While nothing happens, a study in a folder costs one
look at the times of two files, and one in a database one short query, less and less often.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, final

from priorband.dashboard.places import StudyPlace
from priorband.dashboard.trial_table import TrialTableReader
from priorband.display.overview import Overview
from priorband.display.polling import StudyWatcher
from priorband.durable.notes import Note, NoteReader
from priorband.durable.open_for_reading import open_for_reading
from priorband.durable.study import DurableStudy
from priorband.errors import PriorbandError
from priorband.storage.sqlite_file import DATABASE_NAME
from priorband.study_analysis import StudyData, StudyReader

T = TypeVar("T")

SHORTEST, LONGEST = 1.0, 10.0  # seconds between two looks
GROWTH = 1.5  # of the pause while nothing changes
COST_FACTOR = 10.0  # a read that took t seconds is not repeated for this many times t


@final
class StudyFeed:
    """One study, read from a single thread at a time."""

    def __init__(self, place: StudyPlace) -> None:
        self.place = place
        self.overview: Overview | None = None
        self.error: str | None = None
        """Why the study could not be read the last time."""
        self.table = TrialTableReader()
        self.prior_changes = 0
        """How often the prior was changed."""
        self.looks = 0
        """How many times the study was read and something may have changed."""
        self._pause = SHORTEST
        self._due = 0.0
        """When the next look is due, by `time.monotonic`."""
        self._lock = threading.RLock()
        self._study: DurableStudy | None = None
        self._watcher: StudyWatcher | None = None
        self._reader: StudyReader | None = None
        self._notes: NoteReader | None = None
        self._data: StudyData | None = None
        self._signature: object = None
        self._cache: dict[tuple[object, ...], tuple[int, Any]] = {}

    def look(self, force: bool = False) -> bool:
        """Read the study if that is due and it may have changed; return whether it was read."""
        with self._lock:
            if time.monotonic() < self._due and not force:
                return False
            signature = self._current_signature()
            quiet = self.overview is not None and not self.overview.running
            if quiet and not force and signature is not None and signature == self._signature:
                self._due = time.monotonic() + SHORTEST
                return False
            began = time.monotonic()
            before = None if self._data is None else self._data.records
            self._read()
            self._signature = signature if self.error is None else None
            after = None if self._data is None else self._data.records
            self._set_pause(time.monotonic() - began, before != after)
            self.looks += 1
            return True

    def data(self) -> StudyData:
        """The study as of the last look; raise what went wrong if it cannot be read."""
        with self._lock:
            if self._data is None:
                self._open_and_read()
            assert self._data is not None
            return self._data

    def study(self, use: Callable[[DurableStudy], T]) -> T:
        """Call a function with the study, while nobody else uses it."""
        with self._lock:
            self.data()
            assert self._study is not None
            return use(self._study)

    def result(self, name: tuple[object, ...], compute: Callable[[StudyData], T]) -> T:
        """A result of an analysis, computed once for each state of the study."""
        with self._lock:
            data = self.data()
            known = self._cache.get(name)
            if known is None or known[0] != data.records:
                if len(self._cache) > 100:  # such as one for each filter that was tried
                    self._cache.clear()
                known = self._cache[name] = data.records, compute(data)
            found: T = known[1]
            return found

    def notes(self) -> list[Note]:
        """The notes that are kept in the study."""
        with self._lock:
            self.data()
            assert self._notes is not None
            return self._notes.read()

    def close(self) -> None:
        """Close the study."""
        with self._lock:
            if self._study is not None:
                self._study.close()
            self._study = self._watcher = self._reader = self._data = None

    def _read(self) -> None:
        try:
            self._open_and_read()
            self.error = None
        except (PriorbandError, OSError) as error:
            self.error = str(error)
            self.close()  # it may have been replaced by another study

    def _open_and_read(self) -> None:
        if self._study is None or self._watcher is None or self._reader is None:
            self._study = open_for_reading(self.place.where)
            self._watcher, self._reader = StudyWatcher(self._study), StudyReader(self._study)
            self._notes = NoteReader(self._study.journal)
        self.overview = self._watcher.read()
        self._data = self._reader.refresh()
        self.prior_changes = len(self._data.state.history.prior_changes)
        self.table.read(self._data, self._study.method_known)

    def _set_pause(self, cost: float, changed: bool) -> None:
        self._pause = SHORTEST if changed else min(self._pause * GROWTH, LONGEST)
        if self.overview is not None and self.overview.running:
            self._pause = min(self._pause, 2 * SHORTEST)
        self._due = time.monotonic() + max(self._pause, COST_FACTOR * cost)

    def _current_signature(self) -> object:
        """What changes whenever the study's files do; None for a study in a database."""
        folder = self.place.folder
        if folder is None:
            return None
        return tuple(_stat(folder / f"{DATABASE_NAME}{end}") for end in ("", "-wal"))


def _stat(path: "os.PathLike[str]") -> Mapping[str, int] | None:
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return {"size": status.st_size, "time": status.st_mtime_ns, "file": status.st_ino}
