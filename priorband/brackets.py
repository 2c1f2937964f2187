"""Synchronous brackets as the history shows them: how far each is, and whom it promotes next."""

from bisect import insort
from enum import Enum
from typing import NamedTuple, final

from priorband.history import History
from priorband.ladder import Ladder
from priorband.state import State
from priorband.trial import Trial


class Rest(Enum):
    """Why a bracket has nobody to promote now."""

    SHORT = "its base rung has room for more"
    BLOCKED = "a member of the rung is still running"
    OVER = "all its trials have ended"


class Winner(NamedTuple):
    """The trial that a bracket promotes next, and to which rung."""

    trial: Trial
    rung: int


def standing(history: History, bracket: int, base: int, sizes: tuple[int, ...]) -> Winner | Rest:
    """What a bracket can do now.

    A failed member fills its place, so the bracket proceeds, but is not promoted: where too few
    succeed, the next rung shrinks.
    """
    members, room = history.members(bracket, base), sizes[0]
    if members.started < room:
        return Rest.SHORT
    for step in range(1, len(sizes)):
        if members.ended < room:
            return Rest.BLOCKED
        above = history.members(bracket, base + step)
        room = min(sizes[step], members.succeeded)
        if above.started < room:
            best = history.ranked_member(bracket, base + step - 1, above.started)
            return Winner(best.trial, base + step)
        members = above
    return Rest.BLOCKED if members.ended < room else Rest.OVER


FEW = 20


@final
class _Watch:
    """Which brackets to look at: those in which something happened since they had to wait.

    One that waits for a trial which never ends is not looked at again, however many there are.
    """

    __slots__ = ("awake", "ladder", "over", "seen")

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.awake: list[int] = []
        self.over: set[int] = set()
        self.seen = 0


def ready_brackets(state: State) -> list[tuple[int, Winner | Rest]]:
    """The brackets that have somebody to promote or room for more, oldest first."""
    history, sizes = state.history, state.ladder.brackets
    watch = _watch(state)
    ready: list[tuple[int, Winner | Rest]] = []
    for bracket in tuple(watch.awake):
        base = history.base(bracket)
        now = standing(history, bracket, base, sizes[base])
        if isinstance(now, Winner) or now is Rest.SHORT:
            ready.append((bracket, now))
            continue
        watch.awake.remove(bracket)
        if now is Rest.OVER:
            watch.over.add(bracket)
    return ready


def _watch(state: State) -> _Watch:
    watch: _Watch | None = state.history.cache.get("brackets")
    if watch is None or watch.ladder is not state.ladder:
        watch = state.history.cache["brackets"] = _Watch(state.ladder)
    stirred = state.history.stirred(watch.seen)
    watch.seen += len(stirred)
    if len(stirred) > FEW:  # a long history that is looked at for the first time
        watch.awake = sorted({*watch.awake, *stirred})
        return watch
    for bracket in stirred:
        if bracket not in watch.awake:
            insort(watch.awake, bracket)
    return watch


def brackets_over(state: State) -> int:
    """How many brackets have run to their end, in a plan of synchronous ones."""
    ready_brackets(state)
    return len(_watch(state).over)
