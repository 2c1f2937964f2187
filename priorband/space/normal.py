"""The normal distribution cut to the unit interval, in closed form on the standard library."""

import math
from statistics import NormalDist

_SQRT2 = math.sqrt(2.0)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_quantile = NormalDist().inv_cdf


def cdf(x: float) -> float:
    """The standard normal distribution function."""
    return 0.5 * math.erfc(-x / _SQRT2)


def mass(centre: float, sigma: float) -> float:
    """How much of a normal lies within [0, 1]: the constant that truncation divides by."""
    return cdf((1.0 - centre) / sigma) - cdf(-centre / sigma)


def log_constant(centre: float, sigma: float) -> float:
    """What to subtract from minus half the squared distance to get a log density."""
    return _LOG_SQRT_2PI + math.log(sigma) + math.log(mass(centre, sigma))


def draw(u: float, centre: float, sigma: float) -> float:
    """The quantile `u` of the normal cut to [0, 1]; cut, not clipped: no mass at the bounds."""
    low = cdf(-centre / sigma)
    high = cdf((1.0 - centre) / sigma)
    p = low + u * (high - low)
    if not 0.0 < p < 1.0:  # u of 0, or rounding next to 1
        return 0.0 if p <= 0.0 else 1.0
    return min(max(centre + sigma * _quantile(p), 0.0), 1.0)
