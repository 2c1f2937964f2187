"""A model of past runs as a benchmark: it has a loss for any configuration at any fidelity."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from priorband.benchmarks.base import Array, Configs, InBatches
from priorband.benchmarks.table import Given, RunTable, check_within, read_table
from priorband.errors import DataError, SpaceError
from priorband.numeric import whole
from priorband.streams import generator
from priorband.values import frozen

if TYPE_CHECKING:
    from priorband.models.trees import Forest

FOLDS = 5
MOSTLY = 0.5
"""A training is taken to fail where the chance of it is higher."""


@final
@frozen
class Quality:
    """How well losses at the highest fidelity are told for configurations that were held out.

    `r2` is the share of their variance that is explained, `rank` Spearman's correlation of their
    ranks, `rows` on how many runs both are measured. They are nan on fewer than two.
    """

    r2: float
    rank: float
    rows: int


@final
class Fitted(InBatches):
    r"""Trees fitted to the runs of a CSV file, such as `Tabular` takes.

    The columns are those of `Tabular`; a configuration need not have been run at all fidelities.
    Failed runs are kept apart from losses: a second forest tells the chance of failure, and where
    it is above one half the loss is nan, as that of a failed training is. To give failures a loss
    would ask for a number that nobody measured, and bend the fit around it.

    >>> from tempfile import TemporaryDirectory
    >>> lines = [f"{x / 99},{z},{(x / 99 - 0.3) ** 2 + 1 / z}" for x in range(100) for z in (1, 9)]
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
        space: Given = None,
        seed: int = 0,
        trees: int = 100,
    ) -> None:
        if not whole(seed):
            raise SpaceError(f"`seed` must be a whole number, got {seed!r}.")
        if not whole(trees) or trees < 1:
            raise SpaceError(f"`trees` must be a whole number of at least 1, got {trees!r}.")
        table = read_table(path, fidelity, loss, space)
        if np.isnan(table.losses).all():
            raise DataError(f"All runs of {table.name} failed: there is nothing to fit.")
        self.space, self.fidelity = table.space, table.fidelity
        self.seed, self.trees = int(seed), int(trees)
        self._table = table
        self._loss = self._forest("loss", _with_losses(table))
        self._failure: Forest | None = None
        if np.isnan(table.losses).any():
            self._failure = self._forest("failure", _with_failures(table))

    def __repr__(self) -> str:
        own = self.fidelity
        return (
            f"Fitted({self._table.name!r}, {self.trees} trees, {len(self._table.losses)} runs of "
            f"{len(self.space)} parameters, {own.name} from {own.low} to {own.high})"
        )

    @cached_property
    def quality(self) -> Quality:
        """How good the fit is, by cross-validation; failed runs are left out.

        All runs of a configuration are held out together: neighbours on its curve would tell.
        """
        runs = _with_losses(self._table)
        full = runs.rows[:, -1] == _position(self._table, self.fidelity.high)
        folds = _folds(len(self._table.configs), self.seed)[runs.owners]
        told = np.full(len(full), np.nan)
        for fold in range(FOLDS):
            held, kept = (folds == fold) & full, folds != fold
            if held.any() and kept.any():
                forest = self._forest(f"fold {fold}", runs.kept(kept))
                told[held] = forest.predict(runs.rows[held])
        judged = ~np.isnan(told)
        return _quality(runs.targets[judged], told[judged])

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The losses that the model tells; nan where it tells a failure."""
        check_within(self.fidelity, fidelity)
        codes = self.space.encode(configs)
        position = _position(self._table, fidelity)
        rows = np.concatenate((codes, np.full((len(codes), 1), position)), axis=1)
        losses = self._loss.predict(rows)
        if self._failure is not None:
            losses[self._failure.predict(rows) > MOSTLY] = np.nan
        return losses

    def _forest(self, name: str, runs: "_Runs") -> "Forest":
        from priorband.models.trees import Forest

        rng = generator(self.seed, 0, name)
        return Forest.fit(runs.rows, runs.targets, (*self.space.sizes, None), rng, self.trees)


class _Runs(NamedTuple):
    """Encoded rows, their last column the fidelity; what is to be told of each; and whose it is."""

    rows: Array
    targets: Array
    owners: NDArray[np.intp]

    def kept(self, wanted: NDArray[np.bool_]) -> "_Runs":
        """Some of the runs."""
        return _Runs(self.rows[wanted], self.targets[wanted], self.owners[wanted])


def _position(table: RunTable, fidelity: float) -> float:
    """A fidelity on a log scale: curves change most where they begin."""
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
    """All runs, 1 for those that failed. After a last one that did, all further would have."""
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
    """A fold for each configuration, all of about one size."""
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
