"""A model of past runs as a benchmark: it predicts a loss for any configuration and fidelity."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from priorband.benchmarks.base import Array, Configs, InBatches
from priorband.benchmarks.run_table import RunTable, SpaceOrColumns, check_in_range, read_table
from priorband.errors import DataError, SpaceError
from priorband.numeric import whole
from priorband.streams import generator
from priorband.values import frozen

if TYPE_CHECKING:
    from priorband.models.trees import Forest

FOLDS = 5
FAILURE_THRESHOLD = 0.5
"""A training is predicted to fail if its probability of failure is higher than this."""


@final
@frozen
class Quality:
    """How well a model predicts losses at the highest fidelity for held-out configurations.

    `r2` is the share of the variance that it explains, `rank` is Spearman's rank correlation, and
    `rows` is the number of runs that both are measured on. With fewer than two runs both are nan.
    """

    r2: float
    rank: float
    rows: int


@final
class Fitted(InBatches):
    r"""Extremely randomised trees fitted to the past runs in a CSV file.

    The file is the same as for `Tabular`, but a configuration need not have been run at all
    fidelities. A second forest predicts the probability of failure; if it is above one half, the
    loss is nan. Failed runs are not used to fit the losses, because they have none.

    Args:
        path: The CSV file. Empty, nan and infinite losses are failed trainings.
        fidelity: The column with the fidelity.
        loss: The column with the loss; lower is better.
        space: The search space, or the names of the columns to infer it from. The default infers it
            from all columns except the fidelity and the loss.
        seed: The seed of the fit.
        trees: The number of trees.

    Raises:
        DataError: If the file cannot be read, lacks what is needed, or has failed runs only.
        SpaceError: If `seed` or `trees` is not allowed.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> rows = [(x / 99, epoch) for x in range(100) for epoch in (1, 9)]
        >>> lines = [f"{x},{epoch},{(x - 0.3) ** 2 + 1 / epoch}" for x, epoch in rows]
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "runs.csv")
        ...     _ = path.write_text("\n".join(["momentum,epoch,loss", *lines]))
        ...     bench = Fitted(path)
        >>> bench.evaluate({"momentum": 0.3}, 9) < bench.evaluate({"momentum": 0.7}, 9)
        True
        >>> bench.quality.rank > 0.9
        True
    """

    def __init__(
        self,
        path: str | Path,
        fidelity: str = "epoch",
        loss: str = "loss",
        space: SpaceOrColumns = None,
        seed: int = 0,
        trees: int = 100,
    ) -> None:
        if not whole(seed):
            raise SpaceError(f"`seed` must be an integer, got {seed!r}.")
        if not whole(trees) or trees < 1:
            raise SpaceError(f"`trees` must be an integer of at least 1, got {trees!r}.")
        table = read_table(path, fidelity, loss, space)
        if np.isnan(table.losses).all():
            raise DataError(f"All runs in {table.name} failed, so there is nothing to fit.")
        self.space, self.fidelity = table.space, table.fidelity
        self.seed, self.trees = int(seed), int(trees)
        self._table = table
        self._loss = self._fit_forest("loss", _with_losses(table))
        self._failure: Forest | None = None
        if np.isnan(table.losses).any():
            self._failure = self._fit_forest("failure", _with_failures(table))

    def __repr__(self) -> str:
        fidelity = self.fidelity
        return (
            f"Fitted({self._table.name!r}, {self.trees} trees, {len(self._table.losses)} runs of "
            f"{len(self.space)} parameters, {fidelity.name} from {fidelity.low} to {fidelity.high})"
        )

    @cached_property
    def quality(self) -> Quality:
        """The quality of the fit, by cross-validation without the failed runs.

        All runs of a configuration are held out together, because one point of a learning curve
        gives away the next.
        """
        runs = _with_losses(self._table)
        full = runs.rows[:, -1] == _position(self._table, self.fidelity.high)
        folds = _folds(len(self._table.configs), self.seed)[runs.owners]
        predicted = np.full(len(full), np.nan)
        for fold in range(FOLDS):
            held, kept = (folds == fold) & full, folds != fold
            if held.any() and kept.any():
                forest = self._fit_forest(f"fold {fold}", runs.subset(kept))
                predicted[held] = forest.predict(runs.rows[held])
        judged = ~np.isnan(predicted)
        return _quality(runs.targets[judged], predicted[judged])

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The predicted losses; nan where a failure is predicted."""
        check_in_range(self.fidelity, fidelity)
        codes = self.space.encode(configs)
        position = _position(self._table, fidelity)
        rows = np.concatenate((codes, np.full((len(codes), 1), position)), axis=1)
        losses = self._loss.predict(rows)
        if self._failure is not None:
            losses[self._failure.predict(rows) > FAILURE_THRESHOLD] = np.nan
        return losses

    def _fit_forest(self, name: str, runs: "_Runs") -> "Forest":
        from priorband.models.trees import Forest

        rng = generator(self.seed, 0, name)
        return Forest.fit(runs.rows, runs.targets, (*self.space.sizes, None), rng, self.trees)


