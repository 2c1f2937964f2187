"""Schedulers around others, and the scheduler of the brackets inside."""

from typing import Any

from priorband.schedulers.base import Scheduler
from priorband.schedulers.opened import ContinueMode
from priorband.schedulers.staged import StagedScheduler
from priorband.values import replaced

_AROUND = (ContinueMode, StagedScheduler)


def base_plan(scheduler: Scheduler) -> Scheduler:
    """The scheduler of the brackets, without those around it."""
    while isinstance(scheduler, _AROUND):
        scheduler = scheduler.plan
    return scheduler


def with_plan(scheduler: Scheduler, **options: Any) -> Scheduler:
    """The same scheduler, with other options of the scheduler of its brackets."""
    if isinstance(scheduler, _AROUND):
        return replaced(scheduler, plan=with_plan(scheduler.plan, **options))
    return replaced(scheduler, **options) if options else scheduler
