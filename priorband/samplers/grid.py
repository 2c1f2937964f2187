"""Grid search: all combinations of a few values per parameter, in random order."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Protocol, final

from priorband.cache import CacheKey
from priorband.errors import ExhaustedError, MethodError
from priorband.numeric import whole
from priorband.samplers.base import Draw
from priorband.samplers.conditional_grid import ConditionalGrid
from priorband.space.base import Parameter
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space
from priorband.space.value_grid import ValueGrid
from priorband.state import State
from priorband.streams import Generator
from priorband.values import frozen

_TRIES = 64


@final
@frozen
class Grid:
    """Grid search: a random point of the grid that was not tried yet. Its origin is "grid".

    The grid has all choices of a categorical or ordinal. For a number it has evenly spaced values
    over the (log) range, including both bounds; values of an integer are truncated to whole
    numbers, without duplicates. A number with a `step` has values of its own grid. In a space with
    conditions, the points are the configurations that can be reached, each once.

    Args:
        points: The number of values for a number, at least 2.

    Raises:
        MethodError: If `points` is not a whole number of at least 2.

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.schedulers import FullFidelity
        >>> method = Optimizer(FullFidelity(), Grid(points=5))
    """

    points: int = 10

    def __post_init__(self) -> None:
        if not whole(self.points) or self.points < 2:
            raise MethodError(
                f"`points` must be a whole number of at least 2, got {self.points!r}."
            )

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Return a new point, or raise `ExhaustedError` if all have been tried."""
        del rung
        grid = self._points(state)
        for _ in range(_TRIES):
            config = grid.config(rng.random(len(state.space)).tolist())
            if not state.history.seen(config):
                return Draw(config, "grid")
        return Draw(_untried(state, grid, float(rng.random())), "grid")

    def _points(self, state: State) -> "Points":
        return state.history.cached(_POINTS, self._points_of, state.space)

    def _points_of(self, known: "dict[tuple[Grid, Space], Points]", space: Space) -> "Points":
        if (self, space) not in known:
            axes = {name: axis(p, self.points) for name, p in space.searched.items()}
            kind = ConditionalGrid if space.conditional else FlatGrid
            known[self, space] = kind(space, axes)
        return known[self, space]


class Points(Protocol):
    """The configurations of a grid."""

    @property
    def size(self) -> int:
        """How many there are."""

    def config(self, numbers: Sequence[float]) -> Config:
        """Turn a uniform number for each column into a configuration, all equally likely."""

    def configs(self) -> Iterator[Config]:
        """Yield each configuration once."""


@final
class FlatGrid:
    """All combinations of values."""

    __slots__ = ("_axes", "_space", "size")

    def __init__(self, space: Space, axes: Mapping[str, list[Any]]) -> None:
        self._space, self._axes = space, list(axes.values())
        self.size = math.prod(map(len, self._axes))

    def config(self, numbers: Sequence[float]) -> Config:
        """Turn a uniform number for each column into a configuration, all equally likely."""
        pairs = zip(self._axes, numbers, strict=True)
        return self._complete([axis[int(u * len(axis))] for axis, u in pairs])

    def configs(self) -> Iterator[Config]:
        """Yield each configuration once."""
        return map(self._complete, product(*self._axes))

    def _complete(self, values: Iterable[Any]) -> Config:
        return self._space.complete(dict(zip(self._space.names, values, strict=True)))


_POINTS: CacheKey[dict[tuple[Grid, Space], Points]] = CacheKey(dict)


def _untried(state: State, grid: Points, u: float) -> Config:
    """Choose from a list of all untried points. It is short when random tries have failed."""
    untried = [config for config in grid.configs() if not state.history.seen(config)]
    if not untried:
        raise ExhaustedError(
            f"All {grid.size} configurations of the grid have been tried. "
            "Stop here, or use more `points`."
        )
    return untried[int(u * len(untried))]


def axis(parameter: Parameter, points: int) -> list[Any]:
    """Return a parameter's values in the grid.

    >>> from priorband import Float, Integer
    >>> axis(Float(0, 1), 3), axis(Integer(1, 5), 10), axis(Integer(1, 100, log=True), 4)
    ([0.0, 0.5, 1.0], [1, 2, 3, 4, 5], [1, 4, 21, 100])
    >>> axis(Float(0, 1, step=0.1), 3), axis(Integer(0, 8, step=4), 10)
    ([0.0, 0.5, 1.0], [0, 4, 8])
    """
    if not isinstance(parameter, Float | Integer):
        return list(parameter.choices)
    if parameter.grid is not None:
        return _on_grid(parameter.grid, points)
    low, high = parameter.low, parameter.high
    steps = [i / (points - 1) for i in range(1, points - 1)]
    if parameter.log:
        start, span = math.log(low), math.log(high) - math.log(low)
        inner = [math.exp(start + span * step) for step in steps]
    else:
        inner = [low + (high - low) * step for step in steps]
    if isinstance(parameter, Integer):
        inner = [_truncated(number) for number in inner]
    return list(dict.fromkeys([low, *(min(max(number, low), high) for number in inner), high]))


def _on_grid(grid: ValueGrid, points: int) -> list[Any]:
    """Evenly spaced values of a grid, including both bounds; all of them if they are few."""
    last = grid.count - 1
    places = [_truncated(last * i / (points - 1)) for i in range(points)]
    return [grid.value(place) for place in dict.fromkeys(places)]


def _truncated(number: float) -> int:
    """Truncate a number, but treat one very close to a whole number as that number."""
    nearest = round(number)
    return nearest if math.isclose(number, nearest, rel_tol=1e-9) else math.trunc(number)
