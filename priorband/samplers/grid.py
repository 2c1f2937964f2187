"""Grid search: all combinations of a few values per parameter, in random order."""

import math
from itertools import product
from typing import Any, final

from priorband.cache import CacheKey
from priorband.errors import ExhaustedError, MethodError
from priorband.numeric import whole
from priorband.samplers.base import Draw
from priorband.space.base import Parameter
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space
from priorband.state import State
from priorband.streams import Generator
from priorband.values import frozen

Axes = list[list[Any]]

_TRIES = 64


@final
@frozen
class Grid:
    """Grid search: a random point of the grid that was not tried yet. Its origin is "grid".

    The grid has all choices of a categorical or ordinal. For a number it has evenly spaced values
    over the (log) range, including both bounds; values of an integer are truncated to whole
    numbers, without duplicates.

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
        axes = self._axes(state)
        for _ in range(_TRIES):
            values = [
                axis[int(u * len(axis))]
                for axis, u in zip(axes, rng.random(len(axes)), strict=True)
            ]
            config = _config(state.space, values)
            if not state.history.seen(config):
                return Draw(config, "grid")
        return Draw(self._untried(state, axes, float(rng.random())), "grid")

    def _axes(self, state: State) -> Axes:
        return state.history.cached(_AXES, self._axes_of, state.space)

    def _axes_of(self, axes: "dict[tuple[Grid, Space], Axes]", space: Space) -> Axes:
        if (self, space) not in axes:
            axes[self, space] = [axis(p, self.points) for p in space.searched.values()]
        return axes[self, space]

    def _untried(self, state: State, axes: Axes, u: float) -> Config:
        """Choose from a list of all untried points. It is short when random tries have failed."""
        points = (_config(state.space, values) for values in product(*axes))
        untried = [config for config in points if not state.history.seen(config)]
        if not untried:
            raise ExhaustedError(
                f"All {math.prod(map(len, axes))} configurations of the grid have been tried. "
                "Stop here, or use more `points`."
            )
        return untried[int(u * len(untried))]


_AXES: CacheKey[dict[tuple[Grid, Space], Axes]] = CacheKey(dict)


def _config(space: Space, values: list[Any] | tuple[Any, ...]) -> Config:
    return space.complete(dict(zip(space.names, values, strict=True)))


def axis(parameter: Parameter, points: int) -> list[Any]:
    """Return a parameter's values in the grid.

    >>> from priorband import Float, Integer
    >>> axis(Float(0, 1), 3), axis(Integer(1, 5), 10), axis(Integer(1, 100, log=True), 4)
    ([0.0, 0.5, 1.0], [1, 2, 3, 4, 5], [1, 4, 21, 100])
    """
    if not isinstance(parameter, Float | Integer):
        return list(parameter.choices)
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


def _truncated(number: float) -> int:
    """Truncate a number, but treat one very close to a whole number as that number."""
    nearest = round(number)
    return nearest if math.isclose(number, nearest, rel_tol=1e-9) else math.trunc(number)
