"""The regularised incomplete beta function and its inverse, with the standard library only."""

import math


def cdf(x: float, a: float, b: float) -> float:
    """Return the distribution function of Beta(a, b), computed as a continued fraction."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * _fraction(x, a, b) / a
    return 1.0 - math.exp(log_front) * _fraction(1.0 - x, b, a) / b


def quantile(p: float, a: float, b: float) -> float:
    """Return the quantile `p` of Beta(a, b), by Newton's method with bisection as a fallback."""
    low, high, x = 0.0, 1.0, a / (a + b)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    for _ in range(100):
        excess = cdf(x, a, b) - p
        low, high = (low, x) if excess > 0 else (x, high)
        slope = math.exp((a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - log_beta)
        step = x - excess / slope if slope > 0 else -1.0
        before, x = x, step if low < step < high else 0.5 * (low + high)
        if abs(x - before) <= 1e-15 or not low < x < high:
            break
    return min(max(x, 0.0), 1.0)


def _fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction with Lentz's method, which takes O(sqrt(a + b)) steps."""
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
