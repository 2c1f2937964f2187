"""A run as columns of numbers, from which its study can be restored."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.benchmarks.base import Benchmark
from priorband.errors import FormatError
from priorband.events import Asked, Event, Failed, Told
from priorband.experiments.cases import Case
from priorband.experiments.rules import CaseSetup, Centres, set_up_case
from priorband.space.choices import Categorical, Ordinal
from priorband.space.config import Config
from priorband.space.parameters import Integer
from priorband.space.space import Space
from priorband.study import Study
from priorband.timeline.timeline import Run, Workload
from priorband.trial import Slot, Trial
from priorband.values import frozen
from priorband.workers.simulation import carried_out

ORIGINS = ("uniform", "prior", "incumbent", "mode", "model", "grid")
"""The possible origins of configurations; a column has their indices in this list."""
COLUMNS: dict[str, Any] = {
    "fidelity": np.float64,
    "loss": np.float64,
    "full": np.float64,
    "cost": np.float64,
    "bracket": np.int32,
    "rung": np.int32,
    "parent": np.int32,
    "origin": np.int8,
    "before": np.int32,
    "ended": np.int32,
    "worker": np.int32,
}
"""The columns of a record, with one row per trial in the order in which they were asked for.

`loss` is nan for a failure, `full` is the loss of the configuration after a full training, and
`cost` is in full trainings. -1 means no bracket, rung or parent. `before` is the number of trials
that had ended when this one was asked for, and `ended` is its position in the order of their ends.
"""

Column = NDArray[Any]


@final
@frozen
class RunRecord:
    """A finished run."""

    case: Case
    columns: dict[str, Column]
    values: Column
    """One row per trial, one column per searched parameter: a number, or the index of a choice."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def roots(self) -> Column:
        """For each trial, the first trial of its configuration."""
        roots = np.arange(len(self))
        for number, parent in enumerate(self.columns["parent"].tolist()):
            if parent >= 0:
                roots[number] = roots[parent]
        return roots

    @property
    def completed(self) -> dict[str, Column]:
        """The columns, sorted by the end of the trials, and the roots."""
        order = np.argsort(self.columns["ended"])
        columns = self.columns | {"root": self.roots}
        return {name: column[order] for name, column in columns.items()}


def run_case(case: Case, benchmark: Benchmark, centres: Centres) -> RunRecord:
    """Run a case in simulated time."""
    setup = set_up_case(case, benchmark, centres)
    work = Workload(case.workers, case.budget, each=True, pause=setup.pause)
    return _record(case, setup, carried_out(setup.study, setup.benchmark, work))


def _record(case: Case, setup: CaseSetup, runs: Sequence[Run]) -> RunRecord:
    trials = setup.study.state.history.trials
    space = setup.benchmark.space
    ended = {run.outcome.trial.id: (position, run) for position, run in enumerate(runs)}
    rows = [_row(trial, *ended[trial.id]) for trial in trials]
    columns = {
        name: np.array([row[name] for row in rows], dtype=kind)
        for name, kind in COLUMNS.items()
        if name not in ("full", "before")
    }
    columns["cost"] = columns["cost"] / setup.benchmark.fidelity.high
    columns["full"] = _full_losses(setup, trials, columns["loss"])
    columns["before"] = _ended_before(setup.study)
    values = [
        [_encoded_value(space, name, trial.config[name]) for name in space.names]
        for trial in trials
    ]
    columns = {name: columns[name] for name in COLUMNS}
    return RunRecord(
        case, columns, np.array(values, dtype=np.float64).reshape(len(rows), len(space))
    )


def _row(trial: Trial, position: int, run: Run) -> dict[str, float]:
    slot = trial.slot or Slot(-1, -1)
    return {
        "fidelity": trial.fidelity,
        "loss": math.nan if run.outcome.failed else run.outcome.loss,
        "cost": run.cost,
        "bracket": slot.bracket,
        "rung": slot.rung,
        "parent": -1 if trial.parent is None else trial.parent,
        "origin": ORIGINS.index(trial.origin),
        "ended": position,
        "worker": run.worker,
    }


def _full_losses(setup: CaseSetup, trials: Sequence[Trial], losses: Column) -> Column:
    """The loss of each trial's configuration after a full training."""
    high = setup.benchmark.fidelity.high
    roots = sorted({trial.root for trial in trials})
    evaluated = setup.benchmark.evaluate_many([trials[root].config for root in roots], high)
    full = dict(zip(roots, evaluated.tolist(), strict=True))
    return np.array(
        [losses[trial.id] if trial.fidelity == high else full[trial.root] for trial in trials]
    )


