"""Synchronous brackets as the history shows them: how far each is, and whom it promotes next."""

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
        if len(members.ended) < room:
            return Rest.BLOCKED
        above = history.members(bracket, base + step)
        room = min(sizes[step], members.succeeded)
        if above.started < room:
            return Winner(members.best(above.started).trial, base + step)
        members = above
    return Rest.BLOCKED if len(members.ended) < room else Rest.OVER


@final
class _Open:
    """Which brackets are not over. A bracket that is over stays so, hence this only moves on."""

    __slots__ = ("brackets", "known", "ladder")

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.brackets: list[tuple[int, int]] = []
        self.known = 0


def open_brackets(state: State) -> list[tuple[int, Winner | Rest]]:
    """The brackets that have begun and are not over, oldest first, and what each can do."""
    history, sizes = state.history, state.ladder.brackets
    found: _Open | None = history.cache.get("open")
    if found is None or found.ladder is not state.ladder:
        found = history.cache["open"] = _Open(state.ladder)
    for bracket in history.started(found.known):
        found.brackets.append((bracket, history.base(bracket)))
        found.known += 1
    standings: list[tuple[int, Winner | Rest]] = []
    for bracket, base in tuple(found.brackets):
        now = standing(history, bracket, base, sizes[base])
        if now is Rest.OVER:
            found.brackets.remove((bracket, base))
        else:
            standings.append((bracket, now))
    return standings


def brackets_over(state: State) -> int:
    """How many brackets have run to their end."""
    return state.history.brackets - len(open_brackets(state))
