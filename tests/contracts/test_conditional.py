"""Each sampler and method keeps its contract in spaces with conditions, and reads no mark.

A mark is NaN: whoever computes with it gets NaN, which is no configuration, or a warning, which is
an error in tests.
"""

from typing import Any

import numpy as np
import pytest
from amounts import slow, slow_unless_in
from space.conditional_spaces import SPACES

from priorband import Config, Fidelity, Space, State, Study, methods, optimizer, simulate
from priorband.samplers.base import Sampler
from priorband.samplers.parzen import TPE
from priorband.testing import (
    Flaky,
    check_optimizer,
    check_sampler,
    conditional_space,
    example_states,
    noise,
)

from .test_samplers import SAMPLERS

EVERY: dict[str, Sampler] = {**SAMPLERS, "parzen": TPE()}
METHODS = [name for name in methods() if "GPSearch" not in repr(optimizer(name))]
DEEP = {"three levels": conditional_space()}


@pytest.mark.parametrize("name", EVERY)
def test_every_sampler_keeps_the_contract_in_a_conditional_space(name: str) -> None:
    check_sampler(EVERY[name], 2, DEEP)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("space", slow_unless_in(["chain of three", "children first"], SPACES))
def test_every_sampler_keeps_the_contract_in_all_conditional_spaces(name: str, space: str) -> None:
    check_sampler(EVERY[name], 1, {space: SPACES[space]})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=slow), pytest.param(2, marks=slow)])
def test_every_method_keeps_the_contract_in_a_conditional_space(method: str, seed: int) -> None:
    check_optimizer(optimizer(method), seed, conditional_space())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("workers", [1, 8])
def test_every_method_replays_exactly_among_failures(method: str, workers: int) -> None:
    space = conditional_space()
    study = Study(space, Fidelity("epochs", 1, 27), method, seed=3)
    runs = simulate(study, Flaky(noise), workers, budget=10)
    assert study.replay().differing == ()
    assert any(run.outcome.failed for run in runs) or len(runs) < 12
    configs = [trial.config for trial in study.state.history.trials]
    assert all(space.check(config) == config for config in configs)
    assert len({config["model"] for config in configs}) > 1 or len(configs) < 5


class Correlated:
    """A prior that is no product: a wide network has few layers. It marks nothing itself."""

    mode = Config(conditional_space().prior.mode)

    def __init__(self, space: Space) -> None:
        self.space = space

    def sample(self, rng: Any) -> Any:
        row = self.space.prior.sample(rng)
        numbers = np.where(np.isnan(row), 0.0, row)
        numbers[self.space.names.index("layers")] = 1.0 - numbers[self.space.names.index("width")]
        return numbers

    def logpdf(self, rows: Any) -> Any:
        return self.space.prior.logpdf(self.space.marked(rows))

    def around(self, config: Any) -> "Correlated":
        return self


@pytest.mark.parametrize("name", EVERY)
def test_a_prior_of_ones_own_may_leave_numbers_where_marks_belong(name: str) -> None:
    space = conditional_space()
    for state in example_states(DEEP).values():
        own = State(space, Correlated(space), state.ladder, state.history, state.regard)
        for seed in range(3):
            config = EVERY[name].sample(own, 0, np.random.default_rng(seed)).config
            assert space.check(config) == config


def test_the_space_has_what_the_contract_is_about() -> None:
    space = conditional_space()
    rows = space.uniform(400, np.random.default_rng(0))
    assert space.conditional and len({tuple(row) for row in np.isnan(rows).tolist()}) > 12
    assert space.order != tuple(range(len(space)))
    assert (~np.isnan(rows)).any(axis=0).all()
