"""One-dimensional densities over the unit interval, or over the choices of a categorical.

Each can do four things: turn a uniform number into a draw, give its log density, name its mode, and
move to another centre. Moving is what makes the incumbent's density out of the prior's.
"""

import math
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from priorband.space import incomplete_beta, normal
from priorband.values import derived, frozen, settle

Array = NDArray[np.float64]

MEDIUM_SIGMA = 0.25
MEDIUM_WEIGHT = 4.0


class Density(Protocol):
    """A belief about one parameter, in its encoded form."""

    @property
    def mode(self) -> float:
        """The most likely position or index."""

    def draw(self, u: float) -> float:
        """The draw that a uniform number in [0, 1) stands for."""

    def logpdf(self, codes: Array) -> Array:
        """The log density at each of an array of positions or indices."""

    def around(self, centre: float) -> "Density":
        """The same belief moved to another centre."""


@final
@frozen
class TruncatedNormal:
    """A normal cut to [0, 1], its centre within."""

    centre: float
    sigma: float
    constant: float = derived()
    _bounds: tuple[float, float] = derived()

    def __post_init__(self) -> None:
        constant = normal.log_constant(self.centre, self.sigma)
        settle(self, constant=constant, _bounds=normal.bounds(self.centre, self.sigma))

    @property
    def mode(self) -> float:
        """The centre."""
        return self.centre

    def draw(self, u: float) -> float:
        """The quantile `u`."""
        return normal.draw(u, self.centre, self.sigma, self._bounds)

    def logpdf(self, codes: Array) -> Array:
        """Includes 1/sigma and the truncation, so that kernels of different widths compare."""
        z = (codes - self.centre) / self.sigma
        return -0.5 * z * z - self.constant

    def around(self, centre: float) -> "TruncatedNormal":
        """The same width elsewhere, with its own truncation."""
        return TruncatedNormal(centre, self.sigma)


@final
@frozen
class Flat:
    """No belief about a number. Moved to an incumbent, it takes the medium width."""

    @property
    def mode(self) -> float:
        """The middle: every point is a mode, and this one is nobody's edge."""
        return 0.5

    def draw(self, u: float) -> float:
        """The uniform number itself."""
        return u

    def logpdf(self, codes: Array) -> Array:
        """Zero everywhere."""
        return np.zeros(len(codes))

    def around(self, centre: float) -> TruncatedNormal:
        """A normal of medium width."""
        return TruncatedNormal(centre, MEDIUM_SIGMA)


@final
@frozen
class BetaDensity:
    """A beta density with one peak."""

    a: float
    b: float

    @property
    def mode(self) -> float:
        """Where the peak is; the middle of a flat one."""
        spare = self.a + self.b - 2.0
        return (self.a - 1.0) / spare if spare > 0 else 0.5

    def draw(self, u: float) -> float:
        """The quantile `u`."""
        return incomplete_beta.quantile(u, self.a, self.b)

    def logpdf(self, codes: Array) -> Array:
        """Kept finite at the bounds, where a beta density may vanish."""
        x = np.clip(codes, 1e-12, 1.0 - 1e-12)
        log_beta = math.lgamma(self.a) + math.lgamma(self.b) - math.lgamma(self.a + self.b)
        return (self.a - 1.0) * np.log(x) + (self.b - 1.0) * np.log1p(-x) - log_beta

    def around(self, centre: float) -> Density:
        """The beta of equal concentration whose mode is the centre."""
        spare = self.a + self.b - 2.0
        if spare <= 0:
            return Flat().around(centre)
        return BetaDensity(1.0 + centre * spare, 1.0 + (1.0 - centre) * spare)


