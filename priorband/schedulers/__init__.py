"""Schedulers: they choose the rung of the next trial, and which trials to promote.

Combine a scheduler with a sampler in an `Optimizer`. To write one of your own, see `Scheduler`.
"""

from priorband.schedulers.asynchronous import ASHA, AsyncHyperband
from priorband.schedulers.base import Continue, Extra, Promote, Sample, Scheduler, promotable
from priorband.schedulers.full import FullFidelity
from priorband.schedulers.opened import ContinueMode
from priorband.schedulers.staged import StagedScheduler
from priorband.schedulers.synchronous import Hyperband, SuccessiveHalving
from priorband.streams import RandomSource
from priorband.trial import Slot

__all__ = [
    "ASHA",
    "AsyncHyperband",
    "Continue",
    "ContinueMode",
    "Extra",
    "FullFidelity",
    "Hyperband",
    "Promote",
    "RandomSource",
    "Sample",
    "Scheduler",
    "Slot",
    "StagedScheduler",
    "SuccessiveHalving",
    "promotable",
]
