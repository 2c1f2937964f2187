"""The prior: what you expect of good configurations, as a density over the space."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from priorband.errors import SpaceError, suggestion
from priorband.space.base import Parameter
from priorband.space.beliefs import Belief, Mixture, Uniform, as_belief, stated_values
from priorband.space.choices import Constant
from priorband.space.config import Config
from priorband.space.densities import (
    Array,
    BetaDensity,
    Blend,
    Choices,
    Density,
    Flat,
    Steps,
    TruncatedNormal,
)
from priorband.space.space import Space
from priorband.streams import Generator

_FEW = 2  # rows: up to here, plain Python is faster than numpy


class Prior(Protocol):
    """The protocol of a density over the space. Without any belief it is flat, never missing.

    `prior` and `from_samples` return one. To use a prior of your own, such as one in which
    parameters depend on each other, write a class with these members and give an instance of it
    to a study as `prior`.

    Example:
        >>> from priorband import Config, Float, Space, Study
        >>> class Diagonal:
        ...     mode = Config(x=0.5, y=0.5)
        ...     def sample(self, rng):
        ...         return np.full(2, rng.random())
        ...     def logpdf(self, rows):
        ...         return -50.0 * (rows[:, 0] - rows[:, 1]) ** 2
        ...     def around(self, config):
        ...         return self
        >>> space = Space({"x": Float(0, 1), "y": Float(0, 1)})
        >>> Study(space, method="random+prior", prior=Diagonal()).ask().config
        {'x': 0.5, 'y': 0.5}
    """

    @property
    def mode(self) -> Config:
        """The configuration that you expect to be best."""

    def sample(self, rng: Generator) -> Array:
        """Draw one encoded configuration, with no other randomness than `rng`."""

    def logpdf(self, rows: Array) -> Array:
        """Return the log density of each encoded configuration, a row of `rows`."""

    def around(self, config: Mapping[str, Any]) -> "Prior":
        """Return the same density moved to another configuration, such as the incumbent."""


def is_flat(belief: Prior) -> bool:
    """Whether a prior says nothing: all its densities are uniform. One of your own never is.

    >>> from priorband import Float, Space
    >>> is_flat(Space({"x": Float(0, 1)}).prior), is_flat(Space({"x": Float(0, 1, prior=0)}).prior)
    (True, False)
    """
    return isinstance(belief, Independent) and all(map(says_nothing, belief.densities))


_EVEN = BetaDensity(1.0, 1.0)


def same_prior(one: Prior, other: Prior) -> bool:
    """Whether two priors are equal, or the same object: those of a user's own may not compare.

    >>> from priorband import Float, Space
    >>> space = Space({"x": Float(0, 1, prior=0.5)})
    >>> same_prior(space.prior, prior(space, {"x": 0.5})), same_prior(space.prior, prior(space, {}))
    (True, False)
    """
    both = isinstance(one, Independent) and isinstance(other, Independent)
    return one is other or (both and one == other)


def says_nothing(density: Density) -> bool:
    """Whether a density is uniform."""
    if isinstance(density, Choices):
        return min(density.probabilities) == max(density.probabilities)
    if isinstance(density, Blend):
        return all(map(says_nothing, density.parts))
    if isinstance(density, Steps):
        return min(density.heights) == max(density.heights)
    return isinstance(density, Flat) or (isinstance(density, BetaDensity) and density == _EVEN)


@final
class Independent:
    """A prior in which parameters are independent: a product of one density per parameter.

    Args:
        space: The space.
        densities: A density for each searched parameter, in the space's order.
        mode: The configuration that you expect to be best.

    Example:
        >>> from priorband import Float, Space
        >>> space = Space({"x": Float(0, 1, prior=0.3)})
        >>> space.prior.mode, space.prior.around({"x": 0.8}).mode
        ({'x': 0.3}, {'x': 0.8})
    """

    __slots__ = ("_draws", "_normals", "_others", "densities", "mode", "space")

    def __init__(self, space: Space, densities: Iterable[Density], mode: Mapping[str, Any]) -> None:
        self.space = space
        self.densities = tuple(densities)
        self.mode = space.check(mode)
        self._draws = [density.draw for density in self.densities]
        self._normals = _Normals(self.densities)
        self._others = [
            (column, density)
            for column, density in enumerate(self.densities)
            if not isinstance(density, TruncatedNormal)
        ]

    def __repr__(self) -> str:
        parts = (
            f"{name}={density!r}"
            for name, density in zip(self.space.names, self.densities, strict=True)
        )
        return f"Independent({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Independent):
            return NotImplemented
        return (self.densities, self.mode) == (other.densities, other.mode)

    def __hash__(self) -> int:
        return hash(self.densities)

    def sample(self, rng: Generator) -> Array:
        """Draw one encoded configuration, each parameter from its own density."""
        uniform = rng.random(len(self._draws)).tolist()
        codes = [draw(u) for draw, u in zip(self._draws, uniform, strict=True)]
        activation = self.space.activation
        return np.array(activation.mark(codes) if activation else codes)

    def draw(self, column: int, u: float) -> float:
        """Turn a uniform number in [0, 1) into a draw of one parameter."""
        return self._draws[column](u)

    def logpdf(self, rows: Array) -> Array:
        """Return the sum of the active parameters' log densities, for each row.

        Entries that are marked as inactive with NaN add nothing.
        """
        if self.space.activation:
            return self._marked_logpdf(rows)
        total = self._normals.logpdf(rows)
        for column, density in self._others:
            total += density.logpdf(rows[:, column])
        return total

    def _marked_logpdf(self, rows: Array) -> Array:
        if len(rows) <= _FEW:
            return np.array([self._marked_row_logpdf(row) for row in rows.tolist()])
        active = ~np.isnan(rows)
        total = self._normals.marked_logpdf(rows, active)
        for column, density in self._others:
            here = active[:, column]
            if here.all():
                total += density.logpdf(rows[:, column])
            elif here.any():
                total[here] += density.logpdf(rows[here, column])
        return total

    def _marked_row_logpdf(self, row: list[float]) -> float:
        total = self._normals.marked_row_logpdf(row)
        for column, density in self._others:
            code = row[column]
            if code == code and type(density) is not Flat:
                total += float(density.logpdf(np.array((code,)))[0])
        return total

    def around(self, config: Mapping[str, Any]) -> "Independent":
        """Return a prior with each density moved to the configuration's value.

        A parameter that is inactive in the configuration keeps its density.
        """
        [row] = self.space.encode([config]).tolist()
        moved = (
            density.around(code) if code == code else density
            for density, code in zip(self.densities, row, strict=True)
        )
        return Independent(self.space, moved, config)


@final
class _Normals:
    """The truncated normals among a prior's densities, evaluated together.

    One or two rows are evaluated in plain Python, which is faster for so few. It adds the same
    numbers in the same order, so the results are equal to the last bit.
    """

    __slots__ = ("_terms", "centres", "columns", "constant", "constants", "kernels", "sigmas")

    def __init__(self, densities: tuple[Density, ...]) -> None:
        normals = [(i, d) for i, d in enumerate(densities) if isinstance(d, TruncatedNormal)]
        self.kernels = [(i, d.centre, d.sigma) for i, d in normals]
        self.columns = np.array([i for i, _ in normals], dtype=np.intp)
        self.centres = np.array([d.centre for _, d in normals])
        self.sigmas = np.array([d.sigma for _, d in normals])
        self.constants = np.array([d.constant for _, d in normals])
        self._terms = [(k, d.constant) for k, (_, d) in zip(self.kernels, normals, strict=True)]
        self.constant = math.fsum(d.constant for _, d in normals)

    def logpdf(self, rows: Array) -> Array:
        if len(rows) <= _FEW or not self.kernels:
            return np.array([self._row_logpdf(row) for row in rows.tolist()])
        z = (rows[:, self.columns] - self.centres) / self.sigmas
        squares = np.cumsum(z * z, axis=1)[:, -1]
        return np.asarray(-0.5 * squares - self.constant, dtype=np.float64)

    def marked_logpdf(self, rows: Array, active: NDArray[np.bool_]) -> Array:
        """The same for rows in which only some entries are active."""
        z = (rows[:, self.columns] - self.centres) / self.sigmas
        terms = np.where(active[:, self.columns], -0.5 * z * z - self.constants, 0.0)
        return np.asarray(terms.sum(axis=1), dtype=np.float64)

    def marked_row_logpdf(self, row: list[float]) -> float:
        """The same for one row."""
        total = 0.0
        for (column, centre, sigma), constant in self._terms:
            code = row[column]
            if code == code:
                z = (code - centre) / sigma
                total -= 0.5 * z * z + constant
        return total

    def _row_logpdf(self, row: list[float]) -> float:
        squares = 0.0
        for column, centre, sigma in self.kernels:
            z = (row[column] - centre) / sigma
            squares += z * z
        return -0.5 * squares - self.constant


def prior(space: Space, beliefs: Mapping[str, Any], confidence: str = "medium") -> Independent:
    """Make a prior from beliefs by parameter name.

    The parameters' own priors are ignored.

    Args:
        space: The space.
        beliefs: For each parameter a value that you expect to be best, a dict of weights by
            choice, or a belief such as `Normal(0.2, sigma=0.1)`. Parameters that are left out get
            a flat density.
        confidence: How sure you are of plain values: "low", "medium" or "high".

    Returns:
        A prior for the argument `prior` of a study.

    Raises:
        SpaceError: If a name is unknown, or a belief does not fit its parameter.

    Example:
        >>> from priorband import Categorical, Float, Space
        >>> space = Space({"lr": Float(1e-4, 1e-1, log=True), "act": Categorical(["relu", "gelu"])})
        >>> prior(space, {"lr": 1e-3}, confidence="high").mode
        {'lr': 0.001, 'act': 'relu'}
    """
    _check_beliefs(space, beliefs, confidence)
    densities, mode = [], {}
    for name, parameter in space.searched.items():
        belief = as_belief(beliefs.get(name), confidence)
        try:
            density = belief.on(parameter)
        except SpaceError as error:
            raise SpaceError(f"Parameter `{name}`: {error}") from None
        densities.append(density)
        mode[name] = _mode(parameter, belief, density)
    return Independent(space, densities, space.complete(mode))


def _check_beliefs(space: object, beliefs: object, confidence: object) -> None:
    if not isinstance(space, Space):
        raise SpaceError(f"`space` must be a Space, got {space!r}.")
    if not isinstance(confidence, str):
        raise SpaceError(
            f"The `confidence` of a whole prior must be a word, got {confidence!r}: a number is a "
            "width for some parameters and a weight for others. "
            "Use Normal or Weights for single parameters."
        )
    if not isinstance(beliefs, Mapping):
        raise SpaceError(f"`beliefs` must be a dict of beliefs by name, got {beliefs!r}.")
    for name in beliefs:
        if isinstance(space.parameters.get(name), Constant):
            raise SpaceError(f"`{name}` is a constant and takes no prior. Drop it from the prior.")
        if name not in space.parameters:
            raise SpaceError(
                f"`prior` names an unknown parameter `{name}`. {suggestion(name, space.names)}"
            )


def _mode(parameter: Parameter, belief: Belief, density: Density) -> Any:
    """The most likely value: exactly the one that was stated, which decoding might round."""
    for value in stated_values(belief):
        if not isinstance(belief, Mixture) or parameter.encode(value) == density.mode:
            return parameter.check(value)
    return parameter.decode(density.mode)


def from_samples(space: Space, configs: Iterable[Mapping[str, Any]]) -> Independent:
    """Estimate a prior from good configurations, such as the best ones of earlier studies.

    Each parameter gets its own density. For a number it is a kernel density estimate: a truncated
    normal around each value, as wide as the normal reference rule says, but at least 0.05 of the
    range. For a categorical the weight of a choice is its count plus one. A parameter with
    conditions is estimated from the configurations in which it is active; without any, it is flat.

    Args:
        space: The space.
        configs: The good configurations, at least one.

    Returns:
        A prior for the argument `prior` of a study.

    Raises:
        SpaceError: If there are no configurations.
        ConfigError: If a configuration is not in the space.

    Example:
        >>> from priorband import Float, Space
        >>> space = Space({"x": Float(0, 1)})
        >>> round(from_samples(space, [{"x": 0.2}, {"x": 0.25}, {"x": 0.9}]).mode["x"], 2)
        0.25
    """
    rows = space.encode(list(configs))
    if not len(rows):
        raise SpaceError("`from_samples` needs at least one configuration, got none.")
    densities = [_estimate(rows[:, i], p) for i, p in enumerate(space.searched.values())]
    mode = {
        name: p.decode(d.mode)
        for (name, p), d in zip(space.searched.items(), densities, strict=True)
    }
    return Independent(space, densities, space.complete(mode))


def _estimate(codes: Array, parameter: Parameter) -> Density:
    codes = codes[~np.isnan(codes)]  # the configurations in which the parameter is active
    if not len(codes):
        return Uniform().on(parameter)
    if parameter.size is not None:
        counts = 1.0 + np.bincount(codes.astype(np.intp), minlength=parameter.size)
        return Choices(tuple((counts / counts.sum()).tolist()))
    width = max(1.06 * float(np.std(codes)) * len(codes) ** -0.2, 0.05)
    parts = tuple(TruncatedNormal(code, width) for code in codes.tolist())
    return Blend(parts, (1.0 / len(parts),) * len(parts))
