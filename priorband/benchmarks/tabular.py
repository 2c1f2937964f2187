"""A table of past runs as a benchmark: a configuration has the losses of the nearest one in it."""

from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from priorband.benchmarks.base import Array, Configs, InBatches
from priorband.benchmarks.table import ROUNDING, Given, RunTable, check_within, read_table
from priorband.errors import DataError
from priorband.space.config import Config

MOST_DISTANCES = 1_000_000
"""So many are held in memory at a time."""


def nearest(rows: Array, points: Array, sizes: tuple[int | None, ...]) -> NDArray[np.intp]:
    """Which point is nearest to each encoded row; the first of those that are equally near.

    The distance is Euclidean; two choices are 1 apart when they differ.

    >>> nearest(np.array([[0.4, 1.0]]), np.array([[0.4, 0.0], [0.9, 1.0]]), (None, 2))
    array([1])
    """
    found = np.empty(len(rows), dtype=np.intp)
    step = max(1, MOST_DISTANCES // len(points))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        squares = np.zeros((len(rows[part]), len(points)))
        for column, size in enumerate(sizes):
            here, there = rows[part, column, np.newaxis], points[:, column]
            if size is None:
                away = here - there
                away *= away
                squares += away
            else:
                squares += here != there
        found[part] = squares.argmin(axis=1)
    return found


@final
class Tabular(InBatches):
    r"""The runs of a CSV file: one line for each configuration and fidelity, with the loss.

    `space` is the space of the columns, or the names of those that are parameters; where it is not
    given, it is inferred from all columns that are left. A configuration has the loss of the
    nearest one in the table, at the highest fidelity on record that is not above the one asked for.
    Only those count that were trained so far: those with records at or below the fidelity and at or
    above it, or whose last one is a failure. A failed training has the loss nan.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "runs.csv")
    ...     _ = path.write_text("lr,epoch,loss\n0.1,1,0.9\n0.1,9,0.5\n0.2,1,0.8\n0.2,9,0.6\n")
    ...     bench = Tabular(path)
    >>> bench.evaluate({"lr": 0.18}, 9), bench.optimum
    (0.6, ({'lr': 0.1}, 0.5))
    """

    def __init__(
        self,
        path: str | Path,
        fidelity: str = "epoch",
        loss: str = "loss",
        space: Given = None,
    ) -> None:
        table = read_table(path, fidelity, loss, space)
        self.space, self.fidelity, self._table = table.space, table.fidelity, table
        self._steps, ranks = np.unique(table.fidelities, return_inverse=True)
        ends = np.flatnonzero(np.diff(table.owners, append=len(table.configs)))
        starts = np.append(0, ends[:-1] + 1)
        self._keys = table.owners * len(self._steps) + ranks
        self._first, self._last = ranks[starts], ranks[ends]
        self._last[np.isnan(table.losses[ends])] = len(self._steps)
        self._check_gaps()

    def __repr__(self) -> str:
        table, fidelity = self._table, self.fidelity
        return (
            f"Tabular({table.name!r}, {len(table.configs)} configurations of {len(self.space)} "
            f"parameters, {fidelity.name} from {fidelity.low} to {fidelity.high})"
        )

    @property
    def optimum(self) -> tuple[Config, float] | None:
        """The best at the highest fidelity; None where all failed there."""
        return best(self._table)

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The losses of the nearest configurations; nan where their training failed."""
        low, high = self._rank(fidelity)
        rows = self.space.encode(configs)
        known = np.flatnonzero((self._first <= low) & (self._last >= high))
        owners = known[nearest(rows, self._table.points[known], self.space.sizes)]
        places = np.searchsorted(self._keys, owners * len(self._steps) + low, side="right") - 1
        return self._table.losses[places]

    def _rank(self, fidelity: float) -> tuple[int, int]:
        """The places of the fidelities on record around one; the same where it is on record."""
        check_within(self.fidelity, fidelity)
        low = np.searchsorted(self._steps, fidelity * (1 + ROUNDING), side="right") - 1
        high = np.searchsorted(self._steps, fidelity * (1 - ROUNDING), side="left")
        return int(low), int(high)

    def _check_gaps(self) -> None:
        least = 1.0 if self.fidelity.integer else 0.0
        for rank in np.flatnonzero(np.diff(self._steps) > least).tolist():
            if not ((self._first <= rank) & (self._last > rank)).any():
                low, high = self._steps[[rank, rank + 1]].tolist()
                raise DataError(
                    f"No configuration of {self._table.name} was trained through `"
                    f"{self.fidelity.name}` {low:g} to {high:g}: each has records on one side "
                    "only, so nothing is known between them. Use Fitted, which can do with that."
                )


def best(table: RunTable) -> tuple[Config, float] | None:
    """The configuration with the lowest loss at the highest fidelity, the first of equals."""
    full = np.flatnonzero((table.fidelities == table.fidelity.high) & ~np.isnan(table.losses))
    if not len(full):
        return None
    found = full[table.losses[full].argmin()]
    return table.configs[table.owners[found]], float(table.losses[found])
