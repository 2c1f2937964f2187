"""The tree Parzen estimator of BOHB: search where good results are dense and bad ones are thin."""

import math
from typing import final

import numpy as np

from priorband.errors import MethodError
from priorband.numeric import real, whole
from priorband.samplers.base import MODEL, Draw
from priorband.samplers.simple import FromUniform
from priorband.space.densities import Array
from priorband.state import State
from priorband.streams import Generator
from priorband.trial import Observation
from priorband.values import frozen


@final
@frozen
class TPE:
    """Of some candidates near good results, the one where bad results are least dense against good.

    It looks at the highest rung with 2(d+1) successes, and draws uniformly before there is one. The
    share `good` of the rung's results is good, the others are bad, failures among them. Candidates
    move by `widening` bandwidths, which are at least `least_bandwidth`. The defaults are those of
    HpBandSter.
    """

    candidates: int = 64
    good: float = 0.15
    widening: float = 3.0
    least_bandwidth: float = 1e-3

    def __post_init__(self) -> None:
        if not whole(self.candidates) or self.candidates < 1:
            raise MethodError(
                f"`candidates` must be a whole number of at least 1, got {self.candidates!r}."
            )
        if not 0 < (real(self.good) or 0) <= 0.5:
            raise MethodError(f"`good` must lie in (0, 0.5], got {self.good!r}.")
        if (real(self.widening) or 0) <= 0:
            raise MethodError(f"`widening` must be a positive number, got {self.widening!r}.")
        if not 1e-9 <= (real(self.least_bandwidth) or 0) <= 1:
            raise MethodError(
                f"`least_bandwidth` must lie in [1e-9, 1], got {self.least_bandwidth!r}."
            )

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """The best candidate that was not tried yet, or the best of all when all were."""
        modelled = state.rung_with(2 * (len(state.space) + 1))
        if modelled is None:
            return FromUniform().sample(state, rung, rng)
        from priorband.models.kde import KDE

        sizes, least = state.space.sizes, self.least_bandwidth
        good, bad = (KDE(rows, sizes, least) for rows in groups(state, modelled, self.good))
        rows = good.nearby(self.candidates, self.widening, rng)
        order = np.argsort(bad.logpdf(rows) - good.logpdf(rows), kind="stable")
        configs = (state.space.config(row) for row in rows[order].tolist())
        fresh = next((config for config in configs if not state.history.seen(config)), None)
        return Draw(fresh or state.space.config(rows[order[0]].tolist()), MODEL)


def groups(state: State, rung: int, share: float) -> tuple[Array, Array]:
    """A rung's good and bad results as rows, each group best first."""
    ended = ranked(state, rung)
    successes = state.success_count(rung)
    good, bad = split_sizes(len(ended), successes, len(state.space), share)
    rows = np.array([state.row(each.trial) for each in ended[: good + bad]])
    return rows[:good], rows[good:]


def ranked(state: State, rung: int) -> list[Observation]:
    """All that ended at a rung's fidelity, also outside the plan, best first and failures last."""
    fidelity = state.ladder.fidelities[rung]
    ended = [each for each in state.history.observations if each.fidelity == fidelity]
    return sorted(ended, key=lambda each: each.ranking)


def split_sizes(
    results: int, successes: int, dimensions: int, share: float = 0.15
) -> tuple[int, int]:
    """How many results are good, and how many of the next are bad.

    Each group has at least one more than there are dimensions. No failure is good.

    >>> split_sizes(10, 10, 4), split_sizes(100, 100, 4), split_sizes(100, 12, 4)
    ((5, 5), (15, 85), (12, 85))
    """
    least = dimensions + 1
    good = min(max(least, _floor(share * results)), successes)
    bad = min(max(least, _floor((1.0 - share) * results)), results - good)
    return good, bad


def _floor(number: float) -> int:
    """The whole number below, or the nearest where only rounding keeps it away."""
    return math.floor(number + 1e-9)
