"""The protocol of schedulers, and their answers: a new trial in a slot, or a promotion.

Two further answers are outside the brackets: a new trial, and the continuation of one. These trials
have no slot, so no bracket counts them.

A scheduler always has an answer. It never waits: while one bracket is blocked, the next one starts.
It never stops: the study decides when to stop.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, Protocol, final

from priorband.state import State
from priorband.streams import RandomSource
from priorband.trial import Observation, Slot, Trial
from priorband.values import frozen


@final
@frozen
class Sample:
    """A scheduler's answer: evaluate a new configuration in a slot.

    Args:
        slot: The bracket and the rung.

    Example:
        >>> Sample(Slot(bracket=0, rung=1)).slot.rung
        1
    """

    slot: Slot


@final
@frozen
class Promote:
    """A scheduler's answer: continue a trial at the fidelity of a higher rung.

    Args:
        trial: The trial to continue. It must have ended without a failure.
        slot: The bracket, and the rung above the trial's rung.

    Example:
        >>> from priorband import Config
        >>> trial = Trial(0, Config(lr=0.1), 1, Slot(0, 0), None, "uniform", 0)
        >>> Promote(trial, Slot(bracket=0, rung=1)).trial.id
        0
    """

    trial: Trial
    slot: Slot


@final
@frozen
class Extra:
    """A scheduler's answer: evaluate a new configuration on a rung, outside all brackets.

    Args:
        rung: The rung.

    Example:
        >>> Extra(rung=3).rung
        3
    """

    rung: int


@final
@frozen
class Continue:
    """A scheduler's answer: continue a trial at the fidelity of a rung, outside all brackets.

    Args:
        trial: The trial to continue. It must have ended without a failure, on a lower rung.
        rung: The rung.
        why: "mode" if it is the prior's mode that goes on, "duel" if it is a rival of the prior.

    Example:
        >>> from priorband import Config
        >>> mode = Trial(0, Config(lr=0.1), 9, None, None, "mode", 0)
        >>> Continue(mode, rung=3).trial.origin
        'mode'
    """

    trial: Trial
    rung: int
    why: Literal["mode", "duel"] = "mode"


Step = Sample | Promote | Extra | Continue
"""What a scheduler answers."""


class Scheduler(Protocol):
    """The protocol of schedulers: they choose the rung of the next trial.

    A scheduler does not choose new configurations: the sampler does that. For a scheduler of your
    own, write a class with the method `next`. The answer must depend on the arguments only, and all
    randomness must come from `rng`; otherwise a study cannot be replayed. A scheduler may promote a
    trial only once, by one rung, and only after it succeeded. `priorband.testing.check_scheduler`
    checks this. It also needs a readable `repr` and equality, which a frozen dataclass has.

    A scheduler may also have a method `promotable(state, trials)`; see the function `promotable`.

    Example:
        >>> from dataclasses import dataclass
        >>> from priorband.schedulers import Sample, Slot
        >>> from priorband.testing import check_scheduler
        >>> @dataclass(frozen=True)
        ... class EveryOtherRung:
        ...     '''New trials on the lowest and on the highest rung, by turns.'''
        ...     def next(self, state, rng):
        ...         rung = state.ladder.top if len(state.history) % 2 else 0
        ...         return Sample(Slot(bracket=0, rung=rung))
        >>> check_scheduler(EveryOtherRung())
    """

    def next(self, state: State, rng: RandomSource) -> Step:
        """Decide on the next trial.

        Args:
            state: What has happened so far: the rungs and all trials.
            rng: A source of uniform random numbers for this trial only: `rng.random()`.

        Returns:
            `Sample` for a new configuration, or `Promote` to continue a trial; `Extra` or
            `Continue` for the same outside the brackets.
        """


def promotable(scheduler: Scheduler, state: State, trials: Iterable[int]) -> set[int]:
    """Return which of some ended trials the scheduler may still promote later.

    A trial that is left out will never be promoted, so its checkpoint can be deleted. The method
    `promotable` of the scheduler decides, if it has one. Otherwise these are all trials that
    succeeded below the highest rung and were not promoted yet.

    Args:
        scheduler: The scheduler.
        state: What has happened so far.
        trials: The ids of trials that have ended.

    Returns:
        The ids of those that may still be promoted.

    Example:
        >>> from priorband import Fidelity, Float, Optimizer, Space, Study
        >>> from priorband.samplers import FromUniform
        >>> from priorband.schedulers import ASHA
        >>> space, fidelity = Space({"x": Float(0, 1)}), Fidelity("epochs", 1, 9)
        >>> study = Study(space, fidelity, Optimizer(ASHA(), FromUniform()))
        >>> _ = study.tell(study.ask(), 0.5)
        >>> promotable(ASHA(), study.state, [0])
        {0}
    """
    if hasattr(scheduler, "promotable"):
        ids: set[int] = scheduler.promotable(state, trials)
        return ids
    return {ended.trial.id for ended, _ in unpromoted(state, trials)}


def unpromoted(state: State, trials: Iterable[int]) -> Iterator[tuple[Observation, Slot]]:
    """The results and slots of those trials that succeeded below the top and are not promoted."""
    history, top = state.history, state.ladder.top
    for number in trials:
        ended = history.outcome(number)
        if ended is None or ended.failed or history.promoted(number):
            continue
        slot = ended.trial.slot
        if slot is not None and slot.rung < top:
            yield ended, slot
