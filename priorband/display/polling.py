"""Read the overview of a study repeatedly, at a cost that does not grow with the study."""

import time
from typing import final

from priorband.display.measured_time import MeasuredTrials, TimeLeft
from priorband.display.overview import Overview, study_overview, with_time_left
from priorband.display.pace import UNKNOWN, pace
from priorband.display.recent import RecentReader
from priorband.durable.study import DurableStudy
from priorband.errors import PriorbandError
from priorband.values import replaced

RECENT = 400  # records from which the pace is computed
POLL_SECONDS = 1.0  # between reads of storage
AFTER_ERROR = 5.0  # seconds until the next read if storage did not respond
COST_FACTOR = 10.0  # a read that took t seconds is not repeated for this many times t


@final
class StudyWatcher:
    """Reads overviews of a study; each costs the same, however long the study is.

    `in_full` is for views that show more than the last failures of what is recent.
    """

    def __init__(self, study: DurableStudy, in_full: bool = False) -> None:
        self.study = study
        self._recent = RecentReader(study, in_full)
        self._pace, self._seq = UNKNOWN, -1
        self._measured = MeasuredTrials()
        self._left = TimeLeft(self._measured)

    def read(self) -> Overview:
        """The overview of the study as it is now, with what other processes have written."""
        study = self.study
        now, leases = study.journal.now(), study.journal.leases()  # before the trials they are for
        study.refresh()
        seq = study.ledger.seq
        if seq != self._seq:
            read = study.journal.read(max(seq - RECENT, 0))
            rows = [row for row in read if row.seq <= seq]
            new = [row for row in rows if row.seq > self._seq]
            self._measured.read(new, study.state.history)
            self._pace, self._seq = pace(rows), seq
        overview = study_overview(study, leases, now, self._pace)
        planned = self._left.estimate(study, leases, now, overview.workers)
        return replaced(with_time_left(overview, planned), recent=self._recent.read())


@final
class Poller:
    """Reads overviews of a study, not too often, and ignores storage that does not respond."""

    def __init__(self, study: DurableStudy, in_full: bool = False) -> None:
        self.latest: Overview | None = None
        """The last overview that was read."""
        self.latest_at = 0.0
        """When it was read, by `time.monotonic`."""
        self._watcher = StudyWatcher(study, in_full)
        self._next = 0.0

    def poll(self, force: bool = False) -> Overview | None:
        """A new overview; None if it is too early for one, or storage does not respond."""
        began = time.monotonic()
        if began < self._next and not force:
            return None
        try:
            self.latest = self._watcher.read()
        except (PriorbandError, OSError):  # the workers report it, and retry
            self._next = time.monotonic() + AFTER_ERROR
            return None
        self.latest_at = time.monotonic()
        self._next = self.latest_at + max(POLL_SECONDS, COST_FACTOR * (self.latest_at - began))
        return self.latest
