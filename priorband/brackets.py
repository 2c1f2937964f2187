"""Synchronous brackets as the history shows them: how far each is, and whom it promotes next."""

from bisect import insort
from enum import Enum
from typing import NamedTuple, final

from priorband.cache import CacheKey
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


_FEW = 20


@final
class _OpenBrackets:
    """The brackets to look at: those in which something happened since they had to wait.

    A bracket that waits for a trial which never ends is not looked at again, however many there
    are.
    """

    __slots__ = ("events_read", "ladder", "over", "to_check")

    def __init__(self) -> None:
        self.ladder: Ladder | None = None
        self._start()

    def _start(self) -> None:
        self.to_check: list[int] = []
        self.over: set[int] = set()
        self.events_read = 0

    def ready(self, state: State) -> list[tuple[int, Winner | Rest]]:
        """The brackets that can promote a trial or have room for more, oldest first."""
        self._update(state)
        history, sizes = state.history, state.ladder.brackets
        ready: list[tuple[int, Winner | Rest]] = []
        for bracket in tuple(self.to_check):
            base = history.base(bracket)
            now = standing(history, bracket, base, sizes[base])
            if isinstance(now, Winner) or now is Rest.SHORT:
                ready.append((bracket, now))
                continue
            self.to_check.remove(bracket)
            if now is Rest.OVER:
                self.over.add(bracket)
        return ready

    def _update(self, state: State) -> None:
        if self.ladder is not state.ladder:
            self.ladder = state.ladder
            self._start()
        touched = state.history.stirred(self.events_read)
        self.events_read += len(touched)
        if len(touched) > _FEW:  # a long history that is looked at for the first time
            self.to_check = sorted({*self.to_check, *touched})
            return
        for bracket in touched:
            if bracket not in self.to_check:
                insort(self.to_check, bracket)

    def over_count(self, state: State) -> int:
        """How many brackets have no trials left to start or wait for."""
        self.ready(state)
        return len(self.over)


_OPEN_BRACKETS: CacheKey[_OpenBrackets] = CacheKey(_OpenBrackets)


def ready_brackets(state: State) -> list[tuple[int, Winner | Rest]]:
    """The brackets that can promote a trial or have room for more, oldest first."""
    return state.history.cached(_OPEN_BRACKETS, lambda brackets: brackets.ready(state))


def brackets_over(state: State) -> int:
    """How many brackets have run to their end, in a plan of synchronous ones."""
    return state.history.cached(_OPEN_BRACKETS, lambda brackets: brackets.over_count(state))
