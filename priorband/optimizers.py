"""An optimizer: a pure function from what has happened so far to the next trial.

It combines a scheduler, which chooses the rung of the next trial, with a sampler, which chooses new
configurations. The two never call each other, and have separate random streams.
"""

from typing import Any, Literal, final

from priorband.errors import MethodError
from priorband.fidelity import Fidelity
from priorband.history import History
from priorband.ladder import Ladder, Rule
from priorband.numeric import one_of, whole
from priorband.samplers.base import Chances, Draw, Sampler, require_sampler
from priorband.schedulers.base import Continue, Extra, Promote, Scheduler
from priorband.space.prior import Prior, is_flat
from priorband.space.space import Space
from priorband.state import Regard, State
from priorband.streams import RandomStream, generator
from priorband.trial import IMPORTED, QUEUED, Slot, Trial, retried_trial
from priorband.values import frozen, repr_without_defaults

Kind = Literal["new", "promote", "opening", "continue", "duel", "model", "queued", "retry"]


@final
@frozen
class Opening:
    """The first configuration of a method, evaluated outside the brackets before the others.

    Args:
        sampler: The sampler that chooses it, such as `PriorMode`.
        below: How many rungs below the highest it is evaluated: 0 is a full training. Where there
            are fewer rungs, it is the lowest.
        if_flat: Whether there is an opening if the prior is flat, so that its mode says nothing.

    Raises:
        MethodError: If `sampler` is not a sampler, or `below` is not a whole number from 0.

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.samplers import FromPrior, PriorMode
        >>> from priorband.schedulers import ContinueMode, Hyperband
        >>> method = Optimizer(ContinueMode(Hyperband()), FromPrior(), Opening(PriorMode()))
    """

    sampler: Sampler
    below: int = 1
    if_flat: bool = False

    def __post_init__(self) -> None:
        require_sampler("sampler", self.sampler)
        if not whole(self.below) or self.below < 0:
            raise MethodError(f"`below` must be a whole number of at least 0, got {self.below!r}.")
        if not isinstance(self.if_flat, bool):
            raise MethodError(f"`if_flat` must be True or False, got {self.if_flat!r}.")


@final
@frozen
class Decision:
    """The next trial, and how its configuration was drawn.

    Args:
        trial: The trial.
        chances: The probabilities with which a mixture chose a sampler; None if none did.
        kind: What was decided. "new": a new configuration in a bracket. "promote": a promotion in
            a bracket. Outside the brackets, "opening": the first configuration; "continue": the
            prior's mode goes on; "duel": a rival of the prior goes on; "model": a new
            configuration. "queued" and "retry": what people asked for.

    Example:
        >>> from priorband import Fidelity, Float, Space, Study
        >>> study = Study(Space({"x": Float(0, 1)}), Fidelity("epochs", 1, 9), "hyperband")
        >>> study.optimizer.decide(study.state, seed=0).trial.fidelity
        1
    """

    trial: Trial
    chances: Chances | None = None
    kind: Kind = "new"

    @property
    def data(self) -> dict[str, Any]:
        """The decision as plain data, without the configuration.

        The probabilities are those of a uniform draw, of a draw from the prior and of one near the
        incumbent, as far as the method draws from them; None if it was not drawn from a mixture.

        >>> from priorband import Fidelity, Float, Space, Study
        >>> space = Space({"x": Float(0, 1, prior=0.5)})
        >>> study = Study(space, Fidelity("epochs", 1, 9), "guardband")
        >>> study.optimizer.decide(study.state, seed=0).data  # doctest: +NORMALIZE_WHITESPACE
        {'kind': 'opening', 'fidelity': 3, 'bracket': None, 'rung': None, 'continues': None,
         'origin': 'mode', 'probabilities': None}
        """
        bracket, rung = self.trial.slot or (None, None)
        return {
            "kind": self.kind,
            "fidelity": self.trial.fidelity,
            "bracket": bracket,
            "rung": rung,
            "continues": self.trial.parent,
            "origin": self.trial.origin,
            "probabilities": None if self.chances is None else list(self.chances.probabilities),
        }


