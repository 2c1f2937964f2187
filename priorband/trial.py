"""Trials and observations: what to evaluate, and the result."""

import math
from typing import NamedTuple, final

from priorband.space.config import Config
from priorband.values import frozen

QUEUED = "queued"
IMPORTED = "imported"


class Slot(NamedTuple):
    """The bracket and rung that a scheduler chose for a trial."""

    bracket: int
    """Which bracket, from 0."""
    rung: int
    """Which rung of the ladder, from 0 for the lowest fidelity."""


@final
@frozen
class Trial:
    """One configuration at one fidelity. A promotion is a new trial that continues its parent."""

    id: int
    """The number of the trial, from 0."""
    config: Config
    """A value for each parameter of the space."""
    fidelity: float
    """How far to train in total."""
    slot: Slot | None
    """None for trials that no scheduler placed: the opening, imported results, and trials that were
    queued with a fidelity."""
    parent: int | None
    """The id of the trial that this one continues."""
    origin: str
    """Where the configuration comes from: "uniform", "prior", "incumbent", "mode", "queued", ..."""
    root: int
    """The id of the first trial in this chain of promotions, or its own. Ties go to the lowest."""


@final
@frozen
class Observation:
    """A trial and its result. A failure has infinite loss, so it ranks last."""

    trial: Trial
    """The trial that ended."""
    loss: float
    """Its loss; infinite if it failed."""
    reason: str = ""
    """Why it failed, beginning with the kind of failure; empty if it succeeded."""

    @property
    def config(self) -> Config:
        """The trial's configuration."""
        return self.trial.config

    @property
    def fidelity(self) -> float:
        """The trial's fidelity."""
        return self.trial.fidelity

    @property
    def failed(self) -> bool:
        """Whether the trial ended without a finite loss."""
        return math.isinf(self.loss)

    @property
    def ranking(self) -> tuple[float, int]:
        """The sort key of observations: by loss, ties by the id of the `root` trial."""
        return self.loss, self.trial.root
