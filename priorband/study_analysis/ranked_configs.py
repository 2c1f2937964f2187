"""The configurations of a study in the order of their results."""

import numpy as np

from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import RUNNING, Ints


def ranked_configs(data: StudyData) -> Ints:
    """Return the trial that counts for each configuration, the best first.

    A configuration counts with the highest fidelity that it has finished, as for the incumbent,
    which is the first. One that failed there is left out, and so is one without any result.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "sh")
    >>> for loss in (8, 7, 6, 5, 4, 3, 2, 1, 0, 9):
    ...     _ = study.tell(study.ask(), loss)
    >>> ranked_configs(study_data(study)).tolist()
    [7, 6, 5, 4, 3, 2, 1, 0, 9]
    """
    trials = data.trials
    ended = np.flatnonzero(trials.status != RUNNING)
    loss, root = trials.loss[ended], trials.root[ended]
    furthest = ended[np.lexsort((root, loss, -trials.fidelity[ended], trials.same[ended]))]
    _, first = np.unique(trials.same[furthest], return_index=True)
    counting = furthest[first]
    counting = counting[np.isfinite(trials.loss[counting])]
    ranked: Ints = counting[np.lexsort((trials.root[counting], trials.loss[counting]))]
    return ranked