def _ended_before(study: Study) -> Column:
    """For each trial, the number of trials that had ended when it was asked for."""
    ends, before = 0, []
    for event in study.state.history.events:
        if isinstance(event, Asked):
            before.append(ends)
        else:
            ends += 1
    return np.array(before, dtype=COLUMNS["before"])


def recorded_study(record: RunRecord, benchmark: Benchmark, centres: Centres) -> Study:
    """The study of a run as it was at the end."""
    setup = set_up_case(record.case, benchmark, centres)
    setup.study.follow(_events(record, setup.benchmark))
    return setup.study


def _events(record: RunRecord, benchmark: Benchmark) -> Iterator[Event]:
    columns = {name: column.tolist() for name, column in record.columns.items()}
    if benchmark.fidelity.integer:
        columns["fidelity"] = [int(level) for level in columns["fidelity"]]
    order = np.argsort(record.columns["ended"]).tolist()
    ended = 0
    trials: list[Trial] = []
    for number in range(len(record)):
        while ended < columns["before"][number]:
            yield _end_event(order[ended], columns["loss"])
            ended += 1
        trials.append(_trial(number, record, columns, benchmark.space, trials))
        yield Asked(trials[-1])
    yield from (_end_event(number, columns["loss"]) for number in order[ended:])


def _end_event(number: int, losses: list[float]) -> Event:
    loss = losses[number]
    return Told(number, loss) if math.isfinite(loss) else Failed(number, "no finite loss")


def _trial(
    number: int,
    record: RunRecord,
    columns: dict[str, list[Any]],
    space: Space,
    trials: list[Trial],
) -> Trial:
    parent = columns["parent"][number]
    bracket, rung = columns["bracket"][number], columns["rung"][number]
    return Trial(
        number,
        _config(space, record.values[number].tolist()) if parent < 0 else trials[parent].config,
        columns["fidelity"][number],
        None if rung < 0 else Slot(bracket, rung),
        None if parent < 0 else parent,
        ORIGINS[columns["origin"][number]],
        number if parent < 0 else trials[parent].root,
    )


def _encoded_value(space: Space, name: str, value: Any) -> float:
    parameter = space.searched[name]
    if isinstance(parameter, Categorical | Ordinal):
        return float(list(parameter.choices).index(value))
    return float(value)


def _config(space: Space, numbers: list[float]) -> Config:
    values: dict[str, Any] = {}
    for (name, parameter), number in zip(space.searched.items(), numbers, strict=True):
        if isinstance(parameter, Categorical | Ordinal):
            values[name] = parameter.choices[int(number)]
        else:
            values[name] = int(number) if isinstance(parameter, Integer) else number
    return space.complete(values)


def record_to_json(record: RunRecord) -> dict[str, Any]:
    """A record as a JSON object, with null for nan."""
    columns = {
        name: [None if item != item else item for item in column.tolist()]
        for name, column in record.columns.items()
    }
    return {"case": record.case.to_json(), "columns": columns, "values": record.values.tolist()}


def record_from_columns(case: Case, columns: Any, values: Any) -> RunRecord:
    """The record with some columns and values; raises `FormatError` if they are invalid."""
    try:
        arrays = {name: _column(columns[name], kind) for name, kind in COLUMNS.items()}
        rows = np.array(values, dtype=np.float64)
        sizes = {len(column) for column in arrays.values()}
        if rows.ndim != 2 or sizes != {len(rows)}:
            raise ValueError(f"columns of {sorted(sizes)} rows")
        _check_indices(arrays, len(rows))
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"The record of the run {case.name} is invalid: {error}.") from None
    return RunRecord(case, arrays, rows)


def _check_indices(columns: dict[str, Column], count: int) -> None:
    """Raise `ValueError` for the index of a trial, an origin or an end that does not exist."""
    ids = np.arange(count)
    invalid = {
        "origin": ~np.isin(columns["origin"], range(len(ORIGINS))),
        "parent": (columns["parent"] < -1) | (columns["parent"] >= ids),
        "before": (columns["before"] < 0) | (columns["before"] > ids),
        "ended": np.sort(columns["ended"]) != ids,
    }
    for name, rows in invalid.items():
        if rows.any():
            raise ValueError(f"`{name}` of trial {int(np.argmax(rows))} is not allowed")


def _column(items: Any, kind: Any) -> Column:
    if isinstance(items, np.ndarray):
        return items.astype(kind, copy=False)
    return np.array([math.nan if item is None else item for item in items], dtype=kind)
