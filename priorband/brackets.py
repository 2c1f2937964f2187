"""Synchronous brackets as the history shows them: their progress, and what each promotes next."""

from bisect import insort
from enum import Enum
from typing import NamedTuple, final

from priorband.cache import CacheKey
from priorband.history import History
from priorband.ladder import Ladder
from priorband.state import State
from priorband.trial import Trial


class BracketStatus(Enum):
    """Why a bracket has no trial to promote now."""

    HAS_ROOM = "its base rung has room for more trials"
    WAITING = "a trial on the current rung is still running"
    OVER = "all its trials have ended"


class Winner(NamedTuple):
    """The trial that a bracket promotes next, and to which rung."""

    trial: Trial
    rung: int


ReadyBracket = tuple[int, int, Winner | None]
"""A bracket that can go on: its number, its base rung, and what it promotes next.

Without a winner, its base rung has room for more trials.
"""


def bracket_status(
    history: History, bracket: int, base: int, sizes: tuple[int, ...]
) -> Winner | BracketStatus:
    """What a bracket can do now.

    `sizes` is the planned number of trials on each rung from `base` up. A failed trial counts as
    ended, so that the bracket goes on, but is never promoted: with fewer successes than planned,
    the next rung gets fewer trials. While a failed trial is retried, the bracket waits for it.
    """
    members, planned = history.members(bracket, base), sizes[0]
    if members.started < planned:
        return BracketStatus.HAS_ROOM
    for step in range(1, len(sizes)):
        if members.ended < planned:
            return BracketStatus.WAITING
        above = history.members(bracket, base + step)
        planned = min(sizes[step], members.succeeded)
        if above.started < planned:
            best = history.next_winner(bracket, base + step - 1, above.started)
            return Winner(best.trial, base + step)
        members = above
    return BracketStatus.WAITING if members.ended < planned else BracketStatus.OVER


_FEW = 20
"""With more brackets than this to add, sorting all of them is faster than inserting each."""


@final
class _OpenBrackets:
    """The brackets to check: those in which something happened since they had to wait.

    A bracket that waits for a trial which never ends is not checked again and costs nothing.
    """

    __slots__ = ("bases", "entries_read", "ladder", "over", "to_check")

    def __init__(self) -> None:
        self.ladder: Ladder | None = None
        self._reset()

    def _reset(self) -> None:
        self.to_check: list[int] = []
        self.bases: dict[int, int] = {}
        self.over: set[int] = set()
        self.entries_read = 0

    def ready(self, state: State) -> list[ReadyBracket]:
        """The brackets that can promote a trial or have room for more, oldest first."""
        self._update(state)
        ready: list[ReadyBracket] = []
        for bracket in tuple(self.to_check):
            base = self._base(state.history, bracket)
            now = bracket_status(state.history, bracket, base, state.ladder.brackets[base])
            self.over.discard(bracket)  # a trial may have been retried
            if isinstance(now, Winner):
                ready.append((bracket, base, now))
            elif now is BracketStatus.HAS_ROOM:
                ready.append((bracket, base, None))
            else:
                self.to_check.remove(bracket)
                if now is BracketStatus.OVER:
                    self.over.add(bracket)
        return ready

    def _base(self, history: History, bracket: int) -> int:
        base = self.bases.get(bracket)
        if base is None:
            base = self.bases[bracket] = history.base(bracket)
        return base

    def _update(self, state: State) -> None:
        """Add the brackets in which something happened since the last call."""
        if self.ladder is not state.ladder:
            self.ladder = state.ladder
            self._reset()
        touched = state.history.brackets_touched(since=self.entries_read)
        self.entries_read += len(touched)
        if len(touched) > _FEW:  # a long history that is read for the first time
            self.to_check = sorted({*self.to_check, *touched})
            return
        for bracket in touched:
            if bracket not in self.to_check:
                insort(self.to_check, bracket)

    def over_count(self, state: State) -> int:
        """How many brackets have run to their end."""
        self.ready(state)
        return len(self.over)


_OPEN_BRACKETS: CacheKey[_OpenBrackets] = CacheKey(_OpenBrackets)


def ready_brackets(state: State) -> list[ReadyBracket]:
    """The brackets that can promote a trial or have room for more, oldest first."""
    return state.history.cached(_OPEN_BRACKETS, _OpenBrackets.ready, state)


def brackets_over(state: State) -> int:
    """How many brackets have run to their end, under a synchronous scheduler."""
    return state.history.cached(_OPEN_BRACKETS, _OpenBrackets.over_count, state)
