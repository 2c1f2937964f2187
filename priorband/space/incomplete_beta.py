"""The regularised incomplete beta function and its inverse, on the standard library."""

import math


def cdf(x: float, a: float, b: float) -> float:
    """The distribution function of Beta(a, b), by the continued fraction of its tail."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * _fraction(x, a, b) / a
    return 1.0 - math.exp(log_front) * _fraction(1.0 - x, b, a) / b


def quantile(p: float, a: float, b: float) -> float:
    """The position below which Beta(a, b) has mass `p`, by bisection to the last bit."""
    low, high = 0.0, 1.0
    while True:
        middle = 0.5 * (low + high)
        if middle in (low, high) or high - low < 1e-15:
            return middle
        if cdf(middle, a, b) < p:
            low = middle
        else:
            high = middle


def _fraction(x: float, a: float, b: float) -> float:
    """Lentz's evaluation of the continued fraction; it converges within O(sqrt(a + b)) steps."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + term / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value
