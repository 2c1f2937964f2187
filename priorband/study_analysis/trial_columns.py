"""The trials of a study as columns, read from its history as it grows."""

from array import array
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.failures import FAILURE_KINDS, split_reason
from priorband.history import History
from priorband.space.config_columns import ConfigColumns
from priorband.space.space import Space
from priorband.trial import IMPORTED, QUEUED, Observation, Trial
from priorband.values import frozen

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NONE = -1
"""Stands for None in a column of whole numbers."""
RUNNING, SUCCEEDED, FAILED = range(3)
STATUSES = ("running", "succeeded", "failed")
"""The words for the codes of the column `status`."""


@final
@frozen
class TrialColumns:
    """One entry for each trial, by id. A whole number of -1 stands for None."""

    parent: Ints
    """The trial that it continues."""
    root: Ints
    """The first trial of its chain of promotions."""
    same: Ints
    """The first trial with the same configuration."""
    bracket: Ints
    rung: Ints
    """The rung of its slot or, outside the brackets, of its fidelity; -1 if no rung has that."""
    origin: Ints
    """Where its configuration comes from, as an index into `origins`."""
    fidelity: Floats
    units: Floats
    """What it costs in fidelity units: its fidelity, less that of its parent; 0 if imported."""
    status: Ints
    """As an index into `STATUSES`."""
    loss: Floats
    """NaN while it runs, infinite if it failed."""
    failure: Ints
    """The kind of failure as an index into `FAILURE_KINDS`; -1 if it has not failed."""
    retry_of: Ints
    """The failed trial whose place it has taken."""
    promoted: Bools
    """Whether a later trial continues it."""
    order: Ints
    """The ids of the trials that have ended, in the order in which they ended."""
    origins: tuple[str, ...]
    configs: ConfigColumns
    """The configurations of the trials without a parent, in order."""
    config_row: Ints
    """The row of its configuration there."""

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def imported(self) -> Bools:
        """Whether it is a result from elsewhere."""
        return self._is(IMPORTED)

    @property
    def drawn(self) -> Bools:
        """Whether a sampler has drawn its configuration, for this trial."""
        own: Bools = (self.parent == NONE) & (self.retry_of == NONE)
        return own & ~self._is(IMPORTED) & ~self._is(QUEUED)

    def _is(self, origin: str) -> Bools:
        known = self.origins.index(origin) if origin in self.origins else NONE
        found: Bools = self.origin == known
        return found


@final
class GrowingTrials:
    """The columns of a history that grows: each look costs as much as what is new.

    Besides, the columns are copied, so that earlier ones stay as they were.
    """

    def __init__(self, space: Space, rungs: tuple[float, ...]) -> None:
        self._space = space
        self._rungs = {fidelity: rung for rung, fidelity in enumerate(rungs)}
        self._begin()

    def _begin(self) -> None:
        self._columns: dict[str, array[Any]] = {name: array("q") for name in _WHOLE}
        self._columns |= {name: array("d") for name in _REAL}
        self._origins: dict[str, int] = {}
        self._first: dict[tuple[Any, ...], int] = {}
        self._configs = ConfigColumns.empty(self._space)
        self._roots = 0
        self._known = 0

    def read(self, history: History) -> TrialColumns:
        """The columns of a history that continues the last one.

        One that is shorter is read from its beginning: storage may lose what was not acknowledged.
        """
        results = len(self._columns["order"])
        if len(history) < self._known or history.observation_count < results:
            self._begin()
        columns = self._columns
        new = _trials_from(history, self._known)
        roots = [trial for trial in new if trial.parent is None]
        for trial in new:
            self._add(trial, history.retry_of(trial.id))
        self._known = len(history)
        self._configs = self._configs.extended([trial.config for trial in roots])
        for ended in history.observations_since(len(columns["order"])):
            self._end(ended)
        return self._made()

    def _add(self, trial: Trial, retry_of: int | None) -> None:
        columns, parent = self._columns, trial.parent
        if parent is None:
            same = self._first.setdefault(tuple(trial.config.values()), trial.id)
            row, start = self._roots, 0.0
            self._roots += 1
        else:
            same, row = columns["same"][parent], columns["config_row"][parent]
            start = columns["fidelity"][parent]
        bracket, rung = trial.slot or (NONE, self._rungs.get(trial.fidelity, NONE))
        entry = {
            "parent": NONE if parent is None else parent,
            "root": trial.root,
            "same": same,
            "bracket": bracket,
            "rung": rung,
            "origin": self._origins.setdefault(trial.origin, len(self._origins)),
            "status": RUNNING,
            "failure": NONE,
            "retry_of": NONE if retry_of is None else retry_of,
            "config_row": row,
            "fidelity": trial.fidelity,
            "units": 0.0 if trial.origin == IMPORTED else trial.fidelity - start,
            "loss": float("nan"),
        }
        for name, value in entry.items():
            columns[name].append(value)

    def _end(self, ended: Observation) -> None:
        columns, number = self._columns, ended.trial.id
        columns["loss"][number] = ended.loss
        columns["status"][number] = FAILED if ended.failed else SUCCEEDED
        if ended.failed:
            columns["failure"][number] = FAILURE_KINDS.index(split_reason(ended.reason)[0])
        columns["order"].append(number)

    def _made(self) -> TrialColumns:
        arrays: dict[str, Any] = {name: np.array(each) for name, each in self._columns.items()}
        promoted, parent = np.zeros(self._known, bool), arrays["parent"]
        promoted[parent[parent != NONE]] = True
        return TrialColumns(
            **arrays,
            promoted=promoted,
            origins=tuple(self._origins),
            configs=self._configs,
        )


def _trials_from(history: History, first: int) -> list[Trial]:
    """The trials from an id on. To make many of a restored history at once is quicker."""
    count = len(history)
    if count - first > _MANY:
        return list(history.trials[first:])
    return [history.trial(number) for number in range(first, count)]


_MANY = 100
_WHOLE = (
    *("parent", "root", "same", "bracket", "rung", "origin", "status", "failure", "retry_of"),
    *("config_row", "order"),
)
_REAL = ("fidelity", "units", "loss")
