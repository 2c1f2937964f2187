"""Search with a Gaussian process on conditional spaces: valid, exact, and not kept to a branch."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from amounts import MODELLED, slow_unless_in

from priorband import (
    Categorical,
    Constant,
    Fidelity,
    Float,
    Integer,
    Optimizer,
    Ordinal,
    Space,
    State,
    Study,
    at_least,
    simulate,
)
from priorband.models.acquisition import Improvement
from priorband.models.kernels import Array
from priorband.models.search import ranked
from priorband.samplers import FromUniform, GPSearch
from priorband.samplers.gaussian import settled
from priorband.schedulers import FullFidelity
from priorband.streams import generator
from priorband.testing import Flaky, noise

EPOCHS = Fidelity("epochs", 1, 9)
GP_METHODS = tuple(name for name in MODELLED if name != "bohb")
OVER: tuple[Any, ...] = ("full", "rung", "joint")


def nested_space() -> Space:
    """Three levels, under a choice and under numbers, with every kind of parameter, and priors."""
    return Space(
        {
            "lr": Float(1e-5, 1e-1, log=True, prior=1e-3),
            "optimizer": Categorical(
                {
                    "sgd": {
                        "momentum": Float(0.0, 0.99, prior=0.9),
                        "nesterov": Categorical((True, False), when={"momentum": at_least(0.5)}),
                    },
                    "adam": {
                        "beta_1": Float(0.5, 0.999),
                        "amsgrad": Categorical(
                            {"on": {"decay": Float(0, 1, prior=0.1)}, "off": {}}
                        ),
                    },
                    "none": {},
                },
                prior="adam",
            ),
            "layers": Integer(1, 4),
            "width": Integer(16, 512, log=True, when={"layers": at_least(2)}, prior=64),
            "narrowing": Ordinal((1, 2, 4, 8), when={"width": at_least(64), "layers": [3, 4]}),
            "seed": Constant(7, when={"optimizer": ["sgd", "adam"]}),
        }
    )


def told(space: Space, results: list[tuple[Mapping[str, Any], float, float]]) -> State:
    study = Study(space, EPOCHS, Optimizer(FullFidelity(), FromUniform()))
    for config, fidelity, loss in results:
        study.add(config, loss, fidelity)
    return study.state


def drawn(sampler: GPSearch, state: State, rung: int = 0, seed: int = 0) -> Mapping[str, Any]:
    draw = sampler.sample(state, rung, generator(seed, 0, "test"))
    assert draw.origin == "model"
    return state.space.check(draw.config)


def uniform_results(space: Space, n: int, seed: int = 0) -> list[Mapping[str, Any]]:
    return [space.decode(row) for row in space.uniform(n, generator(seed, 1, "test"))]


# Contracts


RUNS = [(method, workers) for method in GP_METHODS for workers in (1, 8)]
EVERYDAY = [("bo", 1), ("pibo", 8), ("mobster(joint)", 1), ("mobster", 8)]


@pytest.mark.parametrize(("method", "workers"), slow_unless_in(EVERYDAY, RUNS))
def test_three_levels_are_searched_among_failures_and_replayed(method: str, workers: int) -> None:
    study = Study(nested_space(), EPOCHS, method, seed=3)
    objective = Flaky(lambda config, epochs: noise(config, epochs) + 1 / epochs)
    runs = simulate(study, objective, workers, budget=30)
    assert any(run.outcome.failed for run in runs)
    proposed = [trial for trial in study.state.history.trials if trial.origin == "model"]
    assert len(proposed) >= 3
    for trial in study.state.history.trials:
        assert study.space.check(trial.config) == trial.config
    assert study.replay().differing == ()


@pytest.mark.parametrize("method", GP_METHODS)
def test_every_gp_method_proposes_valid_configurations_and_the_same_twice(method: str) -> None:
    study = Study(nested_space(), Fidelity("epochs", 1, 3), method, seed=1)
    for config in uniform_results(study.space, 14):
        study.add(config, noise(config, 3), 3)
    for _ in range(3):
        state = study.state
        assert study.optimizer.propose(state, 1) == study.optimizer.propose(state, 1)
        trial = study.ask()
        assert study.space.check(trial.config) == trial.config
        study.tell(trial, noise(trial.config, trial.fidelity) if trial.id % 3 else math.nan)
    assert study.replay().exact


# What is evaluated


@pytest.mark.parametrize("combine", ["sum", "product"])
@pytest.mark.parametrize(("over", "beta"), [("full", 0.0), ("rung", 10.0), ("joint", 10.0)])
def test_marks_go_in_and_never_come_out(
    monkeypatch: pytest.MonkeyPatch, over: Any, beta: float, combine: Any
) -> None:
    space, asked = nested_space(), 0
    value, slope = Improvement.__call__, Improvement.slope

    def check(rows: Array) -> None:
        nonlocal asked
        asked += len(rows)
        assert (np.isnan(rows) == ~space.mask(np.nan_to_num(rows))).all()
        assert np.isnan(rows).any() or len(rows) < 5

    def watched(self: Improvement, rows: Array) -> Array:
        check(rows)
        found = value(self, rows)
        assert not np.isnan(found).any()
        return found

    def watched_slope(self: Improvement, row: Array) -> tuple[float, Array]:
        check(row[None])
        found = slope(self, row)
        assert not np.isnan(found[0]) and np.isfinite(found[1]).all()
        numbers = [i for i, size in enumerate(space.sizes) if size is None]
        assert (found[1][np.isnan(row[numbers])] == 0.0).all()
        return found

    monkeypatch.setattr(Improvement, "__call__", watched)
    monkeypatch.setattr(Improvement, "slope", watched_slope)
    configs = uniform_results(space, 40)
    fidelities = [9.0] * 40 if over != "joint" else [1.0, 3.0, 9.0, 9.0] * 10
    results = [(c, f, noise(c, f)) for c, f in zip(configs, fidelities, strict=True)]
    drawn(GPSearch(over, beta, combine=combine), told(space, results))
    assert asked > 500


def two_branches() -> Space:
    return Space(
        {
            "kind": Categorical({"left": {"a": Float(0, 1)}, "right": {"b": Float(0, 1)}}),
            "x": Float(0, 1),
        }
    )


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("best", ["left", "right"])
def test_the_best_branch_is_found_and_its_own_parameter(best: str, over: Any) -> None:
    """The better branch has its valley at 0.7, the other one at 0.2."""
    space = two_branches()
    results = []
    for config in uniform_results(space, 40):
        own = config["a"] if config["kind"] == "left" else config["b"]
        good = config["kind"] == best
        loss = (own - (0.7 if good else 0.2)) ** 2 + (config["x"] - 0.4) ** 2 + 0.2 * (not good)
        results.append((config, 9.0, loss))
    found = drawn(GPSearch(over), told(space, results), rung=2)
    assert found["kind"] == best
    assert found["a" if best == "left" else "b"] == pytest.approx(0.7, abs=0.1)
    assert found["x"] == pytest.approx(0.4, abs=0.1)


def test_a_branch_that_was_never_tried_is_explored() -> None:
    """After 20 results on the left that are all alike, the right is worth a look."""
    space = two_branches()
    results: list[tuple[Mapping[str, Any], float, float]] = [
        ({"kind": "left", "a": i / 19, "x": i * 7 % 20 / 19}, 9.0, 1.0 + 1e-3 * (i % 3))
        for i in range(20)
    ]
    assert drawn(GPSearch("full"), told(space, results))["kind"] == "right"


def test_a_branch_behind_a_threshold_is_found() -> None:
    space = Space({"n": Integer(1, 9), "y": Float(0, 1, when={"n": at_least(6)})})
    results = []
    for config in uniform_results(space, 40):
        loss = 1.0 - config["n"] / 20
        if "y" in config:
            loss += (config["y"] - 0.6) ** 2 - 0.3 + abs(config["n"] - 7) / 5
        results.append((config, 9.0, loss))
    found = drawn(GPSearch("full"), told(space, results))
    assert found["n"] == 7 and found["y"] == pytest.approx(0.6, abs=0.1)


def test_the_prior_of_active_parameters_draws_pibo() -> None:
    """Losses say nothing, so that the prior decides, in the branch that it prefers."""
    space = Space(
        {
            "kind": Categorical(
                {"left": {"a": Float(0, 1, prior=0.2)}, "right": {"b": Float(0, 1, prior=0.9)}},
                prior={"left": 1, "right": 30},
            ),
        }
    )
    results = [(c, 9.0, 1.0 + 1e-3 * (i % 2)) for i, c in enumerate(uniform_results(space, 20))]
    found = drawn(GPSearch("full", beta=500.0), told(space, results))
    assert found["kind"] == "right" and found["b"] == pytest.approx(0.9, abs=0.1)


def test_configurations_of_a_small_branch_are_not_tried_again() -> None:
    """The best branch has one configuration, which any number of rows of codes stand for."""
    space = Space(
        {"kind": Categorical({"plain": {}, "rich": {"size": Categorical(list("uvwxyz"))}})}
    )
    study = Study(space, EPOCHS, Optimizer(FullFidelity(), GPSearch("full")), seed=0)
    study.add({"kind": "plain"}, 0.0, 9)
    for number, size in enumerate("uvw"):
        study.add({"kind": "rich", "size": size}, 5.0 + number, 9)
    found = [study.ask().config for _ in range(3)]
    assert sorted(config["size"] for config in found) == list("xyz")
    assert study.ask().config["kind"] in ("plain", "rich")  # all were tried, and it goes on


def test_the_shortlist_has_each_configuration_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best branch has one configuration, and hundreds of candidates are in it."""
    space = Space({"kind": Categorical({"plain": {}, "rich": {"a": Float(0, 1)}})})
    results: list[tuple[Mapping[str, Any], float, float]] = [({"kind": "plain"}, 1.0, 0.0)]
    results += [({"kind": "rich", "a": i / 9}, 9.0, 2.0 + i / 9) for i in range(10)]
    starts: list[Array] = []

    def watched(score: Any, groups: list[Array], *others: Any) -> Array:
        starts.extend(groups)
        return ranked(score, groups, *others)

    monkeypatch.setattr("priorband.models.search.ranked", watched)
    drawn(GPSearch("joint"), told(space, results))
    [shortlist] = starts
    assert np.isfinite(shortlist).all()  # with a number for what is inactive
    configs = {space.config(row.tolist()) for row in shortlist}
    assert len(configs) == len(shortlist) == 10


def test_settled_rows_keep_a_number_in_each_column() -> None:
    space = nested_space()
    rows = np.random.default_rng(0).random((50, len(space)))
    for column, size in enumerate(space.sizes):
        if size is not None:
            rows[:, column] = np.floor(rows[:, column] * size)
    found = settled(space, rows)
    assert np.isfinite(found).all()
    for row, marked in zip(found, space.marked(found), strict=True):
        assert space.config(row.tolist()) == space.config(marked.tolist())
