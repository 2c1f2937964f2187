"""A table of past runs as a benchmark: a configuration has the losses of the nearest past one."""

from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from priorband.benchmarks.base import Array, Configs, InBatches
from priorband.benchmarks.run_table import (
    ROUNDING,
    RunTable,
    SpaceOrColumns,
    check_in_range,
    read_table,
)
from priorband.errors import DataError
from priorband.space.config import Config

MAX_DISTANCES = 1_000_000
"""The number of distances that are in memory at the same time."""


def nearest_points(rows: Array, points: Array, sizes: tuple[int | None, ...]) -> NDArray[np.intp]:
    """The index of the point nearest to each encoded row, or the first of several.

    The distance is Euclidean. The distance between two different choices is 1.

    >>> nearest_points(np.array([[0.4, 1.0]]), np.array([[0.4, 0.0], [0.9, 1.0]]), (None, 2))
    array([1])
    """
    indices = np.empty(len(rows), dtype=np.intp)
    step = max(1, MAX_DISTANCES // len(points))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        squares = np.zeros((len(rows[part]), len(points)))
        for column, size in enumerate(sizes):
            row_codes, point_codes = rows[part, column, np.newaxis], points[:, column]
            if size is None:
                difference = row_codes - point_codes
                difference *= difference
                squares += difference
            else:
                squares += row_codes != point_codes
        indices[part] = squares.argmin(axis=1)
    return indices


@final
class Tabular(InBatches):
    r"""Past runs in a CSV file, with one line per configuration and fidelity.

    A configuration has the loss of the nearest configuration in the file, at the highest recorded
    fidelity that is not above the requested one. Only configurations that were trained that far are
    considered: those with records both at or below and at or above the requested fidelity, and
    those whose last record is a failure. A failed training has the loss nan.

    Args:
        path: The CSV file. Empty, nan and infinite losses are failed trainings.
        fidelity: The column with the fidelity.
        loss: The column with the loss; lower is better.
        space: The search space, or the names of the columns to infer it from. The default infers it
            from all columns except the fidelity and the loss.

    Raises:
        DataError: If the file cannot be read or does not have what is needed; the message names the
            line.

    Example:
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
        space: SpaceOrColumns = None,
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
        """The best run at the highest fidelity; None if all failed there."""
        return best_run(self._table)

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The losses of the nearest configurations; nan where their training failed."""
        low, high = self._surrounding_steps(fidelity)
        rows = self.space.encode(configs)
        trained = np.flatnonzero((self._first <= low) & (self._last >= high))
        owners = trained[nearest_points(rows, self._table.points[trained], self.space.sizes)]
        runs = np.searchsorted(self._keys, owners * len(self._steps) + low, side="right") - 1
        return self._table.losses[runs]

    def _surrounding_steps(self, fidelity: float) -> tuple[int, int]:
        """The indices of the recorded fidelities below and above one; equal if it is recorded."""
        check_in_range(self.fidelity, fidelity)
        low = np.searchsorted(self._steps, fidelity * (1 + ROUNDING), side="right") - 1
        high = np.searchsorted(self._steps, fidelity * (1 - ROUNDING), side="left")
        return int(low), int(high)

    def _check_gaps(self) -> None:
        smallest_gap = 1.0 if self.fidelity.integer else 0.0
        for rank in np.flatnonzero(np.diff(self._steps) > smallest_gap).tolist():
            if not ((self._first <= rank) & (self._last > rank)).any():
                low, high = self._steps[[rank, rank + 1]].tolist()
                raise DataError(
                    f"No configuration in {self._table.name} has records at both `"
                    f"{self.fidelity.name}` {low:g} or below and {high:g} or above, so there is "
                    "no loss between the two. Use Fitted instead, which needs no such records."
                )


def best_run(table: RunTable) -> tuple[Config, float] | None:
    """The configuration with the lowest loss at the highest fidelity, and the loss."""
    full = np.flatnonzero((table.fidelities == table.fidelity.high) & ~np.isnan(table.losses))
    if not len(full):
        return None
    best = full[table.losses[full].argmin()]
    return table.configs[table.owners[best]], float(table.losses[best])
