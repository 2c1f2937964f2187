"""Each scheduler keeps the schedulers' contract."""

from collections import Counter
from dataclasses import dataclass

import pytest

from priorband import Fidelity, Optimizer, State, Study, Trial, methods, optimizer
from priorband.conditions import Never
from priorband.samplers import FromUniform
from priorband.schedulers import (
    ASHA,
    AsyncHyperband,
    ContinueMode,
    FullFidelity,
    Hyperband,
    Promote,
    Sample,
    StagedScheduler,
    SuccessiveHalving,
)
from priorband.schedulers.base import Scheduler
from priorband.streams import RandomSource
from priorband.testing import check_scheduler, example_space, play
from priorband.trial import Slot

SYNCHRONOUS: tuple[Scheduler, ...] = (
    SuccessiveHalving(),
    Hyperband(),
    Hyperband(bases=(0, 1)),
)
ASYNCHRONOUS: tuple[Scheduler, ...] = (
    ASHA(),
    ASHA(promotion="neps"),
    AsyncHyperband(),
    AsyncHyperband(promotion="neps"),
)
GUARDED: tuple[Scheduler, ...] = (
    ContinueMode(Hyperband(bases=(0, 1))),
    ContinueMode(Hyperband()),
    ContinueMode(ASHA()),
    ContinueMode(AsyncHyperband()),
    StagedScheduler(ContinueMode(Hyperband(bases=(0, 1)))),
    StagedScheduler(ContinueMode(Hyperband(bases=(0, 1))), duel=False),
    StagedScheduler(ContinueMode(Hyperband(bases=(0, 1))), proof=Never()),
)
SCHEDULERS: tuple[Scheduler, ...] = (FullFidelity(), *SYNCHRONOUS, *ASYNCHRONOUS, *GUARDED)


@pytest.mark.parametrize("scheduler", SCHEDULERS, ids=repr)
def test_every_scheduler_keeps_the_contract(scheduler: Scheduler) -> None:
    check_scheduler(scheduler, synchronous=scheduler in SYNCHRONOUS)


def test_the_schedulers_of_all_methods_are_among_those_checked() -> None:
    assert all(optimizer(name).scheduler in SCHEDULERS for name in methods())


def _study(scheduler: Scheduler, high: int = 27) -> Study:
    method = Optimizer(scheduler, FromUniform())
    return Study(example_space(), Fidelity("epochs", 1, high), method)


