"""What became of each trial, in a word, as tables of trials show it."""

from collections.abc import Iterable
from typing import Literal

from priorband.guard import MODE
from priorband.schedulers.base import Scheduler, promotable
from priorband.schedulers.opened import ContinueMode
from priorband.schedulers.staged import StagedScheduler
from priorband.state import State
from priorband.trial import IMPORTED, Trial

Outcome = Literal[
    "running",
    "waiting",
    "failed",
    "retried",
    "imported",
    "promoted",
    "continued",
    "stopped",
    "open",
    "finished",
]
"""What became of a trial.

- "running": a worker has it. "waiting": it waits for its next attempt.
- "failed": it ended without a loss. "retried": the same, but another trial has its place.
- "imported": a result from elsewhere.
- "promoted": a later trial continues it on the next rung. "continued": one does so outside the
  brackets, such as the prior's mode in full.
- "stopped": it will never be continued. "open": it succeeded, and may still be continued.
- "finished": it succeeded at the fidelity that was wanted; for most, that is a full training.
"""


def outcome_of(scheduler: Scheduler | None, state: State, number: int) -> Outcome:
    """What became of one trial.

    Args:
        scheduler: The scheduler of the study; None if it is not known.
        state: What has happened so far.
        number: The id of the trial.

    Example:
        >>> from priorband import Fidelity, Float, Space, Study
        >>> study = Study(Space({"x": Float(0, 1)}), Fidelity("epochs", 1, 9), "sh")
        >>> for trial in study.ask(9):
        ...     _ = study.tell(trial, trial.id)
        >>> [outcome_of(study.optimizer.scheduler, study.state, number) for number in (0, 8)]
        ['open', 'stopped']
    """
    child = first_child(state, number)
    open_ones = open_trials(scheduler, state, [number])
    return _outcome(scheduler, state, state.history.trial(number), child, number in open_ones)


def outcomes_of(scheduler: Scheduler | None, state: State) -> list[Outcome]:
    """What became of all trials, by their ids. The arguments are those of `outcome_of`."""
    trials = state.history.trials
    children = dict[int, Trial]()
    for trial in trials:
        if trial.parent is not None:
            children.setdefault(trial.parent, trial)
    open_ones = open_trials(scheduler, state, range(len(trials)))
    return [
        _outcome(scheduler, state, trial, children.get(trial.id), trial.id in open_ones)
        for trial in trials
    ]


def first_child(state: State, number: int) -> Trial | None:
    """The trial that continues this one; None if there is none. A retry of it comes later."""
    history = state.history
    if not history.promoted(number):
        return None
    later = (history.trial(each) for each in range(number + 1, len(history)))
    return next(trial for trial in later if trial.parent == number)


def continues_mode(scheduler: Scheduler | None) -> bool:
    """Whether a scheduler continues the prior's mode outside the brackets once it is ahead."""
    while isinstance(scheduler, StagedScheduler):
        scheduler = scheduler.plan
    return isinstance(scheduler, ContinueMode)


def has_duels(scheduler: Scheduler | None) -> bool:
    """Whether a scheduler may continue a trial outside the brackets as a rival of the prior."""
    return isinstance(scheduler, StagedScheduler) and scheduler.duel


def open_trials(scheduler: Scheduler | None, state: State, trials: Iterable[int]) -> set[int]:
    """Those of some trials that may still be continued; all in slots if it is not known."""
    history = state.history
    ended = [number for number in trials if history.outcome(number) is not None]
    if scheduler is not None:
        return promotable(scheduler, state, ended)
    return {number for number in ended if history.trial(number).slot is not None}


def _outcome(
    scheduler: Scheduler | None, state: State, trial: Trial, child: Trial | None, is_open: bool
) -> Outcome:
    ended = state.history.outcome(trial.id)
    if ended is None:
        return "running"
    if ended.failed:
        return "retried" if state.history.retried(trial.id) else "failed"
    if trial.origin == IMPORTED:
        return "imported"
    if child is not None:
        return "continued" if child.slot is None else "promoted"
    full = trial.fidelity >= state.ladder.fidelity.high
    in_turn = trial.slot is not None or (trial.origin == MODE and continues_mode(scheduler))
    return end_of_success(full, is_open, in_turn)


def end_of_success(full: bool, is_open: bool, in_turn: bool) -> Outcome:
    """What became of a success that no trial continues.

    Args:
        full: Whether it is a full training.
        is_open: Whether it may still be continued.
        in_turn: Whether the method has ranked it to decide that.
    """
    if full:
        return "finished"
    if is_open:
        return "open"
    return "stopped" if in_turn else "finished"
