"""Trials and observations: what to evaluate, and the result."""

import math
from typing import TYPE_CHECKING, NamedTuple, NoReturn, final

from priorband.attribute_hints import OF_TRIALS, no_attribute
from priorband.notebook import html_fields
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
    """None for trials outside the brackets: the opening and its continuation, other trials that a
    scheduler wants there, imported results, and trials that were queued with a fidelity."""
    parent: int | None
    """The id of the trial that this one continues."""
    origin: str
    """Where the configuration comes from: "uniform", "prior", "incumbent", "mode", "queued", ..."""
    root: int
    """The id of the first trial in this chain of promotions, or its own. Ties go to the lowest."""

    if not TYPE_CHECKING:  # a type checker knows which attributes there are

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name, OF_TRIALS)

    def _repr_html_(self) -> str:
        slot = self.slot and f"bracket {self.slot.bracket}, rung {self.slot.rung}"
        about = [("fidelity", self.fidelity), ("slot", slot), ("parent", self.parent)]
        return html_fields(
            f"Trial {self.id}", [*about, ("origin", self.origin), *self.config.items()]
        )


def retried_trial(failed: Trial, number: int) -> Trial:
    """The trial that takes the place of a failed one: the same, under another id."""
    root = number if failed.parent is None else failed.root
    about = (failed.config, failed.fidelity, failed.slot, failed.parent, failed.origin)
    return Trial(number, *about, root)


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

    def _repr_html_(self) -> str:
        about = [("loss", self.loss), ("fidelity", self.fidelity), ("reason", self.reason or None)]
        return html_fields(f"Result of trial {self.trial.id}", [*about, *self.config.items()])
