"""The check of schedulers."""

import warnings
from collections import Counter
from itertools import product
from typing import final

from priorband.errors import SingleRungWarning
from priorband.fidelity import Fidelity
from priorband.history import History
from priorband.optimizers import Opening, Optimizer
from priorband.samplers.base import Draw
from priorband.samplers.simple import FromUniform, PriorMode
from priorband.schedulers.base import (
    Continue,
    Extra,
    Promote,
    Sample,
    Scheduler,
    Step,
    promotable,
)
from priorband.state import State
from priorband.streams import Generator, RandomSource, generator
from priorband.study import Study
from priorband.testing.parts import PURE, check_part
from priorband.testing.states import example_space, play
from priorband.trial import Slot, Trial
from priorband.values import frozen

_LADDERS: tuple[tuple[float, float, int], ...] = ((1, 27, 3), (1, 19, 4), (0.1, 1.0, 2), (1, 1, 3))


def check_scheduler(scheduler: Scheduler, synchronous: bool = False) -> None:
    """Check that a scheduler always answers, and promotes only what it may.

    It may promote a trial that succeeded, once, by one rung, and never one that it had left out of
    `promotable`. Outside the brackets it may continue one on any higher rung. Its answers must not
    depend on configurations, and must be the same when repeated. It is tried with an opening and
    without.

    Args:
        scheduler: The scheduler.
        synchronous: Whether brackets must also have the sizes of Hyperband.

    Raises:
        AssertionError: If the scheduler has no method `next`, no readable `repr` or no equality, or
            if one of these rules is broken.
    """
    check_part(scheduler, "scheduler", "next")
    for seed, (low, high, eta) in enumerate(_LADDERS):
        cases = ((0.0, 1), (0.0, 8), (0.3, 8), (0.3, 120), (1.0, 8))
        for (failing, workers), opening in product(cases, (None, Opening(PriorMode()))):
            plans = []
            for sampler in (FromUniform(), _AlwaysTheMode()):
                optimizer = Optimizer(_Watched(scheduler), sampler, opening, eta=eta)
                study = Study(example_space(), _range(low, high), optimizer, seed)
                plan = []
                for trial in play(study, 120, seed, failing, workers):
                    _check_step(scheduler, study.state, trial)
                    plan.append((trial.slot, trial.parent, trial.fidelity))
                plans.append(plan)
                if synchronous:
                    _check_sizes(scheduler, study.state)
            _check_promotable(scheduler, study.state)
            assert plans[0] == plans[1], (
                f"{scheduler!r}: its answers depend on the configurations, which the sampler "
                "chooses. Decide by slots, losses, fidelities and origins only, not by "
                "`trial.config`."
            )


@final
@frozen
class _AlwaysTheMode:
    """A sampler with the same origin as uniform draws, but always the same configuration."""

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Return the mode of the prior."""
        del rung, rng
        return Draw(state.prior.mode, "uniform")


@final
@frozen
class _Watched:
    """A scheduler whose answers are checked before the study uses them."""

    scheduler: Scheduler

    def next(self, state: State, rng: RandomSource) -> Step:
        """Return what the scheduler answers, if it is an answer."""
        try:
            step = self.scheduler.next(state, rng)
        except Exception as error:
            error.add_note(
                f"{self.scheduler!r}: `next` must have an answer in every state. While it waits "
                "for results, it starts a new trial: Sample(Slot(bracket=0, rung=0))."
            )
            raise
        outside = isinstance(step, Extra | Continue)
        assert outside or (isinstance(step, Sample | Promote) and isinstance(step.slot, Slot)), (
            f"{self.scheduler!r}: `next` must return Sample(slot) or Promote(trial, slot), got "
            f"{step!r}. Slot(bracket=0, rung=0) makes a slot; all three are in "
            "priorband.schedulers."
        )
        rung = step.rung if isinstance(step, Extra | Continue) else step.slot.rung
        top = state.ladder.top
        assert 0 <= rung <= top, (
            f"{self.scheduler!r}: `next` chose the rung {rung}, but the rungs are 0 to "
            f"`state.ladder.top`, here {top}."
        )
        return step


def _range(low: float, high: float) -> Fidelity:
    """Return a fidelity, without the warning if it has a single rung."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        return Fidelity("epochs", low, high)


