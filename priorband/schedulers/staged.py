"""A scheduler around another one: brackets first, and full trainings of a model's choice later."""

from collections.abc import Iterable
from typing import final

from priorband.conditions import Condition, Proven
from priorband.errors import MethodError
from priorband.numeric import whole
from priorband.proof import bracket_is_over, misses, possible_rivals, rival
from priorband.schedulers.base import Continue, Extra, Sample, Scheduler, Step, promotable
from priorband.schedulers.opened import require_scheduler
from priorband.state import State
from priorband.streams import RandomSource
from priorband.values import frozen, settle

PROVEN = Proven()


@final
@frozen
class StagedScheduler:
    """Brackets first, then single full trainings, with a bracket between them now and then.

    It follows a plan of brackets. Whenever that plan begins another bracket, and the first one is
    over, it may do something else outside the brackets: a duel, or a full training of a new
    configuration, which the method's sampler `extra` chooses. Full trainings begin after the first
    bracket if the prior is proven, else after the second. If several of them in a row are not
    better than all full trainings before, the plan gets one bracket, and they begin again.

    Args:
        plan: The scheduler of the brackets: Hyperband, or a scheduler around it.
        duel: Whether a uniform draw of the first bracket is continued, once, if all full trainings
            are of the prior: it has nothing to be compared with otherwise.
        proof: The condition under which the prior is proven.
        patience: After how many full trainings without an improvement a bracket follows: if the
            prior is proven, and if it is not.

    Raises:
        MethodError: If `plan` is not a scheduler, `proof` is not a condition, or `patience` is not
            a pair of whole numbers from 1.

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.samplers import FromUniform, GPSearch
        >>> from priorband.schedulers import Hyperband
        >>> scheduler = StagedScheduler(Hyperband(bases=(0, 1)))
        >>> method = Optimizer(scheduler, FromUniform(), extra=GPSearch("full"))
    """

    plan: Scheduler
    duel: bool = True
    proof: Condition = PROVEN
    patience: tuple[int, int] = (3, 1)

    def __post_init__(self) -> None:
        require_scheduler("plan", self.plan)
        if not isinstance(self.duel, bool):
            raise MethodError(f"`duel` must be True or False, got {self.duel!r}.")
        if isinstance(self.proof, type) or not callable(self.proof):
            raise MethodError(f"`proof` must be a function of the state, got {self.proof!r}.")
        pair = tuple(self.patience) if isinstance(self.patience, tuple | list) else ()
        if len(pair) != 2 or not all(whole(each) and each >= 1 for each in pair):
            raise MethodError(
                "`patience` must be two whole numbers of at least 1, for a prior that is proven "
                f"and for one that is not, got {self.patience!r}."
            )
        settle(self, patience=(int(pair[0]), int(pair[1])))

    def next(self, state: State, rng: RandomSource) -> Step:
        """Return the step of the plan, or what takes the place of a new bracket."""
        step = self.plan.next(state, rng)
        begins = isinstance(step, Sample) and step.slot.bracket == state.history.brackets
        if not begins or not bracket_is_over(state, 0):
            return step
        chosen = rival(state) if self.duel else None
        if chosen is not None:
            return Continue(chosen.trial, state.ladder.top, "duel")
        proven = self.proof(state)
        if not proven and not bracket_is_over(state, 1):
            return step
        return step if misses(state) >= self.patience[not proven] else Extra(state.ladder.top)

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        """Return those that the plan may promote, and those that may be continued for a duel."""
        ended = set(trials)
        kept = promotable(self.plan, state, ended)
        return kept | (possible_rivals(state) & ended) if self.duel else kept
