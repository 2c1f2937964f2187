"""The laws that schedulers, samplers and their combinations obey."""

from collections import Counter
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from scipy import stats

from priorband import (
    Fidelity,
    Float,
    History,
    Integer,
    Optimizer,
    Prior,
    Space,
    State,
    Study,
    ensemble,
    optimizer,
    prior,
)
from priorband.conditions import Done, Drawn, Enough, Never, Spent, Trained
from priorband.errors import MethodError
from priorband.samplers import (
    Crossover,
    Draw,
    Ensemble,
    Fixed,
    FromPrior,
    FromUniform,
    Grid,
    Hypersphere,
    Mix,
    Perturb,
    PriorMode,
    Staged,
)
from priorband.samplers.base import Sampler
from priorband.samplers.ensemble_policy import Decay
from priorband.schedulers import ASHA, AsyncHyperband, FullFidelity, Hyperband, SuccessiveHalving
from priorband.schedulers.base import Scheduler
from priorband.streams import generator
from priorband.testing import example_space, example_states, play

SCHEDULERS: dict[str, Scheduler] = {
    "full": FullFidelity(),
    "halving": SuccessiveHalving(),
    "hyperband": Hyperband(),
    "asha": ASHA(),
    "asha neps": ASHA("neps"),
    "async": AsyncHyperband(),
}
LEAVES: dict[str, Sampler] = {
    "uniform": FromUniform(),
    "prior": FromPrior(),
    "mode": PriorMode(),
    "perturb": Perturb(),
    "crossover": Crossover(Ensemble()),
    "sphere": Hypersphere(growth=1.5),
    "grid": Grid(),
}
HALF = Fixed((0.5, 0.5))
COMPOSED: dict[str, Sampler] = {
    "mix": Mix((FromUniform(), Perturb()), HALF),
    "stages": Staged(FromPrior(), Perturb(), Done(20)),
    "ensemble": ensemble(),
    "decay": ensemble(Ensemble(incumbent_share=Decay())),
}
SAMPLERS = LEAVES | COMPOSED
CONDITIONS = st.one_of(
    st.builds(Done, st.integers(0, 60)),
    st.builds(Drawn, st.integers(0, 60)),
    st.builds(Trained, st.integers(0, 9)),
    st.builds(Enough, st.integers(0, 2), st.integers(1, 4)),
    st.builds(Spent, st.floats(0, 5)),
    st.just(Never()),
)
WEIGHTS = st.lists(st.integers(0, 9), min_size=3, max_size=3)


def _mixture(parts: list[Sampler], weights: list[int]) -> Sampler:
    shares = [1 + weight for weight in weights[: len(parts)]]
    return Mix(tuple(parts), Fixed(tuple(share / sum(shares) for share in shares)))


NESTED: st.SearchStrategy[Sampler] = st.recursive(
    st.sampled_from(list(LEAVES.values())),
    lambda parts: st.one_of(
        st.builds(_mixture, st.lists(parts, min_size=1, max_size=3), WEIGHTS),
        st.builds(Staged, parts, parts, CONDITIONS),
        st.builds(lambda around: ensemble(around=around), parts),
    ),
    max_leaves=6,
)
STATES = {story: state for story, state in example_states().items() if story.startswith("mixed")}
LINE = Space({"x": Float(0, 1)})
EXAMPLES = settings(max_examples=examples(60))


def rng(seed: int) -> Generator:
    return generator(seed, 0, "law")


def _mixed(method: str | Optimizer, high: int = 27, seed: int = 0) -> Study:
    return Study(example_space(), Fidelity("epochs", 1, high), method, seed)


def _draws(sampler: Sampler, state: State, seeds: int = 10) -> list[tuple[Any, str]]:
    found = [sampler.sample(state, 0, rng(seed)) for seed in range(seeds)]
    return [(draw.config, draw.origin) for draw in found]


def _plan(study: Study) -> list[tuple[object, ...]]:
    return [(trial.slot, trial.parent, trial.fidelity) for trial in study.state.history.trials]


@pytest.mark.parametrize("story", STATES)
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_mixture_of_one_part_is_that_part(name: str, story: str) -> None:
    sampler = SAMPLERS[name]
    one = Mix((sampler,), Fixed((1.0,)))
    alone = _draws(sampler, STATES[story])
    assert _draws(one, STATES[story]) == alone
    assert _draws(Mix((Mix((one,), Fixed((1.0,))),), Fixed((1.0,))), STATES[story]) == alone


