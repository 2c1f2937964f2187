"""Densities over one encoded parameter: over [0, 1], or over the choices of a categorical.

Each has a mode and a log density, turns a uniform number into a draw, and can be moved to another
centre. Moving the prior to the incumbent gives the incumbent's density.
"""

import math
from bisect import bisect_right
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from priorband.space import incomplete_beta, normal
from priorband.values import derived, frozen, settle

Array = NDArray[np.float64]

MEDIUM_SIGMA = 0.25
MEDIUM_WEIGHT = 4.0
WIDE = 64
"""A categorical with more choices is drawn by bisection instead of one by one."""


class Density(Protocol):
    """The protocol of a density over the codes of one parameter: positions in [0, 1] or indices."""

    @property
    def mode(self) -> float:
        """The most likely position or index."""

    def draw(self, u: float) -> float:
        """Turn a uniform number in [0, 1) into a draw from the density."""

    def logpdf(self, codes: Array) -> Array:
        """Return the log density at each position or index."""

    def around(self, centre: float) -> "Density":
        """Return the same density moved to another centre."""


@final
@frozen
class TruncatedNormal:
    """A normal truncated to [0, 1], with its centre inside."""

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
        """Return the quantile `u`."""
        return normal.draw(u, self.centre, self.sigma, self._bounds)

    def logpdf(self, codes: Array) -> Array:
        """Return the normalised log density, so that normals of different widths compare."""
        z = (codes - self.centre) / self.sigma
        return -0.5 * z * z - self.constant

    def around(self, centre: float) -> "TruncatedNormal":
        """Return a normal of the same width around another centre, truncated there."""
        return TruncatedNormal(centre, self.sigma)


@final
@frozen
class Flat:
    """The uniform density over [0, 1]. Moved to a centre, it becomes a normal of medium width."""

    @property
    def mode(self) -> float:
        """The middle: all positions are equally likely, and this one is not at an edge."""
        return 0.5

    def draw(self, u: float) -> float:
        """Return the uniform number itself."""
        return u

    def logpdf(self, codes: Array) -> Array:
        """Return zeros."""
        return np.zeros(len(codes))

    def around(self, centre: float) -> TruncatedNormal:
        """Return a normal of medium width around the centre."""
        return TruncatedNormal(centre, MEDIUM_SIGMA)


@final
@frozen
class BetaDensity:
    """A beta density with one peak."""

    a: float
    b: float

    @property
    def mode(self) -> float:
        """The position of the peak; the middle if the density is flat."""
        concentration = self.a + self.b - 2.0
        return (self.a - 1.0) / concentration if concentration > 0 else 0.5

    def draw(self, u: float) -> float:
        """Return the quantile `u`."""
        return incomplete_beta.quantile(u, self.a, self.b)

    def logpdf(self, codes: Array) -> Array:
        """Return the log density, kept finite at the bounds, where the density may be 0."""
        x = np.clip(codes, 1e-12, 1.0 - 1e-12)
        log_beta = math.lgamma(self.a) + math.lgamma(self.b) - math.lgamma(self.a + self.b)
        return (self.a - 1.0) * np.log(x) + (self.b - 1.0) * np.log1p(-x) - log_beta

    def around(self, centre: float) -> Density:
        """Return the beta density of the same concentration (a + b) with its mode at the centre."""
        concentration = self.a + self.b - 2.0
        if concentration <= 0:
            return Flat().around(centre)
        return BetaDensity(1.0 + centre * concentration, 1.0 + (1.0 - centre) * concentration)


