"""An optimizer: a pure function from what has happened so far to the next trial.

It combines a scheduler, which chooses the rung of the next trial, with a sampler, which chooses new
configurations. The two never call each other, and have separate random streams.
"""

from typing import final

from priorband.errors import MethodError
from priorband.fidelity import Fidelity
from priorband.history import History
from priorband.ladder import Ladder, Rule
from priorband.numeric import one_of
from priorband.samplers.base import Chances, Draw, Sampler, require_sampler
from priorband.schedulers.base import Promote, Scheduler
from priorband.space.prior import Prior
from priorband.space.space import Space
from priorband.state import Regard, State
from priorband.streams import RandomStream, generator
from priorband.trial import IMPORTED, QUEUED, Slot, Trial, retried_trial
from priorband.values import frozen


@final
@frozen
class Decision:
    """The next trial, and how its configuration was drawn.

    Args:
        trial: The trial.
        chances: The probabilities with which a mixture chose a sampler; None if none did.

    Example:
        >>> from priorband import Fidelity, Float, Space, Study
        >>> study = Study(Space({"x": Float(0, 1)}), Fidelity("epochs", 1, 9), "hyperband")
        >>> study.optimizer.decide(study.state, seed=0).trial.fidelity
        1
    """

    trial: Trial
    chances: Chances | None = None


@final
@frozen
class Optimizer:
    """A method: a scheduler combined with a sampler.

    Args:
        scheduler: Chooses the rung of the next trial, and what to promote.
        sampler: Chooses new configurations.
        opening: If given, this sampler chooses the first configuration, which is trained in full
            before the scheduler starts.
        eta: The factor between the fidelities of two rungs: one in `eta` trials is promoted.
        sizes: Whether the numbers of trials in a bracket are rounded with "floor" or "ceil".
        incumbent: Which configuration counts as the best so far. "lowest": the one with the lowest
            loss, each at its highest fidelity. "max_fidelity_first": the one with the lowest loss
            at the highest fidelity that any trial has reached.

    Raises:
        MethodError: If a part is not a scheduler or a sampler, or an option is not allowed.

    Example:
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
                "Use a scheduler such as Hyperband()."
            )
        require_sampler("sampler", self.sampler)
        if self.opening is not None:
            require_sampler("opening", self.opening)
        if not one_of(self.incumbent, ("lowest", "max_fidelity_first")):
            raise MethodError(
                f"`incumbent` must be 'lowest' or 'max_fidelity_first', got {self.incumbent!r}."
            )
        Ladder(Fidelity("any", 1, 9), self.eta, self.sizes)  # raises an error for wrong values

    def start(self, space: Space, prior: Prior, fidelity: Fidelity) -> State:
        """Return the state of a study without trials."""
        return State(
            space, prior, Ladder(fidelity, self.eta, self.sizes), History(), self.incumbent
        )

    def propose(self, state: State, seed: int) -> Trial:
        """Return the next trial.

        Args:
            state: What has happened so far.
            seed: The seed of the study. The same state and seed always give the same trial.

        Returns:
            The trial.

        Raises:
            ExhaustedError: If the sampler has no configuration left.
        """
        return self.decide(state, seed).trial

    def decide(self, state: State, seed: int) -> Decision:
        """Return the next trial, with the probabilities with which it was drawn.

        The arguments and errors are those of `propose`.
        """
        number, queued, drawn = state.history.upcoming()
        if queued is not None and queued.retry is not None:
            return Decision(retried_trial(state.history.trial(queued.retry), number))
        if queued is not None and queued.fidelity is not None:
            draw = Draw(queued.config, QUEUED)
            return Decision(_new(number, draw, queued.fidelity, None))
        if queued is None and self.opening is not None and not drawn:
            top = state.ladder.top
            draw = self.opening.sample(state, top, generator(seed, number, "sampler"))
            return Decision(_new(number, draw, state.ladder.fidelities[top], None), draw.chances)
        step = self.scheduler.next(state, RandomStream(seed, number, "scheduler"))
        fidelity = state.ladder.fidelities[step.slot.rung]
        if isinstance(step, Promote):
            return Decision(_continued(number, step, fidelity))
        if queued is not None:
            draw = Draw(queued.config, QUEUED)
        else:
            draw = self.sampler.sample(state, step.slot.rung, generator(seed, number, "sampler"))
            if draw.origin in (QUEUED, IMPORTED):
                raise MethodError(
                    f"The origin {draw.origin!r} of {self.sampler!r} is reserved for "
                    "configurations that people add. Use another word."
                )
        return Decision(_new(number, draw, fidelity, step.slot), draw.chances)


def _new(number: int, draw: Draw, fidelity: float, slot: Slot | None) -> Trial:
    return Trial(number, draw.config, fidelity, slot, None, draw.origin, number)


def _continued(number: int, step: Promote, fidelity: float) -> Trial:
    parent = step.trial
    return Trial(number, parent.config, fidelity, step.slot, parent.id, parent.origin, parent.root)