@pytest.mark.parametrize("scheduler", SCHEDULERS[1:], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_promotions_reach_the_top_among_failures(scheduler: Scheduler, seed: int) -> None:
    study = _study(scheduler)
    risen = {trial.fidelity for trial in play(study, 300, seed) if trial.parent is not None}
    assert max(risen) == 27


@pytest.mark.parametrize("scheduler", SCHEDULERS, ids=repr)
def test_an_objective_that_always_fails_does_not_stop_a_scheduler(scheduler: Scheduler) -> None:
    study = _study(scheduler)
    trials = list(play(study, 200, failing=1.0))
    assert [trial.id for trial in trials] == list(range(200))
    assert {trial.parent for trial in trials} == {None}


@pytest.mark.parametrize("scheduler", SCHEDULERS, ids=repr)
def test_two_hundred_workers_are_all_given_work_at_once(scheduler: Scheduler) -> None:
    study = _study(scheduler)
    trials = [study.ask() for _ in range(200)]
    assert len(study.state.history.running) == 200
    assert {trial.parent for trial in trials} == {None}


@pytest.mark.parametrize("scheduler", SYNCHRONOUS, ids=repr)
def test_synchronous_brackets_are_filled_exactly_when_nothing_fails(scheduler: Scheduler) -> None:
    study = _study(scheduler, high=9)
    for _ in range(200):
        study.tell(trial := study.ask(), (trial.root * 37 + 11) % 101)
    ladder, brackets = study.state.ladder, study.state.history.brackets
    slots = Counter(trial.slot for trial in study.state.history.trials)
    for bracket in range(brackets - 1):
        bases = scheduler.bases or (0, 1, 2) if isinstance(scheduler, Hyperband) else (0,)
        base = bases[bracket % len(bases)]
        members = [slots[Slot(bracket, rung)] for rung in range(base, 3)]
        assert members == list(ladder.brackets[base])


@pytest.mark.parametrize("scheduler", SYNCHRONOUS, ids=repr)
def test_synchronous_winners_are_the_best_of_their_own_rung(scheduler: Scheduler) -> None:
    study = _study(scheduler)
    for trial in play(study, 300, seed=5, failing=0.1):
        if trial.parent is None or trial.slot is None:
            continue
        history = study.state.history
        rung = [
            t for t in history.trials if t.slot == Slot(trial.slot.bracket, trial.slot.rung - 1)
        ]
        ended = [history.outcome(member.id) for member in rung]
        losses = sorted((o.loss, o.trial.root) for o in ended if o is not None)
        assert None not in ended, "the rung was not complete"
        earlier = [t for t in history.trials if t.slot == trial.slot]
        assert losses[len(earlier) - 1][1] == trial.root


@pytest.mark.parametrize("scheduler", [ASHA(), AsyncHyperband()], ids=repr)
def test_asynchronous_winners_are_among_the_best_of_all_that_ended(scheduler: Scheduler) -> None:
    study = _study(scheduler)
    for trial in play(study, 300, seed=5, failing=0.1):
        if trial.parent is None or trial.slot is None:
            continue
        below = trial.slot.rung - 1
        ended = [o for o in study.state.history.observations if o.trial.slot]
        ended = [o for o in ended if o.trial.slot and o.trial.slot.rung == below]
        best = sorted((o.loss, o.trial.root) for o in ended)[: len(ended) // 3]
        assert trial.root in [root for _, root in best]


FAULTS = {
    "running": "which is running",
    "failed": "which failed",
    "twice": "promoted trial 0 twice",
    "two rungs": "from rung 0 to rung 2",
    "blocks": "wait",
    "sampler": "depend on the configurations",
    "sizes": "trials on rung 0, more than 27",
    "moody": "gave two answers for the same arguments: .*, then",
}


@dataclass
class _Faulty:
    """A scheduler with one fault, to see that the contract finds it."""

    fault: str
    asked: int = 0

    def next(self, state: State, rng: RandomSource) -> Sample | Promote:
        self.asked += 1
        chosen = self._promoted(state)
        if chosen is not None:
            rung = chosen.slot.rung + 1 if chosen.slot else 0
            step = 2 if self.fault == "two rungs" else 1
            return Promote(chosen, Slot(0, min(rung + step - 1, state.ladder.top)))
        if self.fault == "blocks" and state.history.running:
            raise RuntimeError("wait")
        if self.fault == "moody":
            return Sample(Slot(self.asked % 2, 0))
        odd = any(trial.config["layers"] == 1 for trial in state.history.trials)
        return Sample(Slot(int(odd) if self.fault == "sampler" else 0, 0))

    def _promoted(self, state: State) -> Trial | None:
        history = state.history
        if state.ladder.top < 2 or self.fault in ("blocks", "sampler", "sizes", "moody"):
            return None
        for trial in history.trials:
            outcome = history.outcome(trial.id)
            fit = outcome is not None and not outcome.failed
            if self.fault == "running":
                fit = outcome is None
            if self.fault == "failed":
                fit = outcome is not None and outcome.failed
            if trial.slot != Slot(0, 0) or not fit:
                continue
            if self.fault == "twice" or not history.promoted(trial.id):
                return trial
        return None


@pytest.mark.parametrize("fault", FAULTS)
def test_the_contract_finds_a_faulty_scheduler(fault: str) -> None:
    with pytest.raises((AssertionError, RuntimeError), match=FAULTS[fault]):
        check_scheduler(_Faulty(fault), synchronous=fault == "sizes")
