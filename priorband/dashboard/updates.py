"""Updates of studies as server-sent events, for as long as a page is open.

Nothing is read while no page is open. All pages share what one of them has caused to be read.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from priorband.dashboard.feed import SHORTEST, StudyFeed
from priorband.dashboard.routes import study_summary
from priorband.dashboard.studies import Studies
from priorband.display.text import jsonable

TICK = SHORTEST / 2  # seconds between two looks at what is due
SILENCE = 15.0  # seconds after which a comment shows that the connection is alive


def event_text(name: str, data: Any) -> str:
    """A server-sent event. JSON has no line breaks, so it is one line."""
    return f"event: {name}\ndata: {json.dumps(jsonable(data), allow_nan=False)}\n\n"


async def study_updates(
    studies: Studies, study: str | None, closing: Callable[[], bool]
) -> AsyncIterator[str]:
    """Events about one study, or about all if `study` is None, until the server closes."""
    sent: dict[str, int] = {}
    silent = 0.0
    yield ": open\n\n"
    while not closing():
        for feed in await asyncio.to_thread(_wanted, studies, study):
            await asyncio.to_thread(feed.look)
            if feed.looks != sent.get(feed.place.id):
                sent[feed.place.id] = feed.looks
                silent = 0.0
                yield event_text("study", study_summary(feed))
        await asyncio.sleep(TICK)
        silent += TICK
        if silent >= SILENCE:
            silent = 0.0
            yield ": still here\n\n"


def _wanted(studies: Studies, study: str | None) -> list[StudyFeed]:
    if study is None:
        return studies.feeds()
    feed = studies.feed(study)
    return [] if feed is None else [feed]
