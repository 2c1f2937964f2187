"""Which ended trials may still be promoted: none too few, ever, and none too many."""

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from priorband import Fidelity, Float, History, Optimizer, Space, State, Study, Trial
from priorband.brackets import BracketStatus, bracket_status
from priorband.errors import SingleRungWarning
from priorband.ladder import Rule
from priorband.optimizers import Opening
from priorband.samplers import Fixed, FromPrior, FromUniform, Mix, PriorMode
from priorband.schedulers import (
    ASHA,
    AsyncHyperband,
    ContinueMode,
    FullFidelity,
    Hyperband,
    StagedScheduler,
    SuccessiveHalving,
)
from priorband.schedulers.base import Scheduler, Step, promotable
from priorband.streams import RandomSource
from priorband.testing import check_scheduler


@dataclass(frozen=True)
class Own:
    """A scheduler as a user writes it, with the one method that it needs."""

    plan: Scheduler

    def next(self, state: State, rng: RandomSource) -> Step:
        return self.plan.next(state, rng)


SPACE = Space({"x": Float(0, 1, prior=0.3)})
SYNCHRONOUS: tuple[Scheduler, ...] = (
    SuccessiveHalving(),
    Hyperband(),
    Hyperband(bases=(0, 1)),
)
ASYNCHRONOUS: tuple[Scheduler, ...] = (
    *(ASHA(), ASHA("neps"), AsyncHyperband(), AsyncHyperband("neps"), Own(AsyncHyperband())),
)
GUARDED: tuple[Scheduler, ...] = (
    *(ContinueMode(Hyperband(bases=(0, 1))), ContinueMode(ASHA()), ContinueMode(AsyncHyperband())),
    *(StagedScheduler(ContinueMode(Hyperband(bases=(0, 1)))), StagedScheduler(Hyperband())),
)
SCHEDULERS = (FullFidelity(), *SYNCHRONOUS, *ASYNCHRONOUS, Own(Hyperband()), *GUARDED)
EXAMPLES = settings(max_examples=examples(25))


@dataclass(frozen=True)
class Story:
    """A problem, who works on it and what luck they have."""

    reach: tuple[float, float]
    eta: int
    sizes: Rule
    workers: int
    failing: float
    seed: int

    def study(self, scheduler: Scheduler) -> Study:
        guarded = scheduler in GUARDED
        opening = Opening(PriorMode(), 1 if guarded else 0)
        sampler = Mix((FromUniform(), FromPrior()), Fixed((0.3, 0.7))) if guarded else FromUniform()
        method = Optimizer(scheduler, sampler, opening, self.eta, self.sizes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingleRungWarning)
            return Study(SPACE, Fidelity("epochs", *self.reach), method, self.seed)

    def moments(self, study: Study, asks: int) -> Iterator[State]:
        """What is known after each event: trials end in any order, wishes and imports between."""
        rng = np.random.default_rng(self.seed)
        open_trials: list[Trial] = []
        for _ in range(asks):
            while open_trials and (len(open_trials) >= self.workers or rng.random() < 0.5):
                trial = open_trials.pop(int(rng.integers(len(open_trials))))
                failed = rng.random() < self.failing
                study.tell(trial, math.nan if failed else round(rng.random(), 1))
                yield study.state
            if rng.random() < 0.1:
                self._visit(study, rng)
                yield study.state
            open_trials.append(study.ask())
            yield study.state

    def _visit(self, study: Study, rng: np.random.Generator) -> None:
        config, wish = {"x": round(rng.random(), 1)}, rng.random()
        if wish < 0.3:
            study.add(config, rng.random() - 0.5, fidelity=self.reach[0])
        else:
            study.queue(config, fidelity=self.reach[0] if wish < 0.6 else None)


STORIES = st.builds(
    Story,
    reach=st.sampled_from([(1, 9), (1, 27), (3, 81), (1, 19), (0.1, 1.0), (1, 3), (1, 1)]),
    eta=st.integers(2, 4),
    sizes=st.sampled_from(["floor", "ceil"]),
    workers=st.integers(1, 8),
    failing=st.sampled_from([0.0, 0.2, 0.7, 1.0]),
    seed=st.integers(0, 2**32),
)
each_scheduler = pytest.mark.parametrize("scheduler", SCHEDULERS, ids=repr)
each_synchronous = pytest.mark.parametrize("scheduler", SYNCHRONOUS, ids=repr)


