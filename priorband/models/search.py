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
_STEPS = 20


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
    random = rng.random((2, count, columns))
    random[0][:, [size == 1 for size in sizes]] = np.inf  # there is no other choice
    width = np.array(_WIDTHS)[np.floor(rng.random(count) * len(_WIDTHS)).astype(int)]
    chance = np.where(rng.random(count) < 0.5, 1.0 / columns, 0.5)
    moved = random[0] <= np.maximum(chance, random[0].min(axis=1))[:, None]
    moved &= np.isfinite(random[0])
    for column, size in enumerate(sizes):
        old, u = made[:, column], random[1][:, column]
        if size is None:
            shift = ndtri(np.clip(u, 1e-12, 1 - 1e-12)) * width
            fresh = np.clip(1.0 - np.abs(1.0 - np.abs(old + shift)), 0.0, 1.0)  # mirrored at ends
        else:
            fresh = np.floor(u * (size - 1))
            fresh += fresh >= old
        made[:, column] = np.where(moved[:, column], fresh, old)
    return made


def ranked(
    score: Score,
    groups: Sequence[Array],
    sizes: Sizes,
    settle: Settle,
    rng: Generator,
    reach: float = 1.0,
) -> Array:
    """Rows with the highest scores that were found, best first, each once.

    Climbs from the best of each group of candidates, so that one hill does not take all, and then
    from the best of those and of what lies around; no climb moves a number further than the reach.
    """
    settled = [settle(group) for group in groups if len(group)]
    values = [score(group) for group in settled]
    climbed = [
        _climbed(score, group[value.argmax()], sizes, reach)
        for group, value in zip(settled, values, strict=True)
    ]
    tops = settle(np.array(climbed))
    around = [tops, *(_neighbours(row, sizes) for row in tops)]
    tops_values = score(tops)
    best = tops[tops_values.argmax()]
    around.append(settle(mutated(best[None], sizes, 64, rng)))
    near = np.concatenate(around)
    near_values = np.concatenate((tops_values, score(near[len(tops) :])))
    summit = near[near_values.argmax()]
    again = settle(_climbed(score, summit, sizes, reach)[None])
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


def _climbed(score: Score, row: Array, sizes: Sizes, reach: float) -> Array:
    """A row whose numbers were moved uphill, each by no more than the reach."""
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

    start = row[numbers]
    low, high = np.maximum(start - reach, 0.0), np.minimum(start + reach, 1.0)
    found = minimize(
        *(loss, start),
        jac=True,
        bounds=np.stack((low, high), axis=1),
        method="L-BFGS-B",
        options={"maxiter": _STEPS, "ftol": 1e-7},
    )
    climbed = row.copy()
    climbed[numbers] = found.x
    return climbed
