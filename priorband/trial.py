"""Trials and observations: what was asked, and what was told."""

import math
from typing import NamedTuple, final

from priorband.space.config import Config
from priorband.values import frozen

QUEUED = "queued"
IMPORTED = "imported"


class Slot(NamedTuple):
    """A trial's place in its scheduler's plan."""

    bracket: int
    rung: int


@final
@frozen
class Trial:
    """One configuration at one fidelity. A promotion is a new trial that continues its parent."""

    id: int
    config: Config
    fidelity: float
    slot: Slot | None
    """None outside the plan: the opening, an imported result."""
    parent: int | None
    """The trial this one continues."""
    origin: str
    """Who invented the configuration: "uniform", "prior", "incumbent", "mode", "queued", ..."""
    root: int
    """The trial that this one and its parents began with, or itself: ties go to the oldest."""


@final
@frozen
class Observation:
    """A trial and what came of it. A failure has infinite loss, so it ranks behind everything."""

    trial: Trial
    loss: float
    reason: str = ""

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
        """Whether the evaluation brought no finite loss."""
        return math.isinf(self.loss)

    @property
    def ranking(self) -> tuple[float, int]:
        """The order of observations everywhere: by loss, equal ones by age of configuration."""
        return self.loss, self.trial.root