def ended(state: State) -> set[int]:
    return {observation.trial.id for observation in state.history.observations}


@each_scheduler
@EXAMPLES
@given(STORIES)
def test_what_was_given_up_once_never_rises(scheduler: Scheduler, story: Story) -> None:
    study, asked = story.study(scheduler), 0
    kept: set[int] = set()
    known: set[int] = set()
    for state in story.moments(study, asks=150):
        parents = {trial.parent for trial in state.history.trials[asked:]} - {None}
        assert parents <= kept
        new = ended(state) - known
        now = promotable(scheduler, state, known | new)
        assert now <= kept | new
        kept, known, asked = now, known | new, len(state.history)
    assert study.replay().exact, "asking changed a decision"


@each_scheduler
@EXAMPLES
@given(STORIES)
def test_only_successes_below_the_top_may_rise_once(scheduler: Scheduler, story: Story) -> None:
    for state in story.moments(story.study(scheduler), asks=60):
        parents = {trial.parent for trial in state.history.trials}
        for number in promotable(scheduler, state, range(len(state.history))):
            outcome = state.history.outcome(number)
            assert outcome and number not in parents and math.isfinite(outcome.loss)
            assert outcome.fidelity < state.ladder.fidelities[-1]
            outside = scheduler in GUARDED and outcome.trial.origin == "mode"
            assert outcome.trial.slot or outside


def bad_future(study: Study, loss: float, asks: int) -> Iterator[History]:
    """The history, step by step, where each trial to come is worse than all before, or fails."""
    for trial in study.state.history.running:
        study.tell(trial, loss)
    for step in range(asks):
        study.tell(study.ask(), loss + step)
        yield study.state.history


@each_synchronous
@pytest.mark.parametrize("loss", [10.0, math.inf])
@EXAMPLES
@given(STORIES, st.integers(1, 120))
def test_those_rise_synchronously_whom_only_something_better_could_have_stopped(
    scheduler: Scheduler, loss: float, story: Story, asks: int
) -> None:
    study = story.study(scheduler)
    *_, state = story.moments(study, asks)
    said, before = promotable(scheduler, state, ended(state)), ended(state)
    risen = set(filter(state.history.promoted, before))
    *_, later = bad_future(study, loss, asks=300)
    assert set(filter(later.promoted, before)) - risen == said


@pytest.mark.parametrize("scheduler", ASYNCHRONOUS, ids=repr)
@settings(EXAMPLES, max_examples=examples(10))
@given(STORIES, st.integers(1, 40))
def test_any_success_rises_asynchronously_once_enough_are_worse(
    scheduler: Scheduler, story: Story, asks: int
) -> None:
    study = story.study(scheduler)
    *_, state = story.moments(study, asks)
    said = promotable(scheduler, state, ended(state))
    assert any(all(map(later.promoted, said)) for later in bad_future(study, 10.0, asks=2000))


@each_synchronous
@EXAMPLES
@given(STORIES)
def test_a_bracket_keeps_no_more_than_its_next_rung_holds_and_none_once_it_is_over(
    scheduler: Scheduler, story: Story
) -> None:
    for state in story.moments(story.study(scheduler), asks=100):
        history, ladder = state.history, state.ladder
        rungs: dict[int, list[int]] = {}
        for number in promotable(scheduler, state, ended(state)):
            slot = history.trial(number).slot
            assert slot is not None
            rungs.setdefault(slot.bracket, []).append(slot.rung)
        for bracket, waiting in rungs.items():
            base = history.base(bracket)
            sizes = ladder.brackets[base]
            assert len(waiting) <= sizes[min(waiting) - base + 1]
            status = bracket_status(history, bracket, base, sizes)
            assert status is not BracketStatus.OVER


def asked_of(scheduler: Scheduler, asks: int) -> Study:
    study = Study(SPACE, Fidelity("epochs", 1, 9), Optimizer(scheduler, FromUniform()))
    for _ in range(asks):
        study.ask()
    return study


def left(study: Study) -> set[int]:
    return promotable(study.optimizer.scheduler, study.state, ended(study.state))


