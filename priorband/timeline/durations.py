"""How long trials take: a start-up that all have, and a pace that belongs to the configuration.

Configurations differ in speed, often tenfold, and a promotion has the speed of its parent. So a
time ahead is not estimated with one mean, but with the paces that were seen: a known configuration
keeps its own, a new one gets one of the others. Those that are still running count as well, with
the steps that they have reported or with the time that they have had, or else the slow ones would
be missing. Rungs differ by the start-up: it weighs more on low ones. What
else they differ by, such as an evaluation at the end, is measured for each rung.

Early in a study little of this is known: there are trials of one size only, and no long ones. So
both the start-up and the seconds per unit of longer trials begin with what is usual, and follow the
measurements as soon as there are some.
"""

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from statistics import median, pvariance
from typing import NamedTuple, final

from priorband.trial import Trial

LAST = 200
"""How many trials are remembered, so that the measure follows changes."""
LONGER = 0.3
"""A trial that takes longer than expected is expected to take this share of its time longer."""
RUNG_WEIGHT = 3.0
"""A rung's own factor counts in full only with many more trials than this."""
FEW_UNITS = 0.1
"""A pace counts in full only after many more units than this share of the longest training."""
USUAL_STARTUP = 0.05
"""The start-up that is assumed first: as long as this share of a full training takes."""
USUAL_DECLINE, DECLINE_SPREAD = 0.15, 0.1
"""Seconds per unit fall with the units of a trial, to the power of this: the mean, and the standard
deviation between studies."""
PACE_SPREAD = 0.5
"""The standard deviation of the logarithms of paces that is assumed first."""
MOST_DECLINE = 0.5

_Kind = tuple[float, bool]
"""The fidelity of a trial, and whether it continues another."""
_GOLDEN = 0.6180339887498949


class Took(NamedTuple):
    """How long a trial has taken for a number of units."""

    root: int
    fidelity: float
    units: float
    seconds: float


@final
class Durations:
    """The seconds that trials took.

    >>> durations = Durations()
    >>> for root in range(9):
    ...     durations.add(Took(root, 1, 1, 12.0))
    >>> durations.add(Took(4, 3, 2, 14.0))
    >>> model = durations.model(high=9)
    >>> round(model.startup, 1)  # trial 4 says 10, and the usual one is 3.7
    6.9
    """

    def __init__(self, last: int = LAST) -> None:
        self._ended: deque[Took] = deque(maxlen=last)

    def __len__(self) -> int:
        """How many trials are remembered."""
        return len(self._ended)

    def add(self, took: Took) -> None:
        """Add a trial that has ended."""
        self._ended.append(took)

    def seconds_per_unit(self) -> float | None:
        """The mean seconds of a unit, with all that goes with a trial; None if not measured."""
        units = sum(took.units for took in self._ended)
        return sum(took.seconds for took in self._ended) / units if units else None

    def model(
        self, high: float, running: Sequence[Took] = (), silent: Sequence[Took] = ()
    ) -> "DurationModel | None":
        """What follows from the trials that have ended, and those that run; None if unknown.

        Args:
            high: The fidelity of a full training.
            running: The units done by trials that run.
            silent: Trials that run and have not reported what is done, with all of their units and
                the seconds so far.
        """
        ended = [took for took in self._ended if took.units > 0]
        known = [*ended, *(took for took in running if took.units > 0)]
        if not known:
            return None
        startup = _startup(ended, high)
        owns = [max(took.seconds - startup, 0.1 * took.seconds) for took in known]
        mean = sum(owns) / sum(took.units for took in known)
        few = FEW_UNITS * max(took.fidelity for took in known)
        sums: dict[int, tuple[float, float]] = {}
        rungs: dict[_Kind, tuple[float, float, int]] = {}
        for took, own in zip(known, owns, strict=True):
            seconds, units = sums.get(took.root, (0.0, 0.0))
            expected = (seconds + few * mean) / (units + few) * took.units
            real, before, count = rungs.get((took.fidelity, units > 0), (0.0, 0.0, 0))
            rungs[took.fidelity, units > 0] = real + own, before + expected, count + 1
            sums[took.root] = seconds + own, units + took.units
        paces = {r: (seconds + few * mean) / (u + few) for r, (seconds, u) in sums.items()}
        pool = sorted((paces[root], units) for root, (_, units) in sums.items())
        _add_silent(pool, [took for took in silent if took.root not in sums], startup)
        factors = {
            kind: (count * real / expected + RUNG_WEIGHT) / (count + RUNG_WEIGHT)
            for kind, (real, expected, count) in rungs.items()
        }
        decline = _decline([(took.units, own) for took, own in zip(known, owns, strict=True)])
        longest = max(took.units for took in known)
        return DurationModel(startup, paces, pool, factors, longest, decline)


