"""ASHA and asynchronous Hyperband: promote whoever is among the best of its rung so far."""

from bisect import bisect_left, insort
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import accumulate
from typing import Literal, final

from priorband.cache import CacheKey
from priorband.errors import MethodError
from priorband.ladder import Ladder
from priorband.schedulers.base import Promote, Sample, unpromoted
from priorband.state import State
from priorband.streams import Random
from priorband.trial import Observation, Slot
from priorband.values import frozen

Promotion = Literal["textbook", "neps"]


def _check(promotion: str) -> None:
    if promotion not in ("textbook", "neps"):
        raise MethodError(f"`promotion` must be 'textbook' or 'neps', got {promotion!r}.")


@final
@frozen
class ASHA:
    """One bracket from the lowest rung, without waiting.

    A trial is promoted when it is among the best 1/eta of all that have ever ended on its rung.
    "neps" counts only those not promoted yet, as the code behind the paper's parallel results did:
    nearly every new result then brings a promotion.
    """

    promotion: Promotion = "textbook"

    def __post_init__(self) -> None:
        _check(self.promotion)

    def next(self, state: State, rng: Random) -> Sample | Promote:
        """The highest promotion there is, else a sample on the lowest rung."""
        del rng
        return _next(state, 0, self.promotion)

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        """Which of these ended trials a later decision may still promote: any not yet promoted."""
        return {ended.trial.id for ended, _ in unpromoted(state, trials)}


@final
@frozen
class AsyncHyperband:
    """ASHA from a base rung drawn anew for each request; all brackets share the rungs."""

    promotion: Promotion = "textbook"

    def __post_init__(self) -> None:
        _check(self.promotion)

    def next(self, state: State, rng: Random) -> Sample | Promote:
        """The highest promotion at or above the drawn rung, else a sample on it."""
        u = rng.random()
        shares = bracket_shares(state.ladder)
        base = sum(u >= bound for bound in list(accumulate(shares))[:-1])
        return _next(state, base, self.promotion)

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        """Which of these ended trials a later decision may still promote: any not yet promoted."""
        return {ended.trial.id for ended, _ in unpromoted(state, trials)}


def bracket_shares(ladder: Ladder) -> tuple[float, ...]:
    """The chance of each base rung: in proportion to Hyperband's bracket sizes before rounding."""
    top, eta = ladder.top, ladder.eta
    sizes = [eta ** (top - base) * (top + 1) / (top - base + 1) for base in range(top + 1)]
    return tuple(size / sum(sizes) for size in sizes)


def _next(state: State, base: int, promotion: Promotion) -> Sample | Promote:
    step = state.history.cached(_POOLS, _promotion, state, base, promotion)
    return step or Sample(Slot(base, base))


def _promotion(
    pools: "dict[int, _Pool]", state: State, base: int, promotion: Promotion
) -> Promote | None:
    """The highest promotion that the rule allows."""
    for rung in range(state.ladder.top - 1, base - 1, -1):
        pool = pools.setdefault(rung, _Pool(rung))
        pool.extend(state.history.ended_on(rung, since=pool.ended))
        number = pool.candidate(state, promotion)
        if number is not None:
            return Promote(state.history.trial(number), Slot(base, rung + 1))
    return None


@final
class _Pool:
    """All that have ended on a rung: their ranking, and who was not promoted yet."""

    __slots__ = ("ended", "ranked", "rung", "waiting")

    def __init__(self, rung: int) -> None:
        self.rung = rung
        self.ended = 0
        self.ranked: list[tuple[float, int]] = []
        self.waiting: list[tuple[float, int, int]] = []

    def extend(self, ended: Iterable[Observation]) -> None:
        """Add trials that have ended on the rung since."""
        for observation in ended:
            self.ended += 1
            if not observation.failed:
                insort(self.ranked, observation.ranking)
                heappush(self.waiting, (*observation.ranking, observation.trial.id))

    def candidate(self, state: State, promotion: Promotion) -> int | None:
        """The best trial that is not promoted yet, if the rule lets it go up."""
        while self.waiting and state.history.promoted(self.waiting[0][2]):
            heappop(self.waiting)
        if not self.waiting:
            return None
        loss, root, number = self.waiting[0]
        if promotion == "textbook":
            allowed = bisect_left(self.ranked, (loss, root)) < self.ended // state.ladder.eta
        else:
            allowed = self.ended - state.history.promotions(self.rung) >= state.ladder.eta
        return number if allowed else None


_POOLS: CacheKey[dict[int, _Pool]] = CacheKey(dict)
