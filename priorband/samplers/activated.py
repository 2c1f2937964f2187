"""Changes to a configuration of a space in which parameters have conditions.

Columns are visited parents first, because a parent's new value decides which children are active.
"""

from collections.abc import Callable, Sequence
from typing import final

import numpy as np

from priorband.space.activation import MARK, Activation
from priorband.space.densities import Array
from priorband.space.prior import Independent
from priorband.state import State
from priorband.streams import Generator

DrawColumn = Callable[[int, float], float]
"""Turns a column and a uniform number into a code."""


def changes(
    activation: Activation, start: Sequence[float], new_code: Callable[[int], float | None]
) -> dict[int, float]:
    """Return the new codes of a row, by column. What becomes inactive has none.

    Args:
        activation: Which columns are active.
        start: The codes to start from, marked where inactive.
        new_code: A function that is called for each active column, parents first. It returns the
            new code, or None to keep the one that the row has.
    """
    codes, found = list(start), {}
    for column in activation.order:
        if not activation.is_active(column, codes):
            codes[column] = MARK
        elif (code := new_code(column)) is not None:
            codes[column] = found[column] = code
    return found


def prior_draws(state: State, rng: Generator) -> DrawColumn:
    """Return how to draw a parameter that becomes active: from its own density in the prior.

    A prior of another class has no densities of single parameters. A parameter then gets the value
    of a sample of that prior, or a uniform one if it is inactive in the sample.
    """
    if isinstance(state.prior, Independent):
        return state.prior.draw
    return _FromSample(state, rng)


@final
class _FromSample:
    """Draws from one sample of a prior, which is not made before it is needed."""

    __slots__ = ("_codes", "_rng", "_state")

    def __init__(self, state: State, rng: Generator) -> None:
        self._state, self._rng = state, rng
        self._codes: list[float] | None = None

    def __call__(self, column: int, u: float) -> float:
        if self._codes is None:
            self._codes = marked(self._state.prior.sample(self._rng), self._state)
        code, size = self._codes[column], self._state.space.sizes[column]
        if code == code:
            return code
        return u if size is None else float(int(u * size))


def marked(row: Array, state: State) -> list[float]:
    """Return the codes of a row, marked where inactive.

    A prior of the user's own may leave numbers in inactive entries.
    """
    codes: list[float] = np.array(row, dtype=np.float64).tolist()
    return state.space.activation.mark(codes) if state.space.activation else codes
