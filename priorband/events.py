"""The five kinds of event in a study. A history is built from them alone."""

from typing import final

from priorband.space.config import Config
from priorband.space.prior import Prior
from priorband.trial import Trial
from priorband.values import frozen, repr_without_defaults


@final
@frozen
class Asked:
    """A trial was handed out for evaluation, or was made for an imported result."""

    trial: Trial


@final
@frozen
class Told:
    """A trial ended with a finite loss."""

    trial: int
    loss: float


@final
@frozen
class Failed:
    """A trial ended without a finite loss."""

    trial: int
    reason: str


@final
@frozen
class Queued:
    """A user queued a configuration, at a given fidelity or for the scheduler's next free slot.

    With `retry`, it is that of a failed trial, which is to be handed out again in its old place.
    """

    config: Config
    fidelity: float | None
    retry: int | None = None
    """The id of the failed trial."""

    __repr__ = repr_without_defaults("retry")


@final
@frozen
class PriorChanged:
    """A user replaced the prior: decisions after this use the new one."""

    prior: Prior


Event = Asked | Told | Failed | Queued | PriorChanged
