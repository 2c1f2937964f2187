"""The four things that can happen to a study. A history is a fold of them, and nothing else."""

from typing import final

from priorband.space.config import Config
from priorband.trial import Trial
from priorband.values import frozen


@final
@frozen
class Asked:
    """A trial was handed out, or a result from elsewhere is about to be told."""

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
    """A trial ended without one."""

    trial: int
    reason: str


@final
@frozen
class Queued:
    """A person wants this configuration tried next, at a fidelity or wherever the plan has room."""

    config: Config
    fidelity: float | None


Event = Asked | Told | Failed | Queued
