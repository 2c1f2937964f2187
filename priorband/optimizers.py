"""An optimizer is a pure function from what has happened to what to do next.

It is a scheduler, which decides where the next evaluation goes, and a sampler, which invents what
to evaluate there. The two never call each other and draw from streams of their own.
"""

from typing import final

from priorband.errors import MethodError
from priorband.fidelity import Fidelity
from priorband.history import History
from priorband.ladder import Ladder, Rule
from priorband.samplers.base import Chances, Draw, Sampler, require_sampler
from priorband.schedulers.base import Promote, Scheduler
from priorband.space.prior import Prior
from priorband.space.space import Space
from priorband.state import Regard, State
from priorband.streams import Dice, generator
from priorband.trial import IMPORTED, QUEUED, Slot, Trial
from priorband.values import frozen


@final
@frozen
class Decision:
    """The next trial, and the chances its sampler had where it is a mixture."""

    trial: Trial
    chances: Chances | None = None


@final
@frozen
class Optimizer:
    """A scheduler times a sampler.

    `opening` draws the first evaluation, a full training outside the plan. `eta` and `sizes` shape
    the ladder, `incumbent` says which configuration counts as the best.

    >>> from priorband import Optimizer
    >>> from priorband.samplers import FromUniform
    >>> from priorband.schedulers import Hyperband
    >>> Optimizer(Hyperband(), FromUniform(), eta=4).scheduler
    Hyperband()
    """

    scheduler: Scheduler
    sampler: Sampler
    opening: Sampler | None = None
    eta: int = 3
    sizes: Rule = "floor"
    incumbent: Regard = "lowest"

    def __post_init__(self) -> None:
        if isinstance(self.scheduler, type) or not hasattr(self.scheduler, "next"):
            raise MethodError(
                f"`scheduler` must have a method `next`, got {self.scheduler!r}. "
                "Take one such as Hyperband()."
            )
        require_sampler("sampler", self.sampler)
        if self.opening is not None:
            require_sampler("opening", self.opening)
        if self.incumbent not in ("lowest", "max_fidelity_first"):
            raise MethodError(
                f"`incumbent` must be 'lowest' or 'max_fidelity_first', got {self.incumbent!r}."
            )
        Ladder(Fidelity("any", 1, 9), self.eta, self.sizes)  # refuses a wrong eta or rule at once

    def start(self, space: Space, prior: Prior, fidelity: Fidelity) -> State:
        """The state before anything has happened."""
        return State(
            space, prior, Ladder(fidelity, self.eta, self.sizes), History(), self.incumbent
        )

    def propose(self, state: State, seed: int) -> Trial:
        """The next trial. The same state and seed give the same trial, in any process."""
        return self.decide(state, seed).trial

    def decide(self, state: State, seed: int) -> Decision:
        """The next trial and the chances behind it."""
        number, queued, drawn = state.history.upcoming()
        if queued is not None and queued.fidelity is not None:
            draw = Draw(queued.config, QUEUED)
            return Decision(_new(number, draw, queued.fidelity, None))
        if queued is None and self.opening is not None and not drawn:
            top = state.ladder.top
            draw = self.opening.sample(state, top, generator(seed, number, "sampler"))
            return Decision(_new(number, draw, state.ladder.fidelities[top], None), draw.chances)
        step = self.scheduler.next(state, Dice(seed, number, "scheduler"))
        fidelity = state.ladder.fidelities[step.slot.rung]
        if isinstance(step, Promote):
            return Decision(_continued(number, step, fidelity))
        if queued is not None:
            draw = Draw(queued.config, QUEUED)
        else:
            draw = self.sampler.sample(state, step.slot.rung, generator(seed, number, "sampler"))
            if draw.origin in (QUEUED, IMPORTED):
                raise MethodError(f"The origin {draw.origin!r} is kept for what people give.")
        return Decision(_new(number, draw, fidelity, step.slot), draw.chances)


def _new(number: int, draw: Draw, fidelity: float, slot: Slot | None) -> Trial:
    return Trial(number, draw.config, fidelity, slot, None, draw.origin, number)


def _continued(number: int, step: Promote, fidelity: float) -> Trial:
    parent = step.trial
    return Trial(number, parent.config, fidelity, step.slot, parent.id, parent.origin, parent.root)