@final
class DurationModel:
    """Predicts how long trials take."""

    def __init__(
        self,
        startup: float,
        by_root: dict[int, float],
        pool: list[tuple[float, float]],
        factors: dict[_Kind, float],
        longest: float,
        decline: float,
    ) -> None:
        self.startup, self.by_root, self.factors = startup, by_root, factors
        self.longest, self.decline = longest, decline
        self.paces = [pace for pace, _ in pool]
        self.shares = list(accumulate(units for _, units in pool))

    def seconds(self, draw: int) -> Callable[[Trial, float], float]:
        """How long trials take; `draw` says which of several draws of new paces to take."""
        shift = draw * _GOLDEN * _GOLDEN

        def seconds(trial: Trial, cost: float) -> float:
            pace = self.by_root.get(trial.root)
            if pace is None:  # evenly over the units that were trained
                share = (trial.root * _GOLDEN + shift) % 1.0 * self.shares[-1]
                pace = self.paces[min(bisect_right(self.shares, share), len(self.paces) - 1)]
            return self.startup + pace * cost * self._factor(trial, cost)

        return seconds

    def _factor(self, trial: Trial, units: float) -> float:
        """What a rung differs by; for one without trials, by the decline from the longest."""
        known = self.factors.get((trial.fidelity, trial.parent is not None))
        if known is not None:
            return known
        return math.exp(-self.decline * math.log(max(units / self.longest, 1.0)))

    def left(self, trial: Trial, units: float, elapsed: float, done: float | None) -> float:
        """How much longer a trial takes that has been running for a time.

        Without a report of what is done, the paces count that are slow enough for this time.
        """
        if done:
            return elapsed * max(units - done, 0.0) / done
        pace = self.by_root.get(trial.root)
        if pace is None:
            least = max(elapsed - self.startup, 0.0) / units
            slower = self.paces[bisect_left(self.paces, least) :]
            pace = median(slower) if slower else 0.0
        whole = self.startup + pace * units * self._factor(trial, units)
        return max(whole - elapsed, LONGER * elapsed)


def _startup(ended: list[Took], high: float) -> float:
    """The seconds that any trial takes, by comparing long and short trials of one configuration.

    Without such pairs, by comparing the medians of the shortest and the longest trials. The usual
    start-up counts as one more pair.
    """
    if not ended:
        return 0.0
    by_root: dict[int, list[Took]] = {}
    by_units: dict[float, list[float]] = {}
    for took in ended:
        by_root.setdefault(took.root, []).append(took)
        by_units.setdefault(took.units, []).append(took.seconds)
    least, found = min(by_units), []
    for chain in by_root.values():
        short = min(chain, key=lambda took: took.units)
        long = max(chain, key=lambda took: took.units)
        if long.units > short.units:
            found.append(_intercept(short.units, short.seconds, long.units, long.seconds))
    if not found and len(by_units) > 1:
        most = max(by_units)
        found = [_intercept(least, median(by_units[least]), most, median(by_units[most]))]
    found.append(median(by_units[least]) / (1.0 + least / (USUAL_STARTUP * high)))
    shortest = min(took.seconds for took in ended)
    return median(min(max(seconds, 0.0), shortest) for seconds in found)


def _add_silent(pool: list[tuple[float, float]], silent: list[Took], startup: float) -> None:
    """Let trials that have not ended count in the paces, which are sorted, and their units.

    One is as slow as those that are slow enough for the time that it has had, by their units; so
    its own units are added to theirs. This is the estimate of Kaplan and Meier.
    """
    least = [(max(took.seconds - startup, 0.0) / took.units, took.units) for took in silent]
    for pace, units in sorted(least, reverse=True):
        slower = bisect_left(pool, (pace, 0.0))
        total = sum(weight for _, weight in pool[slower:])
        if total:
            pool[slower:] = [(each, w * (1.0 + units / total)) for each, w in pool[slower:]]
        else:
            pool.append((pace * (1.0 + LONGER), units))


def _decline(known: list[tuple[float, float]]) -> float:
    """How fast the seconds per unit fall with the units of a trial, as an exponent.

    A regression of the logarithms, in which the usual decline is the prior. It counts the less, the
    more alike the paces of trials of one size are.
    """
    by_size: dict[float, list[float]] = {}
    for units, seconds in known:
        by_size.setdefault(math.log(units), []).append(math.log(max(seconds, 1e-9) / units))
    size = sum(at * len(paces) for at, paces in by_size.items()) / len(known)
    spread = PACE_SPREAD**2 + sum(len(paces) * pvariance(paces) for paces in by_size.values())
    weight = spread / (len(known) + 1) / DECLINE_SPREAD**2
    products = sum((at - size) * sum(paces) for at, paces in by_size.items())
    squares = sum((at - size) ** 2 * len(paces) for at, paces in by_size.items())
    found = (USUAL_DECLINE * weight - products) / (weight + squares)
    return min(max(found, 0.0), MOST_DECLINE)


def _intercept(units: float, seconds: float, more: float, longer: float) -> float:
    return (seconds * more - longer * units) / (more - units)
