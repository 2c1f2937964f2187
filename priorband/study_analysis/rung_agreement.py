"""Rung agreement: how well the order on a lower rung predicts that on a higher one."""

from typing import final

from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import Bools, Floats, Ints
from priorband.values import frozen


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
    """Whether these are enough to say anything; if not, the numbers below are NaN."""
    tau: Floats
    """Kendall's tau-b between the losses on the two rungs, from -1 to 1."""
    lower: Floats
    """The lower end of the interval."""
    upper: Floats
    """The upper end of the interval."""
    kept: Floats
    """The share of the lower rung's successes that reached the higher one."""
    fidelities: Floats
    """The fidelity of each rung."""
    least: int
    """How many configurations are enough."""
    level: float
    """The level of the intervals."""


def rung_agreement(data: StudyData) -> RungAgreement:
    """Return how well the order of configurations on a rung predicts that on a higher one."""
    raise NotImplementedError
