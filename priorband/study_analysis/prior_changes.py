"""When the prior of a study was changed, over budget."""

from typing import final

import numpy as np

from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import Floats, Ints
from priorband.values import frozen


@final
@frozen
class PriorChanges:
    """One entry for each change of the prior, in order."""

    asked: Ints
    """How many trials were asked before it; later ones have this id or a higher one."""
    ended: Ints
    """How many trials had ended."""
    spent: Floats
    """What had been spent by then, in full trainings."""


def prior_changes(data: StudyData) -> PriorChanges:
    """Return when the prior was changed.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 1, prior=0.3)), Fidelity("epochs", 1, 9))
    >>> for _ in range(3):
    ...     _ = study.tell(study.ask(), 0.5)
    >>> study.set_prior({"x": 0.6})
    >>> found = prior_changes(study_data(study))
    >>> found.asked.tolist(), found.spent.round(2).tolist()
    ([3], [1.22])
    """
    trials, changes = data.trials, data.state.history.prior_changes
    spent = np.concatenate(([0.0], np.cumsum(trials.units[trials.order]))) / data.full
    ended = np.array([change.ended for change in changes], np.int64)
    return PriorChanges(
        asked=np.array([change.asked for change in changes], np.int64),
        ended=ended,
        spent=spent[np.minimum(ended, len(spent) - 1)],
    )
