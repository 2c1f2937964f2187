"""Rung agreement: how well the order on a lower rung predicts that on a higher one.

The measure is Kendall's tau-b. It says something that a person can use: of two configurations, the
higher rung puts (1 + tau) / 2 in the same order as the lower one. It is also the one whose error is
known well for a few pairs, which is what the higher rungs have, and one wild loss counts no more
than any other.

Only configurations with a result on both rungs can be compared, and a scheduler promotes the best
of the lower rung. Among these the losses on the lower rung are closer together than among all, so
tau is lower than it would be had everything been promoted: it is the agreement among those that
went on, and `kept` says which share of the lower rung that is. The interval is for this quantity.
"""

from typing import final

import numpy as np

from priorband.study_analysis.rank_correlation import kendall_tau, tau_interval
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import SUCCEEDED, Bools, Floats, Ints
from priorband.values import frozen

LEAST = 8
"""From how many configurations on both rungs the agreement is given."""
_LEVEL = 0.95


@final
@frozen
class RungAgreement:
    """One entry for each pair of rungs, sorted by the lower and then by the higher one."""

    low: Ints
    """The lower rung."""
    high: Ints
    """The higher rung."""
    count: Ints
    """How many configurations succeeded on both."""
    enough: Bools
    """Whether these are enough to say anything; if not, the next three are NaN."""
    tau: Floats
    """Kendall's tau-b between the losses on the two rungs, from -1 to 1; NaN if all are equal."""
    lower: Floats
    """The lower end of the interval."""
    upper: Floats
    """The upper end of the interval."""
    kept: Floats
    """The share of the lower rung's successes that succeeded on the higher one, too."""
    fidelities: Floats
    """The fidelity of each rung."""
    least: int
    """How many configurations are enough."""
    level: float
    """The level of the intervals."""


def rung_agreement(data: StudyData, least: int = LEAST) -> RungAgreement:
    """Return how well the order of configurations on a rung predicts that on a higher one.

    Imported results count where their fidelity is that of a rung. Where a configuration has several
    results on a rung, the first one counts.

    Args:
        data: the study.
        least: from how many configurations on both rungs the agreement is given; below, it is
            said to be not enough.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 3), "asha")
    >>> for _ in range(60):
    ...     trial = study.ask()
    ...     _ = study.tell(trial, trial.config["x"] + 1 / trial.fidelity)
    >>> found = rung_agreement(study_data(study))
    >>> found.count.tolist(), found.tau.tolist(), found.lower.round(2).tolist()
    ([16], [1.0], [0.77])
    """
    losses = [_losses_on(data, rung) for rung in range(data.ladder.top + 1)]
    pairs = [(low, high) for high in range(len(losses)) for low in range(high)]
    pairs.sort()
    low, high = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    rows = [_compared(losses[a], losses[b], least) for a, b in pairs]
    count, tau, lower, upper = np.array(rows, float).reshape(len(rows), 4).T
    below = np.array([len(losses[a]) for a, _ in pairs], float)
    kept = np.full(len(pairs), np.nan)
    kept[below > 0] = count[below > 0] / below[below > 0]
    return RungAgreement(
        low=low,
        high=high,
        count=count.astype(np.int64),
        enough=count >= max(least, 2),
        tau=tau,
        lower=lower,
        upper=upper,
        kept=kept,
        fidelities=np.array(data.ladder.fidelities, float),
        least=least,
        level=_LEVEL,
    )


def _losses_on(data: StudyData, rung: int) -> dict[int, float]:
    """The loss of each configuration on a rung, by the first trial with the configuration."""
    trials = data.trials
    here = np.flatnonzero((trials.rung == rung) & (trials.status == SUCCEEDED))[::-1]
    return dict(zip(trials.same[here].tolist(), trials.loss[here].tolist(), strict=True))


def _compared(
    low: dict[int, float], high: dict[int, float], least: int
) -> tuple[int, float, float, float]:
    """How many configurations two rungs share, and tau with its interval."""
    both = [number for number in high if number in low]
    if len(both) < max(least, 2):
        return len(both), np.nan, np.nan, np.nan
    first = np.array([low[number] for number in both])
    tau = kendall_tau(first, np.array([high[number] for number in both]))
    return len(both), tau, *tau_interval(tau, len(both))
