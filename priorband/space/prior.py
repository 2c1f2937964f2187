"""The prior: what the expert believes of the whole space, parameter by parameter."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, final

import numpy as np

from priorband.errors import SpaceError, suggestion
from priorband.space.base import Parameter
from priorband.space.beliefs import Belief, Mixture, belief, stated_values
from priorband.space.choices import Constant
from priorband.space.config import Config
from priorband.space.densities import Array, Blend, Choices, Density, TruncatedNormal
from priorband.space.space import Space
from priorband.streams import Generator


class Prior(Protocol):
    """A density over the space. With no belief at all it is flat, never missing."""

    @property
    def mode(self) -> Config:
        """The configuration believed best."""

    def sample(self, rng: Generator) -> Array:
        """One encoded configuration."""

    def logpdf(self, rows: Array) -> Array:
        """The log density of each encoded configuration."""

    def around(self, config: Mapping[str, Any]) -> "Prior":
        """The same belief moved to another configuration: the incumbent's density."""


@final
class Independent:
    """A product of one density for each parameter.

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
        """One encoded configuration, every parameter from its own density."""
        uniform = rng.random(len(self._draws)).tolist()
        return np.array([draw(u) for draw, u in zip(self._draws, uniform, strict=True)])

    def logpdf(self, rows: Array) -> Array:
        """The sum of the parameters' log densities, for each row."""
        total = self._normals.logpdf(rows)
        for column, density in self._others:
            total += density.logpdf(rows[:, column])
        return total

    def around(self, config: Mapping[str, Any]) -> "Independent":
        """Every density moved to the configuration's value."""
        [row] = self.space.encode([config])
        moved = (
            density.around(float(code)) for density, code in zip(self.densities, row, strict=True)
        )
        return Independent(self.space, moved, config)


@final
class _Normals:
    """The truncated normals among a prior's densities, evaluated as one.

    A row or two are cheaper in plain Python, where the same sums in the same order are the same.
    """

    __slots__ = ("centres", "columns", "constant", "kernels", "sigmas")

    def __init__(self, densities: tuple[Density, ...]) -> None:
        found = [(i, d) for i, d in enumerate(densities) if isinstance(d, TruncatedNormal)]
        self.kernels = [(i, d.centre, d.sigma) for i, d in found]
        self.columns = np.array([i for i, _ in found], dtype=np.intp)
        self.centres = np.array([d.centre for _, d in found])
        self.sigmas = np.array([d.sigma for _, d in found])
        self.constant = math.fsum(d.constant for _, d in found)

    def logpdf(self, rows: Array) -> Array:
        if len(rows) <= 2 or not self.kernels:
            return np.array([self._one(row) for row in rows.tolist()])
        z = (rows[:, self.columns] - self.centres) / self.sigmas
        squares = np.cumsum(z * z, axis=1)[:, -1]
        return np.asarray(-0.5 * squares - self.constant, dtype=np.float64)

    def _one(self, row: list[float]) -> float:
        squares = 0.0
        for column, centre, sigma in self.kernels:
            z = (row[column] - centre) / sigma
            squares += z * z
        return -0.5 * squares - self.constant


def prior(space: Space, beliefs: Mapping[str, Any], confidence: Any = "medium") -> Independent:
    """A prior from beliefs by name: values or distributions; flat where nothing is said.

    >>> from priorband import Categorical, Float, Space
    >>> space = Space({"lr": Float(1e-4, 1e-1, log=True), "act": Categorical(["relu", "gelu"])})
    >>> prior(space, {"lr": 1e-3}, confidence="high").mode
    {'lr': 0.001, 'act': 'relu'}
    """
    _check_beliefs(space, beliefs, confidence)
    densities, mode = [], {}
    for name, parameter in space.searched.items():
        stated = belief(beliefs.get(name), confidence)
        try:
            density = stated.on(parameter)
        except SpaceError as error:
            raise SpaceError(f"Parameter `{name}`: {error}") from None
        densities.append(density)
        mode[name] = _mode(parameter, stated, density)
    return Independent(space, densities, space.complete(mode))


def _check_beliefs(space: Space, beliefs: Mapping[str, Any], confidence: Any) -> None:
    if not isinstance(space, Space):
        raise SpaceError(f"`space` must be a Space, got {space!r}.")
    if not isinstance(confidence, str):
        raise SpaceError(
            f"The confidence of a whole prior must be a word, got {confidence!r}: a number means a "
            "width here and a weight there. Give it parameter by parameter, as Normal or Weights."
        )
    if not isinstance(beliefs, Mapping):
        raise SpaceError(f"A prior is made of beliefs by name, got {beliefs!r}.")
    for name in beliefs:
        if isinstance(space.parameters.get(name), Constant):
            raise SpaceError(f"`{name}` is a constant and takes no prior. Drop it from the prior.")
        if name not in space.parameters:
            raise SpaceError(f"A prior for unknown `{name}`. {suggestion(name, space.names)}")


def _mode(parameter: Parameter, stated: Belief, density: Density) -> Any:
    """The most likely value: the one that was named, where encoding it would round."""
    for value in stated_values(stated):
        if not isinstance(stated, Mixture) or parameter.encode(value) == density.mode:
            return parameter.check(value)
    return parameter.decode(density.mode)


def from_samples(space: Space, configs: Iterable[Mapping[str, Any]]) -> Independent:
    """A prior estimated from configurations that were good before, one density a parameter.

    Numbers get a kernel estimate (a truncated normal on each, with the normal-reference width, at
    least 0.05 of the range), categories their counts plus one.

    >>> from priorband import Float, Space
    >>> space = Space({"x": Float(0, 1)})
    >>> round(from_samples(space, [{"x": 0.2}, {"x": 0.25}, {"x": 0.9}]).mode["x"], 2)
    0.25
    """
    rows = space.encode(list(configs))
    if not len(rows):
        raise SpaceError("`from_samples` needs at least one configuration, got none.")
    densities = [_estimate(rows[:, i], p.size) for i, p in enumerate(space.searched.values())]
    mode = {
        name: p.decode(d.mode)
        for (name, p), d in zip(space.searched.items(), densities, strict=True)
    }
    return Independent(space, densities, space.complete(mode))


def _estimate(codes: Array, size: int | None) -> Density:
    if size is not None:
        counts = 1.0 + np.bincount(codes.astype(np.intp), minlength=size)
        return Choices(tuple((counts / counts.sum()).tolist()))
    width = max(1.06 * float(np.std(codes)) * len(codes) ** -0.2, 0.05)
    parts = tuple(TruncatedNormal(code, width) for code in codes.tolist())
    return Blend(parts, (1.0 / len(parts),) * len(parts))
