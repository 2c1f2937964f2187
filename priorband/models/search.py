"""Maximise a function of rows of numbers and choices.

The search starts from the best of given candidates. Numbers are improved with L-BFGS-B and the
function's own gradient, choices by trying all others. Rows are compared only after rounding to
configurations that exist.
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

_LOWEST = -1e10  # replaces minus infinity: the optimiser needs a finite number
_WIDTHS = (0.2, 0.05, 0.01)
_STEPS = 20


class Score(Protocol):
    """The protocol of a function of rows to maximise."""

    def __call__(self, rows: Array) -> Array:
        """Return the value at each row."""

    def slope(self, row: Array) -> tuple[float, Array]:
        """Return the value at a row, and its gradient with respect to the row's numbers."""


def mutated(rows: Array, sizes: Sizes, copies: int, rng: Generator) -> Array:
    """Return copies of rows with at least one column changed.

    Changed numbers move a little; changed choices become another choice.
    """
    mutants = np.repeat(rows, copies, axis=0)
    count, columns = mutants.shape
    random = rng.random((2, count, columns))
    random[0][:, [size == 1 for size in sizes]] = np.inf  # there is no other choice
    width = np.array(_WIDTHS)[np.floor(rng.random(count) * len(_WIDTHS)).astype(int)]
    chance = np.where(rng.random(count) < 0.5, 1.0 / columns, 0.5)
    moved = random[0] <= np.maximum(chance, random[0].min(axis=1))[:, None]
    moved &= np.isfinite(random[0])
    for column, size in enumerate(sizes):
        old, u = mutants[:, column], random[1][:, column]
        if size is None:
            shift = ndtri(np.clip(u, 1e-12, 1 - 1e-12)) * width
            new = np.clip(1.0 - np.abs(1.0 - np.abs(old + shift)), 0.0, 1.0)  # reflect at 0 and 1
        else:
            new = np.floor(u * (size - 1))
            new += new >= old
        mutants[:, column] = np.where(moved[:, column], new, old)
    return mutants


def ranked(
    score: Score,
    groups: Sequence[Array],
    sizes: Sizes,
    settle: Settle,
    rng: Generator,
    reach: float = 1.0,
) -> Array:
    """Search for rows with high scores, and return all rows seen, best first, without duplicates.

    It climbs from the best candidate of each group, and then once more from the best of the
    results and their neighbours. Several groups keep the search from missing all local maxima
    except one.

    Args:
        score: The function to maximise.
        groups: Groups of candidates.
        sizes: For each column the number of its choices, or None for a number.
        settle: A function that rounds rows to configurations that exist.
        rng: The random generator.
        reach: How far a climb may move a number.
    """
    settled = [settle(group) for group in groups if len(group)]
    values = [score(group) for group in settled]
    summits = [
        _climb(score, group[value.argmax()], sizes, reach)
        for group, value in zip(settled, values, strict=True)
    ]
    tops = settle(np.array(summits))
    around = [tops, *(_neighbours(row, sizes) for row in tops)]
    tops_values = score(tops)
    best = tops[tops_values.argmax()]
    around.append(settle(mutated(best[None], sizes, 64, rng)))
    near = np.concatenate(around)
    near_values = np.concatenate((tops_values, score(near[len(tops) :])))
    summit = near[near_values.argmax()]
    again = settle(_climb(score, summit, sizes, reach)[None])
    rows = np.concatenate((again, near, *settled))
    scores = np.concatenate((score(again), near_values, *values))
    _, firsts = np.unique(rows, axis=0, return_index=True)
    order = sorted(firsts.tolist(), key=lambda index: (-scores[index], index))
    return rows[order]


def _neighbours(row: Array, sizes: Sizes) -> Array:
    """Return the rows that differ from this one in a single choice."""
    neighbours = []
    for column, size in enumerate(sizes):
        for choice in range(size or 0):
            if choice != row[column]:
                other = row.copy()
                other[column] = choice
                neighbours.append(other)
    return np.array(neighbours).reshape(len(neighbours), len(row))


def _climb(score: Score, row: Array, sizes: Sizes, reach: float) -> Array:
    """Move the numbers of a row uphill, each by no more than `reach`, and return the new row."""
    numbers = [i for i, size in enumerate(sizes) if size is None]
    if not numbers:
        return row

    def loss(position: Array) -> tuple[float, Array]:
        moved = row.copy()
        moved[numbers] = position
        value, gradient = score.slope(moved)
        if not value > _LOWEST:
            return -_LOWEST, np.zeros_like(gradient)
        return -value, -gradient

    start = row[numbers]
    low, high = np.maximum(start - reach, 0.0), np.minimum(start + reach, 1.0)
    result = minimize(
        *(loss, start),
        jac=True,
        bounds=np.stack((low, high), axis=1),
        method="L-BFGS-B",
        options={"maxiter": _STEPS, "ftol": 1e-7},
    )
    climbed = row.copy()
    climbed[numbers] = result.x
    return climbed
