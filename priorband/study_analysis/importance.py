"""Parameter importance: which parameters decide whether a configuration is good."""

from typing import final

from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import Bools, Floats, Ints
from priorband.values import frozen


@final
@frozen
class ParameterImportance:
    """One entry for each searched parameter, in the space's order."""

    names: tuple[str, ...]
    importance: Floats
    """The share of the parameter, from 0 to 1; they sum to 1. NaN if there is not enough."""
    lower: Floats
    """The lower end of the interval."""
    upper: Floats
    """The upper end of the interval."""
    count: Ints
    """How many configurations were used for the parameter: those in which it is active."""
    enough: Bools
    """Whether these are enough for the parameter."""
    method: str
    """The name of the method."""
    rung: int
    """The rung whose results were used; -1 if there is none with enough."""
    fidelity: float
    """Its fidelity; NaN if there is none."""
    used: int
    """How many configurations succeeded there."""
    least: int
    """How many configurations are enough."""
    level: float
    """The level of the intervals."""


def parameter_importance(data: StudyData, rung: int | None = None) -> ParameterImportance:
    """Return which parameters decide whether a configuration is among the good ones."""
    raise NotImplementedError
