"""Several studies: their best configurations over budget on one axis."""

from collections.abc import Sequence
from typing import final

import numpy as np

from priorband.errors import ArgumentError
from priorband.study_analysis.incumbent import IncumbentSteps, incumbent_over_budget
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import Floats
from priorband.values import frozen


@final
@frozen
class IncumbentComparison:
    """The best values of several studies at the same budgets: row s of a table is study s."""

    names: tuple[str, ...]
    """The names of the studies; where two are the same, a number is added."""
    where: tuple[str | None, ...]
    spent: Floats
    """The axis: all budgets at which the best of a study changes or a study ends, in order."""
    any_fidelity: Floats
    """The incumbent's value at each budget; NaN before the first one and after a study's end."""
    full: Floats
    """The value of the best full training there."""
    last_spent: Floats
    """What each study has spent, in full trainings."""
    fidelities: tuple[str, ...]
    """The name of each study's fidelity."""
    maximize: bool


def compare_incumbents(studies: Sequence[StudyData]) -> IncumbentComparison:
    """Return the best values of several studies over budget, in full trainings of each study.

    Args:
        studies: the studies. They must all maximise, or all minimise.

    Raises:
        ArgumentError: if there is no study, or some maximise and others do not.

    >>> from priorband import Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> one, other = (Study(Space(x=Float(0, 1)), method="random") for _ in range(2))
    >>> for loss in (0.5, 0.25):
    ...     _ = one.tell(one.ask(), loss), other.tell(other.ask(), 2 * loss)
    >>> both = compare_incumbents([study_data(one), study_data(other)])
    >>> both.names, both.spent.tolist(), both.full.tolist()
    (('study', 'study (2)'), [1.0, 2.0], [[0.5, 0.25], [1.0, 0.5]])
    """
    if not studies:
        raise ArgumentError("`studies` must have at least one study to compare, got none.")
    if len({data.maximize for data in studies}) > 1:
        raise ArgumentError(
            "`studies` must all maximise or all minimise, got both. Compare those that maximise "
            "apart from the others."
        )
    found = [incumbent_over_budget(data) for data in studies]
    budgets = [
        x for each in found for x in (each.any_fidelity.spent, each.full.spent, [each.spent])
    ]
    axis = np.unique(np.concatenate([np.asarray(budget, float) for budget in budgets]))
    last = np.array([each.spent for each in found])
    return IncumbentComparison(
        names=_distinct([data.name for data in studies]),
        where=tuple(data.where for data in studies),
        spent=axis,
        any_fidelity=np.array([_at(each.any_fidelity, axis, each.spent) for each in found]),
        full=np.array([_at(each.full, axis, each.spent) for each in found]),
        last_spent=last,
        fidelities=tuple(each.fidelity for each in found),
        maximize=studies[0].maximize,
    )


def _at(steps: IncumbentSteps, axis: Floats, last: float) -> Floats:
    """The value in force at each budget, from the first step to the study's end."""
    step = np.searchsorted(steps.spent, axis, side="right") - 1
    known = (step >= 0) & (axis <= last)
    values = np.full(len(axis), np.nan)
    values[known] = steps.value[step[known]]
    return values


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, with a number for those that have come up before."""
    seen: dict[str, int] = {}
    shown = list[str]()
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        shown.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(shown)