def _check_step(scheduler: Scheduler, state: State, trial: Trial) -> None:
    watched = _Watched(scheduler)
    first, second = (watched.next(state, generator(0, trial.id, "contract")) for _ in range(2))
    assert first == second, (
        f"{scheduler!r}: `next` gave two answers for the same arguments: {first}, then {second}. "
        f"{PURE}"
    )
    if trial.parent is not None:
        _check_promotion(scheduler, state, trial)


def _check_promotion(scheduler: Scheduler, state: State, trial: Trial) -> None:
    history, number = state.history, trial.parent
    assert number is not None
    parent, outcome = history.trial(number), history.outcome(number)
    may = "A scheduler may promote a trial"
    assert outcome is not None, (
        f"{scheduler!r}: promoted trial {number}, which is running. {may} only after it ended: "
        "`state.history.outcome(trial.id)` is None until then."
    )
    assert not outcome.failed, (
        f"{scheduler!r}: promoted trial {number}, which failed. {may} only if it succeeded: check "
        "`state.history.outcome(trial.id).failed`."
    )
    if trial.slot is not None:
        below = parent.slot.rung if parent.slot is not None else trial.slot.rung - 1
        assert trial.slot.rung == below + 1, (
            f"{scheduler!r}: promoted trial {number} from rung {below} to rung {trial.slot.rung}. "
            f"{may} by one rung: Slot(bracket, trial.slot.rung + 1)."
        )
    assert trial.fidelity > parent.fidelity, (
        f"{scheduler!r}: continued trial {number} from the fidelity {parent.fidelity} to "
        f"{trial.fidelity}. A trial can only be continued on a higher rung."
    )
    twice = [t.id for t in history.trials if t.parent == number and t.id != trial.id]
    assert not twice, (
        f"{scheduler!r}: promoted trial {number} twice. {may} only once: check "
        "`state.history.promoted(trial.id)`."
    )
    assert trial.config == parent.config, (
        f"{scheduler!r}: trial {trial.id} does not have the configuration of trial {number}, which "
        "it continues. Promote the trial as it is in the history."
    )


def _check_sizes(scheduler: Scheduler, state: State) -> None:
    slots = Counter(trial.slot for trial in state.history.trials if trial.slot is not None)
    bases: dict[int, int] = {}
    for bracket, rung in slots:
        bases[bracket] = min(rung, bases.get(bracket, rung))
    for (bracket, rung), trials in slots.items():
        planned = state.ladder.brackets[bases[bracket]][rung - bases[bracket]]
        assert trials <= planned, (
            f"{scheduler!r}: bracket {bracket} has {trials} trials on rung {rung}, more than "
            f"{planned}. The sizes of a bracket that starts on rung {bases[bracket]} are "
            f"`state.ladder.brackets[{bases[bracket]}]`. If brackets are not meant to have these "
            "sizes, call check_scheduler with synchronous=False."
        )


def _check_promotable(scheduler: Scheduler, state: State) -> None:
    now = State(state.space, state.prior, state.ladder, History(), state.regard)
    kept: set[int] = set()
    for event in state.history.events:
        asked, told = len(now.history), len(now.history.observations)
        now = now.after(event)
        for trial in now.history.trials[asked:]:
            assert trial.parent in (None, *kept), (
                f"{scheduler!r}: promoted trial {trial.parent}, which `promotable` had left out: "
                "its checkpoint may be deleted by then. Let `promotable` return every trial that "
                "may still be promoted, or remove that method."
            )
        kept.update(ended.trial.id for ended in now.history.observations_since(told))
        kept &= promotable(scheduler, now, kept)
