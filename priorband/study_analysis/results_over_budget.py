"""The results of trials over budget and time, as points to draw."""

from typing import final

import numpy as np

from priorband.arguments import checked_count
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import Floats, Ints
from priorband.values import frozen

MOST = 5000
"""How many results are returned by default."""


@final
@frozen
class ResultsOverBudget:
    """One entry for each trial that succeeded, in the order in which they ended."""

    trial: Ints
    spent: Floats
    """What had been spent by then, in full trainings."""
    time: Floats
    """When it ended, in seconds since the study's creation; NaN if unknown."""
    value: Floats
    ended: int
    """How many trials have succeeded in all; there are fewer entries if they were thinned."""


def results_over_budget(data: StudyData, most: int = MOST) -> ResultsOverBudget:
    """Return when each trial that succeeded ended, and its value.

    Args:
        data: the study.
        most: how many results to return at most. If there are more, they are spread evenly.

    Raises:
        ArgumentError: if `most` is not a whole number of at least 1.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "sh")
    >>> for loss in (0.5, 0.7):
    ...     _ = study.tell(study.ask(), loss)
    >>> found = results_over_budget(study_data(study))
    >>> found.spent.round(2).tolist(), found.value.tolist()
    ([0.11, 0.22], [0.5, 0.7])
    """
    trials, most = data.trials, checked_count("most", most)
    spent = np.cumsum(trials.units[trials.order]) / data.full
    at = np.flatnonzero(np.isfinite(trials.loss[trials.order]))
    kept = at
    if len(at) > most:
        kept = at[np.linspace(0, len(at) - 1, most).round().astype(np.int64)]
    trial = trials.order[kept]
    return ResultsOverBudget(
        trial=trial,
        spent=spent[kept],
        time=data.times.ended[trial],
        value=data.values[trial],
        ended=len(at),
    )
