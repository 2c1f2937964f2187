"""Looking at a study again and again, at a cost that does not grow with it."""

import time
from typing import final

from priorband.display.overview import Overview, overview
from priorband.display.pace import UNKNOWN, pace
from priorband.durable.study import DurableStudy
from priorband.errors import PriorbandError

RECENT = 400  # records that tell the pace
LOOK = 1.0  # seconds between looks at storage
AFTER_TROUBLE = 5.0
COST = 10.0  # a look that took long is not taken again for so many times as long


@final
class StudyWatcher:
    """Looks at a study again and again; a look costs the same however long the study is."""

    def __init__(self, study: DurableStudy) -> None:
        self.study = study
        self._pace, self._seq = UNKNOWN, -1

    def look(self) -> Overview:
        """How the study stands now, after taking in what others have written."""
        study = self.study
        now, leases = study.journal.now(), study.journal.leases()  # before what they belong to
        study.refresh()
        seq = study.ledger.seq
        if seq != self._seq:
            rows = study.journal.read(max(seq - RECENT, 0))
            self._pace, self._seq = pace([row for row in rows if row.seq <= seq]), seq
        return overview(study, leases, now, self._pace)


@final
class Poller:
    """Looks at a study, but neither too often nor in vain."""

    def __init__(self, study: DurableStudy) -> None:
        self.seen: Overview | None = None
        self.since = 0.0
        """When it was seen, by this process's own clock."""
        self._watch = StudyWatcher(study)
        self._next = 0.0

    def look(self, at_once: bool = False) -> Overview | None:
        """How the study stands, if it is time to look and storage answers."""
        began = time.monotonic()
        if began < self._next and not at_once:
            return None
        try:
            self.seen = self._watch.look()
        except (PriorbandError, OSError):  # those at work say so, and wait for it
            self._next = time.monotonic() + AFTER_TROUBLE
            return None
        self.since = time.monotonic()
        self._next = self.since + max(LOOK, COST * (self.since - began))
        return self.seen