@final
@frozen
class Steps:
    """A density that is constant between edges: a histogram."""

    edges: tuple[float, ...]
    heights: tuple[float, ...]

    @property
    def mode(self) -> float:
        """The middle of the highest step."""
        best = self.heights.index(max(self.heights))
        return 0.5 * (self.edges[best] + self.edges[best + 1])

    def draw(self, u: float) -> float:
        """The quantile `u`."""
        edges = np.asarray(self.edges)
        total = np.concatenate(([0.0], np.cumsum(np.diff(edges) * self.heights)))
        return min(max(float(np.interp(u * total[-1], total, edges)), 0.0), 1.0)

    def logpdf(self, codes: Array) -> Array:
        """Minus infinity on a step of height zero."""
        step = np.clip(
            np.searchsorted(self.edges, codes, side="right") - 1, 0, len(self.heights) - 1
        )
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.heights)[step], dtype=np.float64)

    def around(self, centre: float) -> "Steps":
        """Shifted so that the highest step lies at the centre; the outer steps fill the gap."""
        shift = centre - self.mode
        inner = [
            (edge + shift, i) for i, edge in enumerate(self.edges[1:-1]) if 0 < edge + shift < 1
        ]
        first = inner[0][1] if inner else self._step_at(0.5 - shift)
        heights = (self.heights[first], *(self.heights[i + 1] for _, i in inner))
        return normalised_steps((0.0, *(edge for edge, _ in inner), 1.0), heights)

    def _step_at(self, position: float) -> int:
        return int(np.clip(np.searchsorted(self.edges, position) - 1, 0, len(self.heights) - 1))


def normalised_steps(edges: tuple[float, ...], heights: tuple[float, ...]) -> Steps:
    """Steps scaled to a total mass of one."""
    mass = float(np.dot(np.diff(edges), heights))
    return Steps(edges, tuple(height / mass for height in heights))


@final
@frozen
class Blend:
    """A weighted mixture of densities over one parameter."""

    parts: tuple[Density, ...]
    weights: tuple[float, ...]

    @property
    def mode(self) -> float:
        """The part's mode that the whole mixture finds most likely."""
        modes = np.array([part.mode for part in self.parts])
        return float(modes[int(np.argmax(self.logpdf(modes)))])

    def draw(self, u: float) -> float:
        """Part and draw from the one uniform number."""
        for part, weight in zip(self.parts, self.weights, strict=True):
            if u < weight:
                return part.draw(u / weight)
            u -= weight
        return self.parts[-1].draw(0.5)  # weights that sum to one but for rounding

    def logpdf(self, codes: Array) -> Array:
        """The log of the weighted sum."""
        terms = np.array(
            [math.log(w) + p.logpdf(codes) for p, w in zip(self.parts, self.weights, strict=True)]
        )
        return np.asarray(np.logaddexp.reduce(terms, axis=0), dtype=np.float64)

    def around(self, centre: float) -> "Blend":
        """All parts shifted alike, as far as the unit interval reaches."""
        shift = centre - self.mode
        return Blend(
            tuple(part.around(min(max(part.mode + shift, 0.0), 1.0)) for part in self.parts),
            self.weights,
        )


@final
@frozen
class Choices:
    """Probabilities of the choices of a categorical."""

    probabilities: tuple[float, ...]
    _logs: Array = derived()

    def __post_init__(self) -> None:
        with np.errstate(divide="ignore"):
            settle(self, _logs=np.log(self.probabilities))

    @property
    def mode(self) -> float:
        """The index of the most likely choice, the first of equals."""
        return float(self.probabilities.index(max(self.probabilities)))

    def draw(self, u: float) -> float:
        """The index whose share of [0, 1) holds the uniform number."""
        for index, probability in enumerate(self.probabilities):
            if u < probability:
                return float(index)
            u -= probability
        return self.mode  # probabilities that sum to one but for rounding

    def logpdf(self, codes: Array) -> Array:
        """Minus infinity for a choice of weight zero."""
        return self._logs[codes.astype(np.intp)]

    def around(self, centre: float) -> "Choices":
        """The largest weight moved to the centre; with no belief, the medium weight."""
        index, size = int(centre), len(self.probabilities)
        if min(self.probabilities) == max(self.probabilities):
            return favouring(index, size, MEDIUM_WEIGHT)
        moved, top = list(self.probabilities), int(self.mode)
        moved[index], moved[top] = moved[top], moved[index]
        return Choices(tuple(moved))


def favouring(index: int, size: int, weight: float) -> Choices:
    """Probabilities that give one choice `weight` times the chance of each other."""
    total = size - 1 + weight
    return Choices(tuple((weight if i == index else 1.0) / total for i in range(size)))