class _Runs(NamedTuple):
    """Encoded rows that end with the fidelity, what to predict, and the configurations."""

    rows: Array
    targets: Array
    owners: NDArray[np.intp]

    def subset(self, wanted: NDArray[np.bool_]) -> "_Runs":
        """The runs where a mask is true."""
        return _Runs(self.rows[wanted], self.targets[wanted], self.owners[wanted])


def _position(table: RunTable, fidelity: float) -> float:
    """A fidelity on a log scale, because learning curves change most at the start."""
    low, high = np.log(table.fidelity.low), np.log(table.fidelity.high)
    return float((np.log(fidelity) - low) / (high - low or 1.0))


def _runs(table: RunTable, owners: NDArray[np.intp], steps: Array, targets: Array) -> _Runs:
    distinct, which = np.unique(steps, return_inverse=True)
    positions = np.array([_position(table, step) for step in distinct.tolist()])
    return _Runs(np.column_stack((table.points[owners], positions[which])), targets, owners)


def _with_losses(table: RunTable) -> _Runs:
    """The runs that did not fail, and their losses."""
    fine = ~np.isnan(table.losses)
    return _runs(table, table.owners[fine], table.fidelities[fine], table.losses[fine])


def _with_failures(table: RunTable) -> _Runs:
    """All runs, 1 for the failed ones; a configuration whose last run failed fails from then on."""
    failed = np.isnan(table.losses)
    ends = np.flatnonzero(np.diff(table.owners, append=len(table.configs)))
    dead = ends[failed[ends]]
    steps = np.unique(table.fidelities)
    which, after = np.nonzero(steps > table.fidelities[dead, np.newaxis])
    return _runs(
        table,
        np.concatenate((table.owners, table.owners[dead][which])),
        np.concatenate((table.fidelities, steps[after])),
        np.concatenate((failed, np.ones(len(after)))),
    )


def _folds(count: int, seed: int) -> NDArray[np.intp]:
    """A fold for each configuration; all folds have about the same size."""
    order = np.argsort(generator(seed, 0, "folds").random(count), kind="stable")
    folds = np.empty(count, dtype=np.intp)
    folds[order] = np.arange(count) % FOLDS
    return folds


def _quality(losses: Array, told: Array) -> Quality:
    from scipy.stats import rankdata

    spread = float(np.var(losses)) if len(losses) > 1 else 0.0
    if not spread:
        return Quality(float("nan"), float("nan"), len(losses))
    r2 = 1.0 - float(np.mean((losses - told) ** 2)) / spread
    loss_ranks, told_ranks = rankdata(losses), rankdata(told)
    spreads = float(loss_ranks.std() * told_ranks.std())
    shared = float(np.mean((loss_ranks - loss_ranks.mean()) * (told_ranks - told_ranks.mean())))
    return Quality(r2, shared / spreads if spreads else 0.0, len(losses))
