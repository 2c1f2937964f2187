"""The tree Parzen estimator in spaces with conditions: what it learns from, where it goes."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from space.conditional_spaces import SPACES, random_spaces

from priorband import (
    Categorical,
    Config,
    Fidelity,
    Float,
    Normal,
    Optimizer,
    Space,
    State,
    Study,
    simulate,
)
from priorband.samplers import FromUniform
from priorband.samplers.base import Sampler
from priorband.samplers.parzen import TPE, groups
from priorband.schedulers import Hyperband
from priorband.space.densities import Array
from priorband.streams import Generator
from priorband.testing import noise

EPOCHS = Fidelity("epochs", 1, 27)
BOHB, UNSELECTED = TPE(), TPE(candidates=1)
BRANCHES = Space(
    {
        "kind": Categorical(["a", "b"]),
        "x": Float(0, 1, prior=Normal(0.9, sigma=0.05), when={"kind": "a"}),
        "y": Float(0, 1, prior=Normal(0.9, sigma=0.05), when={"kind": "b"}),
    }
)


def after(
    space: Space, results: list[tuple[Mapping[str, Any], float]], belief: Any = None
) -> State:
    study = Study(space, EPOCHS, Optimizer(Hyperband(), FromUniform()), prior=belief)
    for config, loss in results:
        study.add(config, loss, 27)
    return study.state


def random_results(space: Space, n: int, seed: int = 0) -> list[Config]:
    return [space.decode(row) for row in space.uniform(n, np.random.default_rng(seed))]


def draws(state: State, n: int, sampler: Sampler = BOHB) -> list[Config]:
    found = [sampler.sample(state, 0, np.random.default_rng(seed)) for seed in range(n)]
    assert {draw.origin for draw in found} == {"model"}
    return [draw.config for draw in found]


def bowl(config: Mapping[str, Any]) -> float:
    """Best at y = 0.3 under the choice b."""
    return float(config["x"]) + 1 if config["kind"] == "a" else abs(float(config["y"]) - 0.3)


def test_it_goes_to_the_better_branch_and_to_the_better_values_there() -> None:
    state = after(BRANCHES, [(config, bowl(config)) for config in random_results(BRANCHES, 60)])
    found = draws(state, 40)
    assert sum(config["kind"] == "b" for config in found) > 30
    assert np.median([abs(c["y"] - 0.3) for c in found if c["kind"] == "b"]) < 0.15


def with_few(known: int) -> State:
    """Good results with `y`, of which few have `x`; both groups have many without."""
    results: list[tuple[Mapping[str, Any], float]] = []
    results += [({"kind": "a", "x": 0.1}, 0.0)] * known
    results += [({"kind": "b", "y": 0.5}, 0.1)] * (15 - known)
    results += [({"kind": "a", "x": 0.5 + 0.005 * i}, 0.5) for i in range(85)]
    return after(BRANCHES, results)


@pytest.mark.parametrize(("known", "from_prior"), [(2, True), (3, False)])
def test_a_parameter_that_is_active_in_few_good_results_has_the_priors_density(
    known: int, from_prior: bool
) -> None:
    state = with_few(known)
    good, _ = groups(state, 3, 0.15)
    assert np.isfinite(good[:, 1]).sum() == known
    found = [c["x"] for c in draws(state, 200, UNSELECTED) if c["kind"] == "a"]
    assert len(found) > 20
    assert all(x > 0.6 if from_prior else x < 0.2 for x in found)


class Sideways:
    """A prior without densities of single parameters."""

    mode = Config(kind="a", x=0.5)

    def sample(self, rng: Generator) -> Array:
        return np.array([0.0, rng.random(), math.nan])

    def logpdf(self, rows: Array) -> Array:
        return np.zeros(len(rows))

    def around(self, config: Mapping[str, Any]) -> "Sideways":
        return self


def test_with_a_prior_of_ones_own_it_is_flat() -> None:
    state = with_few(2)
    own = State(state.space, Sideways(), state.ladder, state.history)
    found = [c["x"] for c in draws(own, 300, UNSELECTED) if c["kind"] == "a"]
    assert len(found) > 30 and stats.kstest(found, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("name", SPACES)
def test_studies_in_every_space_can_be_replayed(name: str) -> None:
    space = SPACES[name]
    study = Study(space, Fidelity("epochs", 1, 3), Optimizer(Hyperband(), TPE()), seed=1)
    simulate(study, noise, 3, budget=20)
    trials = [trial for trial in study.state.history.trials if trial.origin == "model"]
    assert trials and all(space.check(trial.config) == trial.config for trial in trials)
    assert study.replay().exact


@settings(max_examples=examples(60), deadline=None)
@given(random_spaces(), st.integers(0, 2**32))
def test_on_any_space_a_configuration_is_drawn(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    configs = random_results(space, 2 * (len(space) + 1) + seed % 9, seed)
    results = [(config, float(rng.integers(5)) or math.inf) for config in configs]
    state = after(space, [*results, *((config, 1.0) for config in configs)])
    config = TPE().sample(state, 0, rng).config
    assert space.check(config) == config


def test_what_is_inactive_has_no_say() -> None:
    """Results of the other branch are all that a density of x could be confused by."""
    configs = random_results(BRANCHES, 80)
    state = after(BRANCHES, [(config, bowl(config)) for config in configs])
    good, bad = groups(state, 3, 0.15)
    for rows in (good, bad):
        other = rows[:, 0] == 1
        assert np.isnan(rows[other, 1]).all() and np.isfinite(rows[~other, 1]).all()
    kinds = Counter(config["kind"] for config in draws(state, 30))
    assert kinds["b"] > kinds["a"]
    assert stats.binomtest(kinds["b"], 30).pvalue < 0.05