@final
@frozen
class Steps:
    """A histogram: a density that is constant between edges."""

    edges: tuple[float, ...]
    heights: tuple[float, ...]

    @property
    def mode(self) -> float:
        """The middle of the highest step."""
        best = self.heights.index(max(self.heights))
        return 0.5 * (self.edges[best] + self.edges[best + 1])

    def draw(self, u: float) -> float:
        """Return the quantile `u`."""
        edges = np.asarray(self.edges)
        total = np.concatenate(([0.0], np.cumsum(np.diff(edges) * self.heights)))
        return min(max(float(np.interp(u * total[-1], total, edges)), 0.0), 1.0)

    def logpdf(self, codes: Array) -> Array:
        """Return the log density; minus infinity on a step of height 0."""
        step = np.clip(
            np.searchsorted(self.edges, codes, side="right") - 1, 0, len(self.heights) - 1
        )
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.heights)[step], dtype=np.float64)

    def around(self, centre: float) -> "Steps":
        """Return the histogram shifted so that the middle of its highest step is at the centre.

        Steps are cut at 0 and 1, and the outermost one is extended to fill the gap.
        """
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
    """Return steps scaled so that their density integrates to 1."""
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
        """The most likely position under the mixture, out of the modes of its parts."""
        modes = np.array([part.mode for part in self.parts])
        return float(modes[int(np.argmax(self.logpdf(modes)))])

    def draw(self, u: float) -> float:
        """Choose a part and draw from it, both with the one uniform number."""
        for part, weight in zip(self.parts, self.weights, strict=True):
            if u < weight:
                return part.draw(u / weight)
            u -= weight
        return self.parts[-1].draw(0.5)  # rounding: the weights sum to slightly less than 1

    def logpdf(self, codes: Array) -> Array:
        """Return the log of the weighted sum of densities."""
        terms = np.array(
            [math.log(w) + p.logpdf(codes) for p, w in zip(self.parts, self.weights, strict=True)]
        )
        return np.asarray(np.logaddexp.reduce(terms, axis=0), dtype=np.float64)

    def around(self, centre: float) -> "Blend":
        """Return the mixture with all parts shifted by the same distance, kept within [0, 1]."""
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
    _table: "_WideTable | None" = derived()

    def __post_init__(self) -> None:
        with np.errstate(divide="ignore"):
            settle(self, _logs=np.log(self.probabilities), _table=None)

    @property
    def mode(self) -> float:
        """The index of the most likely choice; the first if several are equally likely."""
        if len(self.probabilities) > WIDE:
            return self._wide().mode
        return float(self.probabilities.index(max(self.probabilities)))

    def draw(self, u: float) -> float:
        """Return the index whose share of [0, 1) contains the uniform number."""
        if len(self.probabilities) > WIDE:
            return self._wide().draw(u)
        for index, probability in enumerate(self.probabilities):
            if u < probability:
                return float(index)
            u -= probability
        return self.mode  # rounding: the probabilities sum to slightly less than 1

    def logpdf(self, codes: Array) -> Array:
        """Return the log probability; minus infinity for a choice of weight 0."""
        return self._logs[codes.astype(np.intp)]

    def around(self, centre: float) -> "Choices | MovedChoices":
        """Return the probabilities with the largest one moved to the choice `centre`.

        If all are equal, the choice gets the medium weight.
        """
        index, size = int(centre), len(self.probabilities)
        if size > WIDE:
            return MovedChoices(self._wide().peaked(self), index)
        if min(self.probabilities) == max(self.probabilities):
            return preferred_choice(index, size, MEDIUM_WEIGHT)
        moved, top = list(self.probabilities), int(self.mode)
        moved[index], moved[top] = moved[top], moved[index]
        return Choices(tuple(moved))

    def _wide(self) -> "_WideTable":
        if self._table is None:
            settle(self, _table=_WideTable(self.probabilities))
        assert self._table is not None, "made when it is first needed"
        return self._table


def preferred_choice(index: int, size: int, weight: float) -> Choices:
    """Return probabilities in which one choice is `weight` times as likely as each other."""
    total = size - 1 + weight
    return Choices(tuple((weight if i == index else 1.0) / total for i in range(size)))


@final
class _WideTable:
    """What makes draws from many choices cheap, however many there are."""

    __slots__ = ("_peaked", "_sums", "mode")

    def __init__(self, probabilities: tuple[float, ...]) -> None:
        self.mode = float(probabilities.index(max(probabilities)))
        self._sums: list[float] = np.cumsum(probabilities).tolist()
        flat = min(probabilities) == max(probabilities)
        self._peaked = preferred_choice(0, len(probabilities), MEDIUM_WEIGHT) if flat else None

    def draw(self, u: float) -> float:
        """The index whose share of [0, 1) contains the uniform number."""
        index = bisect_right(self._sums, u)
        return float(index) if index < len(self._sums) else self.mode  # rounding

    def peaked(self, choices: Choices) -> Choices:
        """The choices themselves, or with one preferred if all are equally likely."""
        return self._peaked or choices


@final
@frozen
class MovedChoices:
    """Probabilities of many choices, with the largest one exchanged for that of another choice.

    It shares the probabilities that it was made of, so it costs the same for any number of choices.
    """

    base: Choices
    index: int

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MovedChoices | Choices):
            return NotImplemented
        return self.probabilities == other.probabilities

    def __hash__(self) -> int:
        return hash(Choices(self.probabilities))

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The probability of each choice, written out."""
        moved, top = list(self.base.probabilities), int(self.base.mode)
        moved[self.index], moved[top] = moved[top], moved[self.index]
        return tuple(moved)

    @property
    def mode(self) -> float:
        """The index of the choice that got the largest probability."""
        return float(self.index)

    def draw(self, u: float) -> float:
        """Draw from the shared probabilities, and exchange the two choices."""
        index = self.base.draw(u)
        if index == self.base.mode:
            return float(self.index)
        return self.base.mode if index == self.index else index

    def logpdf(self, codes: Array) -> Array:
        """Return the log probability; minus infinity for a choice of weight 0."""
        top = self.base.mode
        others = np.where(codes == top, self.index, codes)
        return self.base.logpdf(np.where(codes == self.index, top, others))

    def around(self, centre: float) -> "MovedChoices":
        """Return the probabilities with the largest one moved to another choice."""
        return MovedChoices(self.base, int(centre))
