"""Maximise a function of rows of numbers and choices.

The search starts from the best of given candidates. Numbers are improved with L-BFGS-B and the
function's own gradient, choices by trying all others. Rows are compared only after rounding to
configurations that exist.

Some entries of a row may be inactive, depending on others. Rows of the search have a number there,
too; it is replaced by NaN, the mark, only when a row is evaluated. So a row that changes what is
active has values for what becomes active. These are uniform draws, several for each choice that
activates something. The last climb starts twice: from the best row, and from the best row of all
other branches. A branch is a set of active columns.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtri

from priorband.models.kernels import Array
from priorband.streams import Generator

Sizes = tuple[int | None, ...]
Settle = Callable[[Array], Array]

_LOWEST = -1e10  # replaces minus infinity: the optimiser needs a finite number
_WIDTHS = (0.2, 0.05, 0.01)
_STEPS = 20
_HALVINGS = 20
"""How often the way to the edge of a branch is halved."""
_DRAWS = 64
"""How many rows are drawn in the branches next to a row, at least one in each."""


class Domain(NamedTuple):
    """The rows to search."""

    sizes: Sizes
    """For each column the number of its choices, or None for a number."""
    settle: Settle
    """Rounds rows to configurations that exist."""
    mark: Settle | None = None
    """Puts NaN in place of inactive entries; None if there are none."""

    def marked(self, rows: Array) -> Array:
        """Return the rows with NaN in place of inactive entries."""
        return rows if self.mark is None else self.mark(rows)


class Score(Protocol):
    """The protocol of a function of rows to maximise. Inactive entries of rows are NaN."""

    def __call__(self, rows: Array) -> Array:
        """Return the value at each row."""

    def slope(self, row: Array) -> tuple[float, Array]:
        """Return the value at a row, and its gradient with respect to the row's numbers.

        The gradient by an inactive number is not used.
        """


def filled(rows: Array, sizes: Sizes, rng: Generator) -> Array:
    """Return the rows with uniform draws in place of inactive entries."""
    inactive = np.isnan(rows)
    return np.where(inactive, _drawn(rng.random(rows.shape), sizes), rows)


def _drawn(random: Array, sizes: Sizes) -> Array:
    """Turn rows of uniform numbers into rows of numbers and choices."""
    rows = random.copy()
    for column, size in enumerate(sizes):
        if size is not None:
            rows[:, column] = np.minimum(np.floor(rows[:, column] * size), size - 1)
    return rows


def distinct(rows: Array) -> list[int]:
    """Return the index of the first of each set of equal rows. Inactive entries are equal."""
    _, firsts = np.unique(np.where(np.isnan(rows), -1.0, rows), axis=0, return_index=True)
    return [int(index) for index in firsts]


def mutated(rows: Array, sizes: Sizes, copies: int, rng: Generator) -> Array:
    """Return copies of rows with at least one active column changed.

    Changed numbers move a little; changed choices become another choice. Inactive entries are
    replaced by uniform draws.
    """
    mutants = np.repeat(rows, copies, axis=0)
    count, columns = mutants.shape
    random = rng.random((2, count, columns))
    random[0][:, [size == 1 for size in sizes]] = np.inf  # there is no other choice
    inactive = np.isnan(mutants)
    if inactive.any():
        random[0][inactive] = np.inf
        mutants = np.where(inactive, _drawn(random[1], sizes), mutants)
    width = np.array(_WIDTHS)[np.floor(rng.random(count) * len(_WIDTHS)).astype(int)]
    chance = np.where(rng.random(count) < 0.5, 1.0 / (columns - inactive.sum(axis=1)), 0.5)
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
    domain: Domain,
    rng: Generator,
    reach: float = 1.0,
) -> Array:
    """Search for rows with high scores, and return all rows seen, best first, without duplicates.

    It climbs from the best candidate of each group, and then once more from the best of the
    results and their neighbours. Several groups keep the search from missing all local maxima
    except one. If entries can be inactive, it also climbs from the best row of another branch.

    Args:
        score: The function to maximise.
        groups: Groups of candidates, with a number in each column, active or not.
        domain: The rows to search.
        rng: The random generator.
        reach: How far a climb may move a number.

    Returns:
        The rows, with NaN in place of inactive entries.
    """
    settled = [domain.settle(group) for group in groups if len(group)]
    values = [score(domain.marked(group)) for group in settled]
    summits = [
        _climb(score, group[value.argmax()], domain, reach)
        for group, value in zip(settled, values, strict=True)
    ]
    tops = domain.settle(np.array(summits))
    around = [tops, *(_neighbours(row, domain, rng) for row in tops)]
    tops_values = score(domain.marked(tops))
    best = domain.marked(tops[tops_values.argmax()][None])
    around.append(domain.settle(mutated(best, domain.sizes, 64, rng)))
    near = np.concatenate(around)
    near_values = np.concatenate((tops_values, score(domain.marked(near[len(tops) :]))))
    rows = np.concatenate((near, *settled))
    scores = np.concatenate((near_values, *values))
    starts = [near[near_values.argmax()]]
    if domain.mark:
        starts += _elsewhere(starts[0], rows, scores, domain.mark)
    again = domain.settle(np.array([_climb(score, row, domain, reach) for row in starts]))
    rows = domain.marked(np.concatenate((again, rows)))
    scores = np.concatenate((score(rows[: len(again)]), scores))
    order = sorted(distinct(rows), key=lambda index: (-scores[index], index))
    return rows[order]


def _elsewhere(best: Array, rows: Array, scores: Array, mark: Settle) -> list[Array]:
    """Return the best row that differs from `best` in what is active, if there is one."""
    inactive = np.isnan(mark(np.concatenate((best[None], rows))))
    others = np.flatnonzero((inactive[1:] != inactive[0]).any(axis=1))
    return [rows[others[scores[others].argmax()]]] if len(others) else []


def _neighbours(row: Array, domain: Domain, rng: Generator) -> Array:
    """Return rows that differ from this one in a single choice, and in what that activates."""
    neighbours = []
    active = ~np.isnan(domain.marked(row[None])[0])
    for column, size in enumerate(domain.sizes):
        for choice in range(size or 0):
            if choice != row[column] and active[column]:
                other = row.copy()
                other[column] = choice
                neighbours.append(other)
    rows = np.array(neighbours).reshape(len(neighbours), len(row))
    return rows if domain.mark is None else _opened(rows, active, domain, rng)


def _opened(rows: Array, active: NDArray[np.bool_], domain: Domain, rng: Generator) -> Array:
    """Return the rows, and copies with several draws of what was not active before."""
    new = ~np.isnan(domain.marked(rows)) & ~active
    opening = new.any(axis=1)
    copies = _DRAWS // max(int(opening.sum()), 1)
    drawn = np.where(new, np.nan, rows)[opening].repeat(copies, axis=0)
    return np.concatenate((rows, domain.settle(filled(drawn, domain.sizes, rng))))


def _climb(score: Score, row: Array, domain: Domain, reach: float) -> Array:
    """Move the active numbers of a row uphill, each by at most `reach`, and return the new row.

    The climb stays in the row's branch, in which the score has no steps.
    """
    numbers = [i for i, size in enumerate(domain.sizes) if size is None]
    marked = domain.marked(row[None])[0]
    places = [place for place, i in enumerate(numbers) if marked[i] == marked[i]]
    moving = [numbers[place] for place in places]
    if not moving:
        return row

    def loss(position: Array) -> tuple[float, Array]:
        moved = row.copy()
        moved[moving] = position
        value, gradient = score.slope(domain.marked(moved[None])[0])
        if not value > _LOWEST:
            return -_LOWEST, np.zeros(len(moving))
        return -value, -gradient[places]

    start = row[moving]
    low, high = np.maximum(start - reach, 0.0), np.minimum(start + reach, 1.0)
    if domain.mark:
        low, high = (_kept_within(row, moving, ends, domain.mark) for ends in (low, high))
    result = minimize(
        *(loss, start),
        jac=True,
        bounds=np.stack((low, high), axis=1),
        method="L-BFGS-B",
        options={"maxiter": _STEPS, "ftol": 1e-7},
    )
    climbed = row.copy()
    climbed[moving] = result.x
    return climbed


def _kept_within(row: Array, moving: list[int], ends: Array, mark: Settle) -> Array:
    """Return how far towards its end each number can be moved in the row's branch."""
    moved = row[None].repeat(len(moving), axis=0)
    moved[np.arange(len(moving)), moving] = ends
    inactive = np.isnan(mark(row[None])[0])
    leaving = (np.isnan(mark(moved)) != inactive).any(axis=1)
    kept = ends.copy()
    for place in np.flatnonzero(leaving):
        other, column = row[None].copy(), moving[place]
        inside, outside = row[column], ends[place]
        for _ in range(_HALVINGS):
            other[0, column] = 0.5 * (inside + outside)
            if (np.isnan(mark(other)[0]) == inactive).all():
                inside = other[0, column]
            else:
                outside = other[0, column]
        kept[place] = inside
    return kept
