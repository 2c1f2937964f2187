"""The tree Parzen estimator of BOHB: draw where good results are dense and bad ones are rare."""

import math
from typing import Protocol, final

import numpy as np

from priorband.errors import MethodError
from priorband.numeric import real, whole
from priorband.samplers.base import MODEL, Draw
from priorband.samplers.simple import FromUniform
from priorband.space.densities import Array, Density
from priorband.space.prior import Independent, prior
from priorband.state import State
from priorband.streams import Generator
from priorband.trial import Observation
from priorband.values import frozen


@final
@frozen
class TPE:
    """The tree Parzen estimator of BOHB. Its draws have the origin "model".

    It estimates the density of good results and that of bad results on the highest rung with at
    least 2 (d + 1) successes, where d is the number of searched parameters. It draws candidates
    near good results and returns the one with the highest ratio of the two densities. While there
    is no such rung, it draws uniformly. A parameter's density is estimated from the results in
    which it is active; if these are fewer than three, it is the prior's. The defaults are those of
    HpBandSter.

    Args:
        candidates: The number of candidates.
        good: The fraction of the results that count as good, at most 0.5. Failures are always bad.
        widening: Candidates are drawn with this many times the bandwidth.
        least_bandwidth: The minimum bandwidth.

    Raises:
        MethodError: If an argument is out of its range.

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.conditions import Enough
        >>> from priorband.samplers import FromUniform, Staged
        >>> from priorband.schedulers import Hyperband
        >>> sampler = Staged(FromUniform(), TPE(), until=Enough(per_parameter=2, more=2))
        >>> method = Optimizer(Hyperband(), sampler)
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
            raise MethodError(f"`good` must be in (0, 0.5], got {self.good!r}.")
        if (real(self.widening) or 0) <= 0:
            raise MethodError(f"`widening` must be a positive number, got {self.widening!r}.")
        if not 1e-9 <= (real(self.least_bandwidth) or 0) <= 1:
            raise MethodError(
                f"`least_bandwidth` must be in [1e-9, 1], got {self.least_bandwidth!r}."
            )

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Return the best candidate that was not tried yet; if all were, the best of all."""
        modelled = state.rung_with(2 * (len(state.space) + 1))
        if modelled is None:
            return FromUniform().sample(state, rung, rng)
        good, bad = self._estimates(state, groups(state, modelled, self.good))
        rows = state.space.marked(good.nearby(self.candidates, self.widening, rng))
        order = np.argsort(bad.logpdf(rows) - good.logpdf(rows), kind="stable")
        configs = (state.space.config(row) for row in rows[order].tolist())
        new = next((config for config in configs if not state.history.seen(config)), None)
        return Draw(new or state.space.config(rows[order[0]].tolist()), MODEL)

    def _estimates(self, state: State, both: tuple[Array, Array]) -> "list[Estimate]":
        """The densities of the good and the bad results."""
        sizes, least = state.space.sizes, self.least_bandwidth
        if state.space.conditional:
            from priorband.models.marked_kde import MarkedKDE

            densities = _densities(state)
            return [MarkedKDE(rows, sizes, densities, least) for rows in both]
        from priorband.models.kde import KDE

        return [KDE(rows, sizes, least) for rows in both]


class Estimate(Protocol):
    """A density that was estimated from rows."""

    def logpdf(self, rows: Array) -> Array:
        """Return the log density at each row."""

    def nearby(self, n: int, widening: float, rng: Generator) -> Array:
        """Draw `n` rows near rows of the data."""


def _densities(state: State) -> tuple[Density, ...]:
    """The prior's density of each parameter; flat ones if it has no such densities."""
    believed = state.prior if isinstance(state.prior, Independent) else prior(state.space, {})
    return believed.densities


def groups(state: State, rung: int, share: float) -> tuple[Array, Array]:
    """Return a rung's good and bad results as encoded rows, each group best first."""
    ended = ranked(state, rung)
    successes = state.success_count(rung)
    good, bad = split_sizes(len(ended), successes, len(state.space), share)
    rows = np.array([state.row(each.trial) for each in ended[: good + bad]])
    return rows[:good], rows[good:]


def ranked(state: State, rung: int) -> list[Observation]:
    """All results at a rung's fidelity, best first and failures last.

    Results that the scheduler did not ask for, such as imported ones, are included.
    """
    fidelity = state.ladder.fidelities[rung]
    ended = [each for each in state.history.observations if each.fidelity == fidelity]
    return sorted(ended, key=lambda each: each.ranking)


def split_sizes(
    results: int, successes: int, dimensions: int, share: float = 0.15
) -> tuple[int, int]:
    """Return how many results count as good, and how many of the rest as bad.

    Each group has at least one more than there are dimensions, if there are enough results. A
    failure is never good.

    >>> split_sizes(10, 10, 4), split_sizes(100, 100, 4), split_sizes(100, 12, 4)
    ((5, 5), (15, 85), (12, 85))
    """
    least = dimensions + 1
    good = min(max(least, _floor(share * results)), successes)
    bad = min(max(least, _floor((1.0 - share) * results)), results - good)
    return good, bad


def _floor(number: float) -> int:
    """Round down, but treat a number just below a whole number as that number."""
    return math.floor(number + 1e-9)
