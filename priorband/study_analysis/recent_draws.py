"""What the last draws and results of a study were, for views that are shown again and again."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from priorband.study_analysis.trial_columns import Floats, TrialColumns


def sampled_origins(trials: TrialColumns, last: int | None = None) -> Mapping[str, int]:
    """Return where the last drawn configurations are from, the most frequent origin first.

    Queued and imported configurations, promotions and retries are not drawn.

    Args:
        trials: the trials of a study.
        last: how many draws to count; None for all.

    >>> from priorband import Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 1)), method="random")
    >>> _ = study.ask(3)
    >>> sampled_origins(study_data(study).trials)
    {'uniform': 3}
    """
    codes = trials.origin[trials.drawn]
    newest = codes[::-1][: len(codes) if last is None else last]
    counts = Counter(trials.origins[code] for code in newest.tolist())
    return dict(counts.most_common())


def best_losses(trials: TrialColumns) -> Floats:
    """Return the lowest loss after each result at any fidelity, from the first success on.

    >>> from priorband import Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 1)), method="random")
    >>> for loss in (float("nan"), 0.5, 0.7, 0.2):
    ...     _ = study.tell(study.ask(), loss)
    >>> best_losses(study_data(study).trials).tolist()
    [0.5, 0.5, 0.2]
    """
    lowest: Floats = np.minimum.accumulate(trials.loss[trials.order])
    return lowest[np.isfinite(lowest)]
