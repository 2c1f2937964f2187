"""The studies of a dashboard: found again from time to time, each read by its own feed."""

import threading
import time
from collections.abc import Sequence
from typing import final

from priorband.dashboard.feed import StudyFeed
from priorband.dashboard.places import StudyPlace, study_places

SEARCH_SECONDS = 10.0
"""Seconds between two searches for studies that are new."""


@final
class Studies:
    """The studies at some places. Nothing else can be asked for."""

    def __init__(self, wheres: Sequence[str]) -> None:
        self._wheres = tuple(wheres)
        self._lock = threading.Lock()
        self._feeds: dict[str, StudyFeed] = {}
        self._searched = 0.0
        self._add(study_places(self._wheres))

    def feeds(self) -> list[StudyFeed]:
        """The feeds of all studies, also of those that have been created since."""
        with self._lock:
            if time.monotonic() - self._searched > SEARCH_SECONDS:
                self._add(study_places(self._wheres))
            return list(self._feeds.values())

    def feed(self, study: str) -> StudyFeed | None:
        """The feed of a study by its id; None if there is none."""
        known = self._feeds.get(study)
        return known or next((one for one in self.feeds() if one.place.id == study), None)

    def close(self) -> None:
        """Close all studies."""
        with self._lock:
            for feed in self._feeds.values():
                feed.close()

    def _add(self, places: Sequence[StudyPlace]) -> None:
        for place in places:
            if place.id not in self._feeds:
                self._feeds[place.id] = StudyFeed(place)
        self._searched = time.monotonic()
