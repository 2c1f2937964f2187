"""Configurations and results as columns, for tables and parallel coordinates."""

from typing import Any, final

import numpy as np

from priorband.space.base import Parameter
from priorband.space.config_columns import mark
from priorband.space.parameters import Float, Integer
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import STATUSES, Floats, Ints
from priorband.values import frozen


@final
@frozen
class ParameterColumn:
    """One searched parameter: its values in all trials. NaN where it is inactive."""

    name: str
    kind: str
    """ "float", "integer", "ordinal" or "categorical"."""
    log: bool
    """Whether its scale is logarithmic."""
    low: float
    """The lowest value; 0 for choices."""
    high: float
    """The highest value; the number of choices less 1."""
    labels: tuple[str, ...]
    """The choices as texts; empty for numbers."""
    value: Floats
    """The number, or the index of the choice in `labels`."""
    unit: Floats
    """The position from 0 to 1 on the parameter's scale. Choices are spread evenly."""


@final
@frozen
class ConfigTable:
    """All trials, one entry each by id. A whole number of -1 stands for None."""

    trial: Ints
    parent: Ints
    root: Ints
    bracket: Ints
    rung: Ints
    """The rung of its slot or of its fidelity; -1 if no rung has that."""
    origin: Ints
    """As an index into `origins`."""
    status: Ints
    """As an index into `statuses`."""
    fidelity: Floats
    value: Floats
    """With the sign that the objective uses; NaN without one."""
    spent: Floats
    """What the trial itself costs, in full trainings; 0 for an imported one."""
    cost: Floats
    """What it said that it cost; NaN if it did not."""
    seconds: Floats
    """How long it took; NaN if unknown."""
    parameters: tuple[ParameterColumn, ...]
    """The searched parameters, in the space's order."""
    origins: tuple[str, ...]
    statuses: tuple[str, ...]
    maximize: bool


def config_columns(data: StudyData) -> ConfigTable:
    """Return the configurations and results of all trials as columns.

    >>> from priorband import Categorical, Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> space = Space(lr=Float(1e-4, 1, log=True), act=Categorical(["relu", "gelu"]))
    >>> study = Study(space, method="random")
    >>> _ = study.add({"lr": 0.01, "act": "gelu"}, 0.5)
    >>> [(p.name, p.unit.tolist(), p.labels) for p in config_columns(study_data(study)).parameters]
    [('lr', [0.5], ()), ('act', [1.0], ('relu', 'gelu'))]
    """
    trials, times = data.trials, data.times
    named = zip(data.problem.space.searched.items(), trials.configs.columns, strict=True)
    return ConfigTable(
        trial=np.arange(len(trials)),
        parent=trials.parent,
        root=trials.root,
        bracket=trials.bracket,
        rung=trials.rung,
        origin=trials.origin,
        status=trials.status,
        fidelity=trials.fidelity,
        value=data.values,
        spent=trials.units / data.full,
        cost=times.cost,
        seconds=times.seconds,
        parameters=tuple(_column(n, p, stored, trials.config_row) for (n, p), stored in named),
        origins=trials.origins,
        statuses=STATUSES,
        maximize=data.maximize,
    )


def _column(name: str, parameter: Parameter, stored: Any, rows: Ints) -> ParameterColumn:
    """A parameter's column; `stored` has the values of configurations, `rows` those of trials."""
    absent = np.isnan(stored) if isinstance(parameter, Float) else stored == mark(parameter)
    value = np.where(absent, np.nan, stored)
    log, low, high, labels = False, 0.0, len(parameter.choices) - 1.0, tuple[str, ...]()
    if isinstance(parameter, Float | Integer):
        log, low, high = parameter.log, float(parameter.low), float(parameter.high)
    else:
        labels = tuple(map(str, parameter.choices))
    return ParameterColumn(
        name=name,
        kind=_kind(parameter),
        log=log,
        low=low,
        high=high,
        labels=labels,
        value=value[rows],
        unit=_units(parameter, value, absent)[rows],
    )


def _kind(parameter: Parameter) -> str:
    if isinstance(parameter, Float | Integer):
        return "float" if isinstance(parameter, Float) else "integer"
    return "ordinal" if parameter.size is None else "categorical"


def _units(parameter: Parameter, value: Floats, absent: Any) -> Floats:
    """Positions from 0 to 1 on the scale of a parameter; numbers as `encode` places them."""
    if isinstance(parameter, Float) and parameter.grid is None:
        ends = np.array([parameter.low, parameter.high])
        low, high = np.log(ends) if parameter.log else ends
        scaled = np.log(value) if parameter.log else value
        position: Floats = np.clip((scaled - low) / (high - low), 0.0, 1.0)
        return position
    if not isinstance(parameter, Float | Integer):
        count = len(parameter.choices)
        spread: Floats = value / (count - 1) if count > 1 else np.where(absent, np.nan, 0.5)
        return spread
    distinct, where = np.unique(value[~absent], return_inverse=True)
    encoded = np.array([parameter.encode(each) for each in distinct.tolist()], float)
    unit = np.full(len(value), np.nan)
    unit[~absent] = encoded[where]
    return unit