@pytest.mark.parametrize("story", STATES)
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_stage_that_never_ends_is_its_first_sampler(name: str, story: str) -> None:
    sampler = SAMPLERS[name]
    alone, state = _draws(sampler, STATES[story]), STATES[story]
    assert _draws(Staged(sampler, PriorMode(), Never()), state) == alone
    assert _draws(Staged(PriorMode(), sampler, Done(0)), state) == alone


class _Signed:
    """A sampler whose draws bear its name."""

    def __init__(self, name: str, part: Sampler) -> None:
        self.name, self.part = name, part
        self.height = getattr(part, "height", 0)

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        return Draw(self.part.sample(state, rung, rng).config, self.name)


@pytest.mark.parametrize("name", sorted(SAMPLERS.keys() - {"mode"}))
def test_the_chosen_part_draws_what_it_would_alone(name: str) -> None:
    state, sampler = STATES["mixed, busy"], SAMPLERS[name]
    mixed = Mix((PriorMode(), sampler), HALF)
    draws = [mixed.sample(state, 0, rng(seed)) for seed in range(40)]
    alone = [sampler.sample(state, 0, rng(seed)) for seed in range(40)]
    chosen = [draw.origin != "mode" for draw in draws]
    assert {True, False} == set(chosen)
    for draw, own, mine in zip(draws, alone, chosen, strict=True):
        assert draw.config == (own.config if mine else state.prior.mode)


def test_nested_mixtures_choose_independently() -> None:
    """A chi-squared test with one false alarm in a million."""
    names = [_Signed(name, PriorMode()) for name in "abcd"]
    nested = Mix((Mix((names[0], names[1]), HALF), Mix((names[2], names[3]), HALF)), HALF)
    state = STATES["mixed, empty"]
    seen = Counter(nested.sample(state, 0, rng(seed)).origin for seed in range(2000))
    assert stats.chisquare([seen[name] for name in "abcd"]).pvalue > 1e-6


@pytest.mark.filterwarnings("ignore::priorband.errors.SingleRungWarning")
def test_a_mixture_chooses_as_its_weights_say_and_apart_from_what_is_drawn() -> None:
    """Chi-squared and Kolmogorov-Smirnov tests, each with one false alarm in a million."""
    state = Optimizer(ASHA(), FromUniform()).start(LINE, LINE.prior, Fidelity("z", 1, 1))
    chances = (0.1, 0.2, 0.7)
    mixed = Mix(tuple(_Signed(name, FromUniform()) for name in "abc"), Fixed(chances))
    draws = [mixed.sample(state, 0, rng(seed)) for seed in range(3000)]
    seen = Counter(draw.origin for draw in draws)
    expected = [3000 * chance for chance in chances]
    assert stats.chisquare([seen[name] for name in "abc"], expected).pvalue > 1e-6
    for name in "abc":
        _assert_uniform([draw.config["x"] for draw in draws if draw.origin == name])


def test_where_a_trial_goes_says_nothing_about_what_it_is() -> None:
    """Three Kolmogorov-Smirnov tests, each with one false alarm in a million."""
    method = Optimizer(AsyncHyperband(), FromUniform())
    start = method.start(LINE, LINE.prior, Fidelity("z", 1, 9))
    trials = [method.propose(start, seed) for seed in range(1000)]
    for rung in range(3):
        _assert_uniform([t.config["x"] for t in trials if t.slot and t.slot.rung == rung])


def _assert_uniform(values: list[float]) -> None:
    assert len(values) > 100 and stats.kstest(values, "uniform").pvalue > 1e-6


@pytest.mark.filterwarnings("ignore::priorband.errors.SingleRungWarning")
@pytest.mark.parametrize("name", sorted(SAMPLERS.keys() - {"decay"}))  # it counts brackets
@pytest.mark.parametrize("plan", SCHEDULERS)
def test_on_one_rung_every_scheduler_trains_what_full_fidelity_does(plan: str, name: str) -> None:
    seen = []
    for scheduler in (SCHEDULERS[plan], FullFidelity()):
        method = Optimizer(scheduler, SAMPLERS[name], PriorMode())
        study = _mixed(method, 1, seed=2)
        seen.append([(t.config, t.fidelity, t.parent, t.origin) for t in play(study, 40)])
    assert seen[0] == seen[1] and len(seen[0]) == 40


