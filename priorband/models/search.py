"""Where a function of mixed rows is highest: good candidates, then climbing from the best of them.

Numbers are climbed by L-BFGS-B with the function's own gradient, choices by trying each other one.
Every row that is compared was settled first, onto a configuration that exists.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtri

from priorband.models.kernels import Array
from priorband.streams import Generator

Sizes = tuple[int | None, ...]
Settle = Callable[[Array], Array]

_HOPELESS = -1e10  # stands for minus infinity where an optimiser needs a number
_WIDTHS = (0.2, 0.05, 0.01)


class Score(Protocol):
    """A function of rows to be maximised."""

    def __call__(self, rows: Array) -> Array:
        """The value at each row."""

    def slope(self, row: Array) -> tuple[float, Array]:
        """The value at a row, and its gradient by the row's numbers."""


def mutated(rows: Array, sizes: Sizes, copies: int, rng: Generator) -> Array:
    """Copies of rows, some of their columns moved a little, or to another choice; at least one."""
    made = np.repeat(rows, copies, axis=0)
    count, columns = made.shape
    random = rng.random((3, count, columns))
    width = np.array(_WIDTHS)[np.floor(rng.random(count) * len(_WIDTHS)).astype(int)]
    chance = np.where(rng.random(count) < 0.5, 1.0 / columns, 0.5)
    moved = random[0] < chance[:, None]
    moved[np.arange(count), random[0].argmin(axis=1)] = True
    for column, size in enumerate(sizes):
        if size is None:
            shift = ndtri(np.clip(random[1][:, column], 1e-12, 1 - 1e-12)) * width
            fresh = np.clip(made[:, column] + shift, 0.0, 1.0)
        else:
            fresh = np.floor(random[1][:, column] * size)
        made[:, column] = np.where(moved[:, column], fresh, made[:, column])
    return made


def ranked(
    score: Score,
    groups: Sequence[Array],
    sizes: Sizes,
    settle: Settle,
    rng: Generator,
    starts: int,
) -> Array:
    """Rows with the highest scores that were found, best first, each once.

    Climbs from the best few of each group of candidates, so that one hill does not take all.
    """
    settled = [settle(group) for group in groups if len(group)]
    values = [score(group) for group in settled]
    climbed = [
        _climbed(score, group[place], sizes)
        for group, value in zip(settled, values, strict=True)
        for place in np.argsort(-value, kind="stable")[:starts]
    ]
    tops = settle(np.array(climbed))
    around = [tops, *(_neighbours(row, sizes) for row in tops)]
    tops_values = score(tops)
    best = tops[tops_values.argmax()]
    around.append(settle(mutated(best[None], sizes, 64, rng)))
    near = np.concatenate(around)
    near_values = np.concatenate((tops_values, score(near[len(tops) :])))
    summit = near[near_values.argmax()]
    again = settle(_climbed(score, summit, sizes)[None])
    rows = np.concatenate((again, near, *settled))
    found = np.concatenate((score(again), near_values, *values))
    _, firsts = np.unique(rows, axis=0, return_index=True)
    order = sorted(firsts.tolist(), key=lambda place: (-found[place], place))
    return rows[order]


def _neighbours(row: Array, sizes: Sizes) -> Array:
    """The rows that differ from one in a single choice."""
    made = []
    for column, size in enumerate(sizes):
        for choice in range(size or 0):
            if choice != row[column]:
                other = row.copy()
                other[column] = choice
                made.append(other)
    return np.array(made).reshape(len(made), len(row))


def _climbed(score: Score, row: Array, sizes: Sizes, steps: int = 20) -> Array:
    """A row whose numbers were moved uphill."""
    numbers = [i for i, size in enumerate(sizes) if size is None]
    if not numbers:
        return row

    def loss(position: Array) -> tuple[float, Array]:
        moved = row.copy()
        moved[numbers] = position
        value, gradient = score.slope(moved)
        if not value > _HOPELESS:
            return -_HOPELESS, np.zeros_like(gradient)
        return -value, -gradient

    found = minimize(
        *(loss, row[numbers]),
        jac=True,
        bounds=[(0.0, 1.0)] * len(numbers),
        method="L-BFGS-B",
        options={"maxiter": steps, "ftol": 1e-7},
    )
    climbed = row.copy()
    climbed[numbers] = np.clip(found.x, 0.0, 1.0)
    return climbed
