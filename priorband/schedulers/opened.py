"""A scheduler around another one: it continues the prior's mode once that is worth it."""

from collections.abc import Iterable
from typing import final

from priorband.errors import MethodError
from priorband.guard import due_mode, mode_leads_its_rung, waiting_mode
from priorband.schedulers.base import Continue, Scheduler, Step, promotable
from priorband.state import State
from priorband.streams import RandomSource
from priorband.trial import Observation
from priorband.values import frozen


@final
@frozen
class ContinueMode:
    """Continue the prior's mode to a full training once it is ahead; otherwise follow a plan.

    It is for methods whose opening evaluates the mode below the highest rung, outside the brackets.
    The mode goes on, once and before any other step, if one of these is true:

    - Its rung has more than eta successes, its own included, and none of them ranks before it.
    - The first trials of the first bracket, which are uniform draws, have ended, and the mode is
      the best so far. There are as many of them as the bracket's next rung takes.

    Args:
        plan: The scheduler of all other trials.

    Raises:
        MethodError: If `plan` is not a scheduler.

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.optimizers import Opening
        >>> from priorband.samplers import FromPrior, PriorMode
        >>> from priorband.schedulers import Hyperband
        >>> method = Optimizer(ContinueMode(Hyperband()), FromPrior(), Opening(PriorMode()))
    """

    plan: Scheduler

    def __post_init__(self) -> None:
        require_scheduler("plan", self.plan)

    def next(self, state: State, rng: RandomSource) -> Step:
        """Return the continuation of the mode if it is due, or else the step of the plan."""
        mode = due_mode(state)
        if mode is not None:
            return Continue(mode.trial, state.ladder.top)
        return self.plan.next(state, rng)

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        """Return those that the plan may promote, and the mode while it may be continued."""
        ended = set(trials)
        kept = promotable(self.plan, state, ended)
        mode = waiting_mode(state)
        if mode is not None and mode.trial.id in ended and _may_go_on(state, mode):
            kept.add(mode.trial.id)
        return kept


def _may_go_on(state: State, mode: Observation) -> bool:
    """Whether the mode can still get ahead; results that rank before it stay."""
    if mode_leads_its_rung(state, mode):
        return True
    best = state.history.best_at(state.ladder.fidelities[-1])
    return best is None or (state.regard == "lowest" and mode.loss <= best.loss)


def require_scheduler(name: str, part: object) -> None:
    """Raise `MethodError` unless `part` is a scheduler."""
    if isinstance(part, type) or not hasattr(part, "next"):
        raise MethodError(
            f"`{name}` must have a method `next`, got {part!r}. "
            "Use a scheduler such as Hyperband()."
        )
