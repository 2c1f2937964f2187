"""The normal distribution truncated to [0, 1], in closed form, with the standard library only."""

import math
from collections.abc import Callable
from typing import Any

_SQRT2 = math.sqrt(2.0)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def _normal_quantile() -> Callable[[float, float, float], float]:
    """Return the standard library's normal quantile function.

    It is taken from the C module `_statistics` if possible. Importing `statistics` also imports
    decimals, fractions and random numbers, which takes a tenth as long as importing numpy.
    """
    try:
        import _statistics  # type: ignore[import-not-found]  # private, hence the fallback

        function: Any = _statistics._normal_dist_inv_cdf
    except (ImportError, AttributeError):
        from statistics import NormalDist

        return lambda p, mu, sigma: NormalDist(mu, sigma).inv_cdf(p)
    return function  # type: ignore[no-any-return]  # a C function without stubs


quantile = _normal_quantile()
"""The normal quantile function: `quantile(p, mean, standard deviation)`."""


def cdf(x: float) -> float:
    """The standard normal distribution function."""
    return 0.5 * math.erfc(-x / _SQRT2)


def bounds(centre: float, sigma: float) -> tuple[float, float]:
    """Return the probability that a normal is below 0, and the probability that it is below 1."""
    return cdf(-centre / sigma), cdf((1.0 - centre) / sigma)


def log_constant(centre: float, sigma: float) -> float:
    """Return the log of the truncated density's normalising constant.

    The log density at x is -z * z / 2 minus this, where z = (x - centre) / sigma.
    """
    below, above = centre / (sigma * _SQRT2), (1.0 - centre) / (sigma * _SQRT2)
    return _LOG_SQRT_2PI + math.log(sigma) + math.log(0.5 * (math.erf(above) + math.erf(below)))


def draw(u: float, centre: float, sigma: float, bounds: tuple[float, float]) -> float:
    """Return the quantile `u` of the normal truncated to [0, 1], given its `bounds`."""
    low, high = bounds
    p = low + u * (high - low)
    if p <= 0.0:  # rounding: a quantile needs 0 < p < 1
        p = math.ulp(0.0)
    elif p >= 1.0:
        p = 1.0 - 2.0**-53
    position = quantile(p, centre, sigma)
    if position < 0.0:
        return 0.0
    return position if position < 1.0 else 1.0