@final
@frozen
class Optimizer:
    """A method: a scheduler combined with a sampler.

    Args:
        scheduler: Chooses the rung of the next trial, and what to promote.
        sampler: Chooses new configurations.
        opening: If given, this sampler chooses the first configuration, which is trained in full
            before the scheduler starts. An `Opening` can also begin on a lower rung.
        eta: The factor between the fidelities of two rungs: one in `eta` trials is promoted.
        sizes: Whether the numbers of trials in a bracket are rounded with "floor" or "ceil".
        incumbent: Which configuration counts as the best so far. "lowest": the one with the lowest
            loss, each at its highest fidelity. "max_fidelity_first": the one with the lowest loss
            at the highest fidelity that any trial has reached.
        extra: The sampler of new configurations outside the brackets, for schedulers that want
            some. By default it is `sampler`.

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
    opening: Sampler | Opening | None = None
    eta: int = 3
    sizes: Rule = "floor"
    incumbent: Regard = "lowest"
    extra: Sampler | None = None

    __repr__ = repr_without_defaults("extra")

    def __post_init__(self) -> None:
        if isinstance(self.scheduler, type) or not hasattr(self.scheduler, "next"):
            raise MethodError(
                f"`scheduler` must have a method `next`, got {self.scheduler!r}. "
                "Use a scheduler such as Hyperband()."
            )
        require_sampler("sampler", self.sampler)
        if self.opening is not None and not isinstance(self.opening, Opening):
            require_sampler("opening", self.opening)
        if self.extra is not None:
            require_sampler("extra", self.extra)
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
            return Decision(retried_trial(state.history.trial(queued.retry), number), None, "retry")
        if queued is not None and queued.fidelity is not None:
            draw = Draw(queued.config, QUEUED)
            return Decision(_new(number, draw, queued.fidelity, None), None, "queued")
        if queued is None and not drawn and (opening := self._opening_in(state)) is not None:
            rung = max(state.ladder.top - opening.below, 0)
            draw = opening.sampler.sample(state, rung, generator(seed, number, "sampler"))
            first = _new(number, draw, state.ladder.fidelities[rung], None)
            return Decision(first, draw.chances, "opening")
        step = self.scheduler.next(state, RandomStream(seed, number, "scheduler"))
        if isinstance(step, Extra | Continue):
            slot, rung = None, step.rung
        else:
            slot, rung = step.slot, step.slot.rung
        fidelity = state.ladder.fidelities[rung]
        if isinstance(step, Promote | Continue):
            return Decision(_continued(number, step.trial, fidelity, slot), None, _kind(step))
        if queued is not None:
            return Decision(
                _new(number, Draw(queued.config, QUEUED), fidelity, slot), None, "queued"
            )
        sampler = self.extra or self.sampler if isinstance(step, Extra) else self.sampler
        draw = sampler.sample(state, rung, generator(seed, number, "sampler"))
        if draw.origin in (QUEUED, IMPORTED):
            raise MethodError(
                f"The origin {draw.origin!r} of {sampler!r} is reserved for "
                "configurations that people add. Use another word."
            )
        kind: Kind = "model" if isinstance(step, Extra) else "new"
        return Decision(_new(number, draw, fidelity, slot), draw.chances, kind)

    def _opening_in(self, state: State) -> Opening | None:
        """The opening; None if there is none, or the prior is flat and it needs one that is not."""
        if self.opening is None:
            return None
        if not isinstance(self.opening, Opening):
            return Opening(self.opening, below=0, if_flat=True)
        return self.opening if self.opening.if_flat or not is_flat(state.prior) else None


def _kind(step: Promote | Continue) -> Kind:
    if isinstance(step, Promote):
        return "promote"
    return "continue" if step.why == "mode" else "duel"


def _new(number: int, draw: Draw, fidelity: float, slot: Slot | None) -> Trial:
    return Trial(number, draw.config, fidelity, slot, None, draw.origin, number)


def _continued(number: int, parent: Trial, fidelity: float, slot: Slot | None) -> Trial:
    return Trial(number, parent.config, fidelity, slot, parent.id, parent.origin, parent.root)
