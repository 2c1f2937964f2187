"""The four things that can happen to a study. A history is a fold of them, and nothing else."""

from dataclasses import dataclass
from typing import final

from priorband.space.config import Config
from priorband.trial import Trial


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """A trial was handed out, or a result from elsewhere is about to be told."""

    trial: Trial


@final
@dataclass(frozen=True, slots=True)
class Told:
    """A trial ended with a finite loss."""

    trial: int
    loss: float


@final
@dataclass(frozen=True, slots=True)
class Failed:
    """A trial ended without one."""

    trial: int
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Queued:
    """A person wants this configuration tried next, at a fidelity or wherever the plan has room."""

    config: Config
    fidelity: float | None


Event = Asked | Told | Failed | Queued
