"""The priors of the published experiments, to reproduce the paper's numbers.

They differ from the paper's text in three ways. For each seed, one normal draw with a standard
deviation of 0.25 squared of the range moves all numbers of a near-optimum centre. Integers are
drawn with a standard deviation of 0.5 but scored with 0.25, on their range without the half steps
at its ends. Categories never change.
"""

import math
from collections.abc import Mapping
from typing import Any, final

import numpy as np

from priorband.space.base import Parameter
from priorband.space.config import Config
from priorband.space.densities import MEDIUM_SIGMA, Array, Density, TruncatedNormal
from priorband.space.parameters import Float, Integer
from priorband.space.prior import Independent, prior
from priorband.space.space import Space
from priorband.values import derived, frozen, settle

_DRAWN_SIGMA = 0.5
_SHIFT = 0.25**2


def published_prior(space: Space, centre: Mapping[str, Any]) -> Independent:
    """The prior around a centre, as the published experiments drew from it and scored with it."""
    plain = prior(space, {name: centre[name] for name in space.names})
    densities = [
        Unequal(parameter.low, parameter.high, parameter.log, density.mode)
        if isinstance(parameter, Integer)
        else density
        for parameter, density in zip(space.searched.values(), plain.densities, strict=True)
    ]
    return Independent(space, densities, plain.mode)


def published_shift(space: Space, centre: Mapping[str, Any], seed: int) -> Config:
    """A near-optimum centre with the perturbation of the published experiments for a seed."""
    shift = _SHIFT * float(np.random.RandomState(seed).normal())
    moved = {name: _moved(p, centre[name], shift) for name, p in space.searched.items()}
    return space.complete(moved)


def _moved(parameter: Parameter, value: Any, shift: float) -> Any:
    if not isinstance(parameter, Float | Integer):
        return value
    scale, back = (math.log, math.exp) if parameter.log else (float, float)
    low, high = scale(parameter.low), scale(parameter.high)
    moved = back(min(max(scale(value) + shift * (high - low), low), high))
    inside = min(max(moved, parameter.low), parameter.high)
    return round(inside) if isinstance(parameter, Integer) else inside


@final
@frozen
class Unequal:
    """A belief about an integer that is drawn with one standard deviation and scored with another.

    Studies store the full name of this class, so neither it nor this module may be renamed.
    """

    low: float
    high: float
    log: bool
    centre: float
    """The encoded centre: its position among the cells of the integers."""
    _drawn: TruncatedNormal = derived()
    _scored: TruncatedNormal = derived()

    def __post_init__(self) -> None:
        [scored] = self._narrow(np.array([self.centre])).tolist()
        settle(self, _drawn=TruncatedNormal(self.centre, _DRAWN_SIGMA))
        settle(self, _scored=TruncatedNormal(scored, MEDIUM_SIGMA))

    @property
    def mode(self) -> float:
        """The centre."""
        return self.centre

    def draw(self, u: float) -> float:
        """The quantile `u` of the wide normal."""
        return self._drawn.draw(u)

    def logpdf(self, codes: Array) -> Array:
        """The log density of the narrow normal."""
        return self._scored.logpdf(self._narrow(codes))

    def around(self, centre: float) -> Density:
        """The same belief around another centre."""
        return Unequal(self.low, self.high, self.log, centre)

    def _narrow(self, codes: Array) -> Array:
        """Positions among the cells as positions between the lowest and the highest integer."""
        scale = math.log if self.log else float
        low, high = scale(self.low), scale(self.high)
        first, last = scale(self.low - 0.5), scale(self.high + 0.5)
        return np.clip((first + codes * (last - first) - low) / (high - low), 0.0, 1.0)
