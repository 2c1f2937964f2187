"""The probabilities of the sources of new configurations over budget, and what led to them."""

from typing import final

from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import Floats, Ints
from priorband.values import frozen


@final
@frozen
class ChancesOverBudget:
    """One entry for each drawn configuration whose decision was repeated, in order."""

    trial: Ints
    """The trial that the configuration was drawn for."""
    rung: Ints
    origin: tuple[str, ...]
    """What was drawn in the end."""
    spent: Floats
    """What had been spent when it was drawn, in full trainings."""
    time: Floats
    """When it was drawn, in seconds since the study's creation; NaN if unknown."""
    sources: tuple[str, ...]
    """The names of the sources, such as "uniform", "prior" and "incumbent"."""
    probability: Floats
    """One row for each source, one column for each entry; NaN without a mixture."""
    prior_score: Floats
    """The score of the prior on the best trials (Algorithm 2); NaN where none was used."""
    incumbent_score: Floats
    """The score of the incumbent."""
    decisions: int
    """How many configurations were drawn in all."""
    repeated: int
    """How many of these decisions were repeated: the entries."""


def chances_over_budget(data: StudyData, most: int = 500) -> ChancesOverBudget:
    """Return with which probabilities configurations were drawn from each source."""
    raise NotImplementedError
