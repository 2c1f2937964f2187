"""The normal distribution cut to the unit interval, in closed form on the standard library."""

import math
from collections.abc import Callable
from typing import Any

_SQRT2 = math.sqrt(2.0)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def _standard_library() -> Callable[[float, float, float], float]:
    """The standard library's normal quantile, without the rest of `statistics`: it loads decimals,
    fractions and random numbers, a tenth of numpy's own import."""
    try:
        import _statistics  # type: ignore[import-not-found]  # private, hence the way out

        found: Any = _statistics._normal_dist_inv_cdf
    except (ImportError, AttributeError):
        from statistics import NormalDist

        return lambda p, mu, sigma: NormalDist(mu, sigma).inv_cdf(p)
    return found  # type: ignore[no-any-return]  # a C function without stubs


quantile = _standard_library()
"""The point below which a normal has mass `p`, given `p`, its mean and its deviation."""


def cdf(x: float) -> float:
    """The standard normal distribution function."""
    return 0.5 * math.erfc(-x / _SQRT2)


def bounds(centre: float, sigma: float) -> tuple[float, float]:
    """How much of a normal lies below 0 and below 1: what truncation to [0, 1] cuts off."""
    return cdf(-centre / sigma), cdf((1.0 - centre) / sigma)


def log_constant(centre: float, sigma: float) -> float:
    """What to subtract from minus half the squared distance to get a log density."""
    below, above = centre / (sigma * _SQRT2), (1.0 - centre) / (sigma * _SQRT2)
    return _LOG_SQRT_2PI + math.log(sigma) + math.log(0.5 * (math.erf(above) + math.erf(below)))


def draw(u: float, centre: float, sigma: float, bounds: tuple[float, float]) -> float:
    """The quantile `u` of the normal between its `bounds`; cut, not clipped: no mass piles up."""
    low, high = bounds
    p = low + u * (high - low)
    if p <= 0.0:  # the first and the last draw, where rounding leaves the open interval
        p = math.ulp(0.0)
    elif p >= 1.0:
        p = 1.0 - 2.0**-53
    position = quantile(p, centre, sigma)
    if position < 0.0:
        return 0.0
    return position if position < 1.0 else 1.0