def test_on_a_flat_prior_the_prior_draws_as_uniformly_as_the_uniform_sampler() -> None:
    """Some ten tests of parameters, each with one false alarm in a million."""
    space = example_space()
    flat = prior(space, {})
    state = Optimizer(ASHA(), FromUniform()).start(space, flat, Fidelity("epochs", 1, 9))
    mine = space.encode(FromPrior().sample(state, 0, rng(i)).config for i in range(2000))
    theirs = space.encode(FromUniform().sample(state, 0, rng(5000 + i)).config for i in range(2000))
    for column in range(len(space)):
        assert stats.ks_2samp(mine[:, column], theirs[:, column]).pvalue > 1e-6
        codes, counts = np.unique(mine[:, column], return_counts=True)
        if len(codes) <= 5:
            assert stats.chisquare(counts).pvalue > 1e-6


@pytest.mark.parametrize("plan", SCHEDULERS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_every_scheduler_works_with_every_sampler_and_decides_without_it(
    plan: str, name: str
) -> None:
    plans = []
    for part in (SAMPLERS[name], FromUniform()):
        method = Optimizer(SCHEDULERS[plan], part, opening=PriorMode())
        study = _mixed(method, 9, seed=1)
        for _ in play(study, 150, seed=3):
            pass
        assert study.replay().exact
        plans.append(_plan(study))
    assert plans[0] == plans[1]


@pytest.mark.filterwarnings("ignore::priorband.errors.SingleRungWarning")
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_sampler_draws_the_same_whoever_asked_for_it(name: str) -> None:
    drawn = []
    for scheduler in (ASHA(), AsyncHyperband(), FullFidelity()):
        study = _mixed(Optimizer(scheduler, SAMPLERS[name]), high=1)
        drawn.append([study.ask().config for _ in range(30)])
    assert drawn[0] == drawn[1] == drawn[2]


OTHERS: dict[str, dict[str, Any]] = {
    "the same": {},
    "another eta": {"eta": 2},
    "other sizes": {"sizes": "ceil"},
    "another incumbent": {"incumbent": "max_fidelity_first"},
    "another prior": {},
    "another space": {},
}


@pytest.mark.parametrize("method", ["priorband", "asha+esp", "priorband(decay)", "grid"])
@pytest.mark.parametrize("other", OTHERS)
def test_a_decision_does_not_depend_on_who_else_looked_at_the_history(
    method: str, other: str
) -> None:
    study, mine = _mixed(method), optimizer(method, **OTHERS[other])
    start = mine.start(*_altered(other, study))
    for _ in play(study, 120, seed=1, failing=0.1):
        seen, anew = study.state.history, History.of(study.state.history.events)
        decisions = [mine.decide(_with(start, history), 0) for history in (seen, anew)]
        assert decisions[0] == decisions[1]


def _altered(other: str, study: Study) -> tuple[Space, Prior, Fidelity]:
    space, belief = study.space, study.prior
    if other == "another prior":
        belief = prior(space, {"lr": 1e-2, "layers": 4}, "high")
    if other == "another space":
        space = Space({**space.parameters, "momentum": Float(-1.0, 2.0), "layers": Integer(1, 9)})
        belief = space.prior
    return space, belief, study.fidelity


def _with(state: State, history: History) -> State:
    return State(state.space, state.prior, state.ladder, history, state.regard)


@EXAMPLES
@given(NESTED, st.sampled_from(list(SCHEDULERS.values())), st.integers(0, 2**32))
def test_combinations_of_combinations_work_everywhere(
    sampler: Sampler, scheduler: Scheduler, seed: int
) -> None:
    method = Optimizer(scheduler, sampler, opening=Staged(sampler, PriorMode(), Drawn(1)))
    study = _mixed(method, 9, seed)
    for trial in play(study, 60, seed):
        assert study.space.check(trial.config) == trial.config
    assert study.replay().exact
    assert deepcopy(method) == method and " at 0x" not in repr(method)


UNIT = Space({"x": Float(0, 1, prior=0.3)})


class Pretender:
    """A sampler that calls its draws queued."""

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        return Draw(FromUniform().sample(state, rung, rng).config, "queued")


def test_what_people_give_is_not_a_samplers_to_claim() -> None:
    study = Study(UNIT, Fidelity("epochs", 1, 9), Optimizer(Hyperband(), Pretender()))
    with pytest.raises(MethodError, match="'queued' of .* is reserved"):
        study.ask()
    assert len(study.state.history) == 0
