"""Priors as the paper's published experiments really had them, to compare with their figures.

They differ from the paper's text in three ways. A near-optimum centre is moved by one normal draw a
seed, shared by all numbers, of 0.25 squared of the range. Integers are drawn with a width of 0.5,
but scored with 0.25, on their range without the half steps at its ends. Categories never move.
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
    """The prior around a centre that the published experiments drew from and scored with."""
    plain = prior(space, {name: centre[name] for name in space.names})
    densities = [
        Unequal(parameter.low, parameter.high, parameter.log, density.mode)
        if isinstance(parameter, Integer)
        else density
        for parameter, density in zip(space.searched.values(), plain.densities, strict=True)
    ]
    return Independent(space, densities, plain.mode)


def published_shift(space: Space, centre: Mapping[str, Any], seed: int) -> Config:
    """A centre moved as the published experiments moved a near-optimum one for a seed."""
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
    """A belief about an integer that is drawn from with one width and scored with another."""

    low: float
    high: float
    log: bool
    centre: float
    """Its position among the integers' cells, as in all encodings."""
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
        """The quantile `u` of the wide one."""
        return self._drawn.draw(u)

    def logpdf(self, codes: Array) -> Array:
        """The density of the narrow one."""
        return self._scored.logpdf(self._narrow(codes))

    def around(self, centre: float) -> Density:
        """The same elsewhere."""
        return Unequal(self.low, self.high, self.log, centre)

    def _narrow(self, codes: Array) -> Array:
        """Positions among cells as positions between the lowest integer and the highest."""
        scale = math.log if self.log else float
        low, high = scale(self.low), scale(self.high)
        first, last = scale(self.low - 0.5), scale(self.high + 0.5)
        return np.clip((first + codes * (last - first) - low) / (high - low), 0.0, 1.0)
