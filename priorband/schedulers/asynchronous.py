"""ASHA and asynchronous Hyperband: promote trials that are among the best of their rung so far."""

from bisect import bisect_left, insort
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import accumulate
from typing import Literal, final

from priorband.cache import CacheKey
from priorband.errors import MethodError
from priorband.ladder import Ladder
from priorband.numeric import one_of
from priorband.schedulers.base import Promote, Sample, unpromoted
from priorband.state import State
from priorband.streams import RandomSource
from priorband.trial import Observation, Slot
from priorband.values import frozen

Promotion = Literal["textbook", "neps"]


def _check_promotion(promotion: str) -> None:
    if not one_of(promotion, ("textbook", "neps")):
        raise MethodError(f"`promotion` must be 'textbook' or 'neps', got {promotion!r}.")


@final
@frozen
class ASHA:
    """Asynchronous successive halving (ASHA). New trials start on the lowest rung.

    A trial is promoted as soon as it is among the best 1/eta of its rung. No worker waits.

    Args:
        promotion: Which trials of a rung to count. "textbook": all that have ended there. "neps":
            only those that were not promoted yet, as in the code behind the paper's parallel
            results. With "neps", nearly every new result leads to a promotion.

    Raises:
        MethodError: If `promotion` is another word.

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.samplers import FromUniform
        >>> method = Optimizer(ASHA(), FromUniform())
    """

    promotion: Promotion = "textbook"

    def __post_init__(self) -> None:
        _check_promotion(self.promotion)

    def next(self, state: State, rng: RandomSource) -> Sample | Promote:
        """Return the promotion to the highest rung, or else a new trial on the lowest rung."""
        del rng
        return _next(state, 0, self.promotion)

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        """Return those of some ended trials that succeeded and were not promoted yet."""
        return {ended.trial.id for ended, _ in unpromoted(state, trials)}


@final
@frozen
class AsyncHyperband:
    """Asynchronous Hyperband: ASHA with a random base rung for each new trial.

    Base rungs are drawn in proportion to the sizes of Hyperband's brackets. All brackets share the
    same rungs.

    Args:
        promotion: Which trials of a rung to count: "textbook" or "neps", as in `ASHA`.

    Raises:
        MethodError: If `promotion` is another word.

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.samplers import FromUniform
        >>> method = Optimizer(AsyncHyperband(), FromUniform())
    """

    promotion: Promotion = "textbook"

    def __post_init__(self) -> None:
        _check_promotion(self.promotion)

    def next(self, state: State, rng: RandomSource) -> Sample | Promote:
        """Draw a base rung; return the highest promotion from there up, or else a new trial."""
        u = rng.random()
        shares = bracket_shares(state.ladder)
        base = sum(u >= bound for bound in list(accumulate(shares))[:-1])
        return _next(state, base, self.promotion)

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        """Return those of some ended trials that succeeded and were not promoted yet."""
        return {ended.trial.id for ended, _ in unpromoted(state, trials)}


def bracket_shares(ladder: Ladder) -> tuple[float, ...]:
    """The probability of each base rung, in proportion to Hyperband's unrounded bracket sizes."""
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
        pool.extend(state.history.ended_on(rung, since=pool.read), state)
        number = pool.candidate(state, promotion)
        if number is not None:
            return Promote(state.history.trial(number), Slot(base, rung + 1))
    return None


@final
class _Pool:
    """The trials that have ended on a rung: their ranking, and which were not promoted yet."""

    __slots__ = ("ended", "ranked", "read", "rung", "waiting")

    def __init__(self, rung: int) -> None:
        self.rung = rung
        self.read = 0
        self.ended = 0
        """Without retries: a failed trial and the one in its place count once."""
        self.ranked: list[tuple[float, int]] = []
        self.waiting: list[tuple[float, int, int]] = []

    def extend(self, ended: Iterable[Observation], state: State) -> None:
        """Add trials that have ended on the rung since the last call."""
        for observation in ended:
            self.read += 1
            self.ended += state.history.retry_of(observation.trial.id) is None
            if not observation.failed:
                insort(self.ranked, observation.ranking)
                heappush(self.waiting, (*observation.ranking, observation.trial.id))

    def candidate(self, state: State, promotion: Promotion) -> int | None:
        """The id of the best trial that is not promoted yet, if the rule allows to promote it."""
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
