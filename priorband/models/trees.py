"""Extremely randomised trees (Geurts, Ernst and Wehenkel 2006): the mean of random trees.

In each node one random split of every column is tried, uniform between the smallest and the largest
value there, and the split that leaves the least variance is used. Every tree is fitted to all rows.
A categorical becomes one column for each of its choices. Trees grow level by level, all nodes of a
level together.
"""

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from priorband.models.kde import Array, Sizes
from priorband.streams import Generator
from priorband.values import frozen

Index = NDArray[np.intp]

LEAST = 5
"""A node with fewer rows is a leaf. The authors recommend this value for regression."""
_BATCH = 20_000
"""The number of rows handled at a time, over several trees; more do not fit into caches."""
_NO_CUT = -np.inf


@final
@frozen
class Forest:
    """A forest of regression trees, stored as one list of nodes.

    Each node compares a column (`columns`) with a threshold (`cuts`). Rows above the threshold go
    to the node after `lefts`, all others to the node `lefts`. A leaf leads to itself.

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
        """Fit a forest to rows.

        Args:
            rows: Encoded rows of shape (n, d).
            targets: The targets, of shape (n,).
            sizes: For each column the number of its choices, or None for a number.
            rng: The random generator.
            trees: The number of trees.
            least: Nodes with fewer rows are not split.
        """
        columns = np.ascontiguousarray(spread_out(rows, sizes).T)
        step = max(1, _BATCH // len(rows))
        grown = [
            _grow(columns, targets, min(step, trees - first), rng, least)
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
        """Return the mean of the trees' values at each encoded row.

        Despite rounding it is within the range of the targets.
        """
        wide = spread_out(rows, self.sizes)
        means = np.empty(len(wide))
        step = max(1, _BATCH // len(self.roots))
        for start in range(0, len(wide), step):
            leaves = self._leaves(np.ascontiguousarray(wide[start : start + step]))
            values = np.ascontiguousarray(self.values[leaves].T)  # fixes the order of summation
            means[start : start + step] = np.clip(
                values.mean(axis=1), values.min(axis=1), values.max(axis=1)
            )
        return means

    def _leaves(self, wide: Array) -> Index:
        """Return the leaf of each tree for each row, of shape (trees, rows)."""
        flat, (count, width) = wide.reshape(-1), wide.shape
        begins = np.tile(np.arange(0, count * width, width), len(self.roots))
        nodes = np.repeat(self.roots, count)
        for _ in range(self.depth):
            above = flat.take(begins + self.columns.take(nodes)) > self.cuts.take(nodes)
            nodes = self.lefts.take(nodes) + above
        return nodes.reshape(len(self.roots), count)


def spread_out(rows: Array, sizes: Sizes) -> Array:
    """Return rows with each categorical column replaced by one column per choice (one-hot).

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
    """Nodes in the form in which a forest stores them."""

    columns: Index
    cuts: Array
    lefts: Index
    values: Array

    @staticmethod
    def leaves(values: Array, first: int) -> "_Nodes":
        """Return leaves, numbered from `first`."""
        count = len(values)
        lefts = np.arange(first, first + count)
        return _Nodes(np.zeros(count, np.intp), np.full(count, np.inf), lefts, values)


class _Level(NamedTuple):
    """Some nodes of one level: the rows of all nodes, node by node."""

    rows: Index
    starts: Index
    """The index into `rows` at which each node's rows start."""

    @property
    def counts(self) -> Index:
        return np.diff(self.starts, append=len(self.rows))

    def kept(self, wanted: NDArray[np.bool_]) -> "_Level":
        counts = self.counts
        starts = np.cumsum(counts[wanted]) - counts[wanted]
        return _Level(self.rows[np.repeat(wanted, counts)], starts)


class _Cuts(NamedTuple):
    """The best cut of each node. The gain is -inf if a node has none."""

    columns: Index
    thresholds: Array
    gains: Array


def _grow(columns: Array, targets: Array, trees: int, rng: Generator, least: int) -> Forest:
    """Grow several trees at the same time."""
    count = len(targets)
    level = _Level(np.tile(np.arange(count), trees), np.arange(0, trees * count, count))
    levels: list[_Nodes] = []
    total = 0
    while len(level.starts):
        nodes = _Nodes.leaves(_means(level, targets), total)
        levels.append(nodes)
        total += len(nodes.cuts)
        divisible = _divisible(level, targets, least)
        level = level.kept(divisible)
        cuts = _best_cuts(columns, targets, level, rng)
        is_cut = cuts.gains > _NO_CUT
        cut = np.flatnonzero(divisible)[is_cut]
        nodes.columns[cut], nodes.cuts[cut] = cuts.columns[is_cut], cuts.thresholds[is_cut]
        nodes.lefts[cut] = total + 2 * np.arange(len(cut))
        level = _divided(columns, level.kept(is_cut), cuts.columns[is_cut], cuts.thresholds[is_cut])
    joined = _Nodes(*map(np.concatenate, zip(*levels, strict=True)))
    return Forest((), np.arange(trees), *joined, depth=len(levels) - 1)


def _means(level: _Level, targets: Array) -> Array:
    """The mean target of each node; despite rounding within the range of the targets."""
    means = np.add.reduceat(targets[level.rows], level.starts) / level.counts
    return np.clip(means, targets.min(), targets.max())


def _divisible(level: _Level, targets: Array, least: int) -> NDArray[np.bool_]:
    """Whether each node has enough rows, and targets that are not all equal."""
    own = targets[level.rows]
    differ = np.minimum.reduceat(own, level.starts) < np.maximum.reduceat(own, level.starts)
    return np.asarray(differ & (level.counts >= least))


def _best_cuts(columns: Array, targets: Array, level: _Level, rng: Generator) -> _Cuts:
    """For each node the best of one random cut per column: it reduces the variance most."""
    nodes = len(level.starts)
    best = _Cuts(np.zeros(nodes, np.intp), np.zeros(nodes), np.full(nodes, _NO_CUT))
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
        thresholds = np.minimum(low + random * (high - low), np.nextafter(high, low))
        below = values <= np.repeat(thresholds, counts)
        left = np.add.reduceat(below, level.starts, dtype=np.float64)
        sums = np.add.reduceat(own * below, level.starts)
        with np.errstate(divide="ignore", invalid="ignore"):  # a column with a single value
            gains = sums * sums / left + sums * sums / (counts - left)
        better = (high > low) & (gains > best.gains)
        best.columns[better] = number
        best.thresholds[better], best.gains[better] = thresholds[better], gains[better]
    return best


def _divided(columns: Array, level: _Level, chosen: Index, thresholds: Array) -> _Level:
    """The next level, in which each node is divided in two."""
    counts = level.counts
    owners = np.repeat(np.arange(len(counts)), counts)
    sides = 2 * owners + (columns[chosen[owners], level.rows] > thresholds[owners])
    sizes = np.bincount(sides, minlength=2 * len(counts))
    return _Level(level.rows[np.argsort(sides, kind="stable")], np.cumsum(sizes) - sizes)