def told(study: Study, losses: dict[int, float]) -> set[int]:
    for number, loss in losses.items():
        study.tell(number, loss)
    return left(study)


@each_synchronous
def test_a_bracket_of_nine_three_and_one_worked_by_hand(scheduler: Scheduler) -> None:
    study = asked_of(scheduler, 9)
    assert told(study, {0: 0.5, 1: 0.1}) == {0, 1}
    assert told(study, {2: 0.4, 3: 0.3, 4: 0.2}) == {1, 4, 3}, "the best three of five"
    assert told(study, {5: 0.15}) == {1, 5, 4}, "trial 3 is fourth"
    assert told(study, {6: math.nan, 7: 0.2, 8: 0.9}) == {1, 5, 4}, "of equals the older is better"
    assert [study.ask().parent for _ in range(2)] == [1, 5]
    assert left(study) == {4}
    assert told(study, {9: 0.3}) == {4, 9}
    assert study.ask().parent == 4
    assert told(study, {10: 0.25}) == {10}, "one place at the top"
    assert told(study, {11: math.inf}) == {10}
    assert study.ask().parent == 10
    assert told(study, {12: 0.1}) == set()


@each_synchronous
def test_where_members_fail_the_few_that_succeed_may_rise(scheduler: Scheduler) -> None:
    study = asked_of(scheduler, 9)
    assert told(study, dict.fromkeys(range(7), math.nan)) == set()
    assert told(study, {7: 0.2, 8: 0.1}) == {7, 8}, "the next rung holds two instead of three"
    assert [study.ask().parent for _ in range(2)] == [8, 7]
    assert left(study) == set()
    assert told(study, {10: 0.3}) == {10}, "trial 9 may fail"
    assert told(study, {9: math.nan}) == {10}
    assert study.ask().parent == 10


def test_a_bracket_that_begins_higher_has_sizes_of_its_own() -> None:
    study = asked_of(Hyperband(), 15)  # nine, three and three
    assert told(study, {9: 0.5, 12: 0.0}) == {9}
    assert told(study, {10: 0.4}) == {10}, "three below, one above"


@pytest.mark.parametrize("scheduler", [ASHA(), Own(ASHA()), Own(Hyperband())], ids=repr)
def test_asynchronously_or_by_a_plan_unknown_any_success_may_rise(scheduler: Scheduler) -> None:
    study = asked_of(scheduler, 5)
    assert told(study, {0: 0.1, 1: 0.2, 2: 0.3, 3: math.nan}) == {0, 1, 2}
    risen = study.ask().parent
    assert left(study) == {0, 1, 2} - {risen}


@each_scheduler
def test_it_answers_about_members_of_the_plan_that_it_is_asked_about(scheduler: Scheduler) -> None:
    study = asked_of(scheduler, 0)
    study.add({"x": 0.1}, 0.0, fidelity=1)
    study.queue({"x": 0.2}, fidelity=1)
    for _ in range(20):
        study.tell(trial := study.ask(), trial.root % 7)
    assert not left(study) & {0, 1}
    assert promotable(scheduler, study.state, iter([0, 3, 3, 5])) == left(study) & {3, 5}


@each_scheduler
def test_a_state_of_the_past_answers_as_it_did(scheduler: Scheduler) -> None:
    story = Story((1, 9), 3, "floor", workers=4, failing=0.2, seed=3)
    states = list(story.moments(story.study(scheduler), asks=40))
    answers = [promotable(scheduler, state, ended(state)) for state in states]
    for state in story.moments(story.study(scheduler), asks=40):
        assert promotable(scheduler, state, ended(state)) == answers.pop(0)


@dataclass(frozen=True)
class Forgetful:
    """ASHA that gives up every fifth trial, or all of them at times."""

    always: bool

    def next(self, state: State, rng: RandomSource) -> Step:
        return ASHA().next(state, rng)

    def promotable(self, state: State, trials: Iterable[int]) -> set[int]:
        may = ASHA().promotable(state, trials)
        return {number for number in may if (number if self.always else len(state.history)) % 5}


@pytest.mark.parametrize("always", [True, False])
def test_the_contract_finds_a_scheduler_that_promotes_whom_it_gave_up(always: bool) -> None:
    with pytest.raises(AssertionError, match="which `promotable` had left out"):
        check_scheduler(Forgetful(always))
