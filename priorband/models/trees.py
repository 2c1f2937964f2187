"""Extremely randomised trees (Geurts, Ernst and Wehenkel 2006): a mean of trees cut at random.

In each node every column is cut at a uniform place between the least and the greatest value there;
the cut that leaves the least variance is taken. All rows go into each tree. A category becomes a
column for each of its choices. Trees grow level by level, all nodes of a level at once.
"""

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from priorband.models.kde import Array, Sizes
from priorband.streams import Generator
from priorband.values import frozen

Index = NDArray[np.intp]

LEAST = 5
"""Nodes of fewer rows are leaves: what the authors advise for regression."""
_TOGETHER = 20_000
"""About so many rows are handled at a time, of several trees; more do not fit into caches."""
_NOBODY = -np.inf


@final
@frozen
class Forest:
    """Trees, as one list of nodes.

    Of each node `columns` and `cuts` say what is compared. Rows that do not lie above the cut go to
    the node in `lefts`, the others to the one after it. A leaf leads to itself.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.random((500, 2))
    >>> forest = Forest.fit(rows, rows.sum(axis=1), (None, None), rng)
    >>> forest.predict(np.array([[0.5, 0.5], [0.9, 0.9]])).round(1)
    array([1. , 1.8])
    """

    sizes: Sizes
    roots: Index
    columns: Index
    cuts: Array
    lefts: Index
    values: Array
    depth: int

    @staticmethod
    def fit(
        rows: Array,
        targets: Array,
        sizes: Sizes,
        rng: Generator,
        trees: int = 100,
        least: int = LEAST,
    ) -> "Forest":
        """Trees for n encoded rows of shape (n, d) and their targets of shape (n,)."""
        columns = np.ascontiguousarray(spread_out(rows, sizes).T)
        step = max(1, _TOGETHER // len(rows))
        grown = [
            _grown(columns, targets, min(step, trees - first), rng, least)
            for first in range(0, trees, step)
        ]
        starts = np.cumsum([0, *(len(part.cuts) for part in grown)])
        together = list(zip(grown, starts.tolist(), strict=False))
        return Forest(
            sizes,
            np.concatenate([part.roots + start for part, start in together]),
            np.concatenate([part.columns for part in grown]),
            np.concatenate([part.cuts for part in grown]),
            np.concatenate([part.lefts + start for part, start in together]),
            np.concatenate([part.values for part in grown]),
            max(part.depth for part in grown),
        )

    def predict(self, rows: Array) -> Array:
        """The mean of the trees' values at each of m encoded rows, never beyond the targets."""
        wide = spread_out(rows, self.sizes)
        made = np.empty(len(wide))
        step = max(1, _TOGETHER // len(self.roots))
        for start in range(0, len(wide), step):
            leaves = self._leaves(np.ascontiguousarray(wide[start : start + step]))
            found = np.ascontiguousarray(self.values[leaves].T)  # one order to sum in, always
            made[start : start + step] = np.clip(
                found.mean(axis=1), found.min(axis=1), found.max(axis=1)
            )
        return made

    def _leaves(self, wide: Array) -> Index:
        """The leaf of each tree, a line, in which each row, a column, ends up."""
        flat, (count, width) = wide.reshape(-1), wide.shape
        begins = np.tile(np.arange(0, count * width, width), len(self.roots))
        nodes = np.repeat(self.roots, count)
        for _ in range(self.depth):
            above = flat.take(begins + self.columns.take(nodes)) > self.cuts.take(nodes)
            nodes = self.lefts.take(nodes) + above
        return nodes.reshape(len(self.roots), count)


def spread_out(rows: Array, sizes: Sizes) -> Array:
    """Rows with a column of zeros and ones for each choice of a category.

    >>> spread_out(np.array([[0.3, 2.0]]), (None, 3))
    array([[0.3, 0. , 0. , 1. ]])
    """
    if not any(sizes):
        return rows
    parts = [
        rows[:, [i]] if size is None else rows[:, [i]] == np.arange(size)
        for i, size in enumerate(sizes)
    ]
    return np.concatenate(parts, axis=1, dtype=np.float64)


class _Nodes(NamedTuple):
    """Nodes as a forest lists them."""

    columns: Index
    cuts: Array
    lefts: Index
    values: Array

    @staticmethod
    def leaves(values: Array, first: int) -> "_Nodes":
        """Nodes without a cut, numbered from the first."""
        count = len(values)
        lefts = np.arange(first, first + count)
        return _Nodes(np.zeros(count, np.intp), np.full(count, np.inf), lefts, values)


class _Level(NamedTuple):
    """Some nodes of a level: the first rows of each in a list of all their rows."""

    rows: Index
    starts: Index

    @property
    def counts(self) -> Index:
        return np.diff(self.starts, append=len(self.rows))

    def kept(self, wanted: NDArray[np.bool_]) -> "_Level":
        counts = self.counts
        starts = np.cumsum(counts[wanted]) - counts[wanted]
        return _Level(self.rows[np.repeat(wanted, counts)], starts)


class _Cuts(NamedTuple):
    """The best cut of each node; the gain is -inf where there is none."""

    columns: Index
    places: Array
    gains: Array


def _grown(columns: Array, targets: Array, trees: int, rng: Generator, least: int) -> Forest:
    """Some trees, grown side by side."""
    count = len(targets)
    level = _Level(np.tile(np.arange(count), trees), np.arange(0, trees * count, count))
    levels: list[_Nodes] = []
    made = 0
    while len(level.starts):
        nodes = _Nodes.leaves(_means(level, targets), made)
        levels.append(nodes)
        made += len(nodes.cuts)
        fit = _divisible(level, targets, least)
        level = level.kept(fit)
        cuts = _best_cuts(columns, targets, level, rng)
        found = cuts.gains > _NOBODY
        cut = np.flatnonzero(fit)[found]
        nodes.columns[cut], nodes.cuts[cut] = cuts.columns[found], cuts.places[found]
        nodes.lefts[cut] = made + 2 * np.arange(len(cut))
        level = _divided(columns, level.kept(found), cuts.columns[found], cuts.places[found])
    joined = _Nodes(*map(np.concatenate, zip(*levels, strict=True)))
    return Forest((), np.arange(trees), *joined, depth=len(levels) - 1)


def _means(level: _Level, targets: Array) -> Array:
    """The mean target of each node; rounding never leads beyond the targets."""
    means = np.add.reduceat(targets[level.rows], level.starts) / level.counts
    return np.clip(means, targets.min(), targets.max())


def _divisible(level: _Level, targets: Array, least: int) -> NDArray[np.bool_]:
    """Which nodes have enough rows, and targets that differ."""
    own = targets[level.rows]
    differ = np.minimum.reduceat(own, level.starts) < np.maximum.reduceat(own, level.starts)
    return np.asarray(differ & (level.counts >= least))


def _best_cuts(columns: Array, targets: Array, level: _Level, rng: Generator) -> _Cuts:
    """Of one random cut a column, the one that explains most of a node's variance."""
    nodes = len(level.starts)
    best = _Cuts(np.zeros(nodes, np.intp), np.zeros(nodes), np.full(nodes, _NOBODY))
    if not nodes:
        return best
    counts = level.counts
    own = targets[level.rows]
    own = own - np.repeat(np.add.reduceat(own, level.starts) / counts, counts)
    for number, (column, random) in enumerate(
        zip(columns, rng.random((len(columns), nodes)), strict=True)
    ):
        values = column[level.rows]
        low = np.minimum.reduceat(values, level.starts)
        high = np.maximum.reduceat(values, level.starts)
        places = np.minimum(low + random * (high - low), np.nextafter(high, low))
        below = values <= np.repeat(places, counts)
        few = np.add.reduceat(below, level.starts, dtype=np.float64)
        sums = np.add.reduceat(own * below, level.starts)
        with np.errstate(divide="ignore", invalid="ignore"):  # a column with a single value
            gains = sums * sums / few + sums * sums / (counts - few)
        better = (high > low) & (gains > best.gains)
        best.columns[better] = number
        best.places[better], best.gains[better] = places[better], gains[better]
    return best


def _divided(columns: Array, level: _Level, chosen: Index, places: Array) -> _Level:
    """The next level: each node becomes two."""
    counts = level.counts
    owners = np.repeat(np.arange(len(counts)), counts)
    sides = 2 * owners + (columns[chosen[owners], level.rows] > places[owners])
    sizes = np.bincount(sides, minlength=2 * len(counts))
    return _Level(level.rows[np.argsort(sides, kind="stable")], np.cumsum(sizes) - sizes)
