"""Records: a run as columns of numbers, from which its study can be opened again."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.benchmarks.base import Benchmark
from priorband.errors import FormatError
from priorband.events import Asked, Event, Failed, Told
from priorband.experiments.cases import Case
from priorband.experiments.rules import Centres, Setting, setting
from priorband.space.choices import Categorical, Ordinal
from priorband.space.config import Config
from priorband.space.parameters import Integer
from priorband.space.space import Space
from priorband.study import Study
from priorband.trial import Slot, Trial
from priorband.values import frozen
from priorband.workers.simulation import Plan, Run, carried_out

ORIGINS = ("uniform", "prior", "incumbent", "mode", "model", "grid")
"""Who invents configurations; a column holds the place in this list."""
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
"""What is kept of each trial, in the order they were asked.

`loss` is nan for a failure, `full` the loss of the same configuration after a full training, `cost`
in full trainings. -1 stands for no bracket, rung or parent. `before` is how many trials had ended
when this one was asked, `ended` its place among those that ended.
"""

Column = NDArray[Any]


@final
@frozen
class Record:
    """A finished run."""

    case: Case
    columns: dict[str, Column]
    values: Column
    """A row a trial, a column a searched parameter: numbers, or the index of a choice."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def roots(self) -> Column:
        """The trial that each trial's configuration was first drawn for."""
        roots = np.arange(len(self))
        for number, parent in enumerate(self.columns["parent"].tolist()):
            if parent >= 0:
                roots[number] = roots[parent]
        return roots

    @property
    def completed(self) -> dict[str, Column]:
        """The columns in the order in which trials ended."""
        order = np.argsort(self.columns["ended"])
        columns = self.columns | {"root": self.roots}
        return {name: column[order] for name, column in columns.items()}


def run(case: Case, benchmark: Benchmark, centres: Centres) -> Record:
    """Run a case in simulated time."""
    made = setting(case, benchmark, centres)
    plan = Plan(case.workers, case.budget, each=True, pause=made.pause)
    return _recorded(case, made, carried_out(made.study, made.benchmark, plan))


def _recorded(case: Case, made: Setting, runs: Sequence[Run]) -> Record:
    trials = made.study.state.history.trials
    space = made.benchmark.space
    ended = {one.outcome.trial.id: (place, one) for place, one in enumerate(runs)}
    rows = [_row(trial, *ended[trial.id]) for trial in trials]
    columns = {
        name: np.array([row[name] for row in rows], dtype=kind)
        for name, kind in COLUMNS.items()
        if name not in ("full", "before")
    }
    columns["cost"] = columns["cost"] / made.benchmark.fidelity.high
    columns["full"] = _in_full(made, trials, columns["loss"])
    columns["before"] = _before(made.study)
    values = [
        [_number(space, name, trial.config[name]) for name in space.names] for trial in trials
    ]
    columns = {name: columns[name] for name in COLUMNS}
    return Record(case, columns, np.array(values, dtype=np.float64).reshape(len(rows), len(space)))


def _row(trial: Trial, place: int, one: Run) -> dict[str, float]:
    slot = trial.slot or Slot(-1, -1)
    return {
        "fidelity": trial.fidelity,
        "loss": math.nan if one.outcome.failed else one.outcome.loss,
        "cost": one.cost,
        "bracket": slot.bracket,
        "rung": slot.rung,
        "parent": -1 if trial.parent is None else trial.parent,
        "origin": ORIGINS.index(trial.origin),
        "ended": place,
        "worker": one.worker,
    }


def _in_full(made: Setting, trials: Sequence[Trial], losses: Column) -> Column:
    """The loss of each trial's configuration after a full training."""
    high = made.benchmark.fidelity.high
    roots = sorted({trial.root for trial in trials})
    known = made.benchmark.evaluate_many([trials[root].config for root in roots], high)
    full = dict(zip(roots, known.tolist(), strict=True))
    return np.array(
        [losses[trial.id] if trial.fidelity == high else full[trial.root] for trial in trials]
    )


def _before(study: Study) -> Column:
    """How many trials had ended when each was asked."""
    ends, before = 0, []
    for event in study.state.history.events:
        if isinstance(event, Asked):
            before.append(ends)
        else:
            ends += 1
    return np.array(before, dtype=COLUMNS["before"])


def opened(record: Record, benchmark: Benchmark, centres: Centres) -> Study:
    """The study of a run, as it was at its end."""
    made = setting(record.case, benchmark, centres)
    made.study.follow(_events(record, made.benchmark))
    return made.study


def _events(record: Record, benchmark: Benchmark) -> Iterator[Event]:
    columns = {name: column.tolist() for name, column in record.columns.items()}
    if benchmark.fidelity.integer:
        columns["fidelity"] = [int(level) for level in columns["fidelity"]]
    order = np.argsort(record.columns["ended"]).tolist()
    told = 0
    trials: list[Trial] = []
    for number in range(len(record)):
        while told < columns["before"][number]:
            yield _ending(order[told], columns["loss"])
            told += 1
        trials.append(_trial(number, record, columns, benchmark.space, trials))
        yield Asked(trials[-1])
    yield from (_ending(number, columns["loss"]) for number in order[told:])


def _ending(number: int, losses: list[float]) -> Event:
    loss = losses[number]
    return Told(number, loss) if math.isfinite(loss) else Failed(number, "no finite loss")


def _trial(
    number: int,
    record: Record,
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


def _number(space: Space, name: str, value: Any) -> float:
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


def plain(record: Record) -> dict[str, Any]:
    """A record as JSON carries it: nan as null."""
    columns = {
        name: [None if item != item else item for item in column.tolist()]
        for name, column in record.columns.items()
    }
    return {"case": record.case.plain(), "columns": columns, "values": record.values.tolist()}


def record_from(case: Case, columns: Any, values: Any) -> Record:
    """A record from what a file held."""
    try:
        made = {name: _column(columns[name], kind) for name, kind in COLUMNS.items()}
        rows = np.array(values, dtype=np.float64)
        sizes = {len(column) for column in made.values()}
        if rows.ndim != 2 or sizes != {len(rows)}:
            raise ValueError(f"columns of {sorted(sizes)} rows")
        _check_places(made, len(rows))
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"The run {case.name} is no record of a run: {error}.") from None
    return Record(case, made, rows)


def _check_places(columns: dict[str, Column], count: int) -> None:
    """Refuse numbers of trials, origins and ends that there are none of."""
    ids = np.arange(count)
    wrong = {
        "origin": ~np.isin(columns["origin"], range(len(ORIGINS))),
        "parent": (columns["parent"] < -1) | (columns["parent"] >= ids),
        "before": (columns["before"] < 0) | (columns["before"] > ids),
        "ended": np.sort(columns["ended"]) != ids,
    }
    for name, rows in wrong.items():
        if rows.any():
            raise ValueError(f"trial {int(np.argmax(rows))} cannot have this {name}")


def _column(items: Any, kind: Any) -> Column:
    if isinstance(items, np.ndarray):
        return items.astype(kind, copy=False)
    return np.array([math.nan if item is None else item for item in items], dtype=kind)
