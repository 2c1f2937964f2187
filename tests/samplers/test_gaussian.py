"""Search with a Gaussian process: when it starts, what it looks at, and that nothing upsets it."""

import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from amounts import MODELLED, slow, slow_unless_in

from priorband import (
    Categorical,
    Constant,
    Fidelity,
    Float,
    Histogram,
    Integer,
    Optimizer,
    Ordinal,
    Space,
    State,
    Study,
    prior,
    simulate,
)
from priorband.benchmarks import Hartmann, benchmark_prior
from priorband.conditions import Enough, Never, Trained
from priorband.errors import MethodError
from priorband.samplers import FromUniform, GPSearch
from priorband.samplers.gaussian import capped_weight, prior_weight
from priorband.schedulers import FullFidelity
from priorband.streams import generator
from priorband.testing import example_space
from priorband.values import replaced

EPOCHS = Fidelity("epochs", 3, 81)


def numbers(dimensions: int, constants: int = 0) -> Space:
    """A space of so many floats, and constants that are not searched."""
    floats: dict[str, Float | Constant] = {f"x{i}": Float(0, 1) for i in range(dimensions)}
    return Space(floats | {f"c{i}": Constant(i) for i in range(constants)})


def bowl(config: Mapping[str, Any], fidelity: float) -> float:
    """Best where all numbers are 0.3, and with much training."""
    values = [v for v in config.values() if isinstance(v, float)]
    return sum((v - 0.3) ** 2 for v in values) + 1 / fidelity


def first_model(method: str, space: Space, fidelity: Fidelity = EPOCHS) -> Study:
    """A study of one worker up to its first draw from a model, which is left running."""
    study = Study(space, fidelity, method, seed=1)
    for _ in range(200):
        trial = study.ask()
        if trial.origin == "model":
            return study
        study.tell(trial, bowl(trial.config, trial.fidelity))
    raise AssertionError(f"{method} never used its model.")


# When the model starts


def test_bo_starts_after_ten_results_whatever_the_dimensions() -> None:
    for dimensions in (2, 14):
        study = first_model("bo", numbers(dimensions))
        assert study.state.history.finished == 10
        assert {trial.origin for trial in study.state.history.trials[:10]} == {"uniform"}


def test_pibo_starts_after_the_mode_and_nine_draws_from_the_prior() -> None:
    study = first_model("pibo", numbers(3))
    origins = [trial.origin for trial in study.state.history.trials]
    assert origins == ["mode", *["prior"] * 9, "model"]


def test_failures_and_running_trials_do_not_start_a_model() -> None:
    study = Study(numbers(2), EPOCHS, "bo", seed=0)
    for number in range(30):
        trial = study.ask()
        assert trial.origin == "uniform"
        if number % 3 == 0 and number < 27:
            study.tell(trial, 1.0 + number)
        elif number % 3 == 1:
            study.fail(trial, "as told")
    study.tell(study.ask(), 0.5)
    assert study.ask().origin == "model"


def test_imported_full_trainings_start_a_model_and_cheap_ones_do_not() -> None:
    study = Study(numbers(2), EPOCHS, "bo", seed=0)
    for number in range(12):
        study.add({"x0": number / 12, "x1": 0.5}, number, 27)
    assert study.ask().origin == "uniform"
    for number in range(10):
        study.add({"x0": number / 12, "x1": 0.5}, number, 81)
    assert study.ask().origin == "model"


@pytest.mark.parametrize(("dimensions", "results"), [(4, 6), (7, 9), (10, 12)])
def test_the_model_of_a_rung_starts_with_two_results_more_than_parameters(
    dimensions: int, results: int
) -> None:
    """Within the first base rung; constants do not count: four of the last are constants."""
    space = numbers(dimensions, constants=4 if dimensions == 10 else 0)
    study = first_model("priorband+bo(rung)", space)
    lowest = study.state.history.succeeded_at(3)
    assert len(lowest) == results
    assert study.state.history.finished == results + 1  # and the mode, at the highest


@pytest.mark.parametrize("method", ["mobster", "mobster(joint)", "mobster+esp"])
def test_mobster_starts_when_some_rung_has_two_results_more_than_parameters(method: str) -> None:
    study = first_model(method, numbers(4))
    counts = [study.state.success_count(rung) for rung in range(4)]
    assert max(counts) == 6
    assert Enough(1, 2)(study.state)
    assert "incumbent" not in {trial.origin for trial in study.state.history.trials}


@pytest.mark.parametrize(("dimensions", "results"), [(4, 10), (7, 16), (10, 22)])
def test_bohb_starts_with_twice_one_more_than_parameters(dimensions: int, results: int) -> None:
    study = Study(numbers(dimensions, constants=2), EPOCHS, "bohb", seed=3)
    origins = []
    for _ in range(40):
        trial = study.ask()
        counts = [study.state.success_count(rung) for rung in range(4)]
        origins.append((max(counts), trial.origin, trial.parent))
        study.tell(trial, bowl(trial.config, trial.fidelity))
    before = {origin for count, origin, _ in origins if count < results}
    after = [origin for count, origin, parent in origins if count >= results and parent is None]
    assert before == {"uniform"}
    assert {"uniform", "model"} == set(after)


@slow
@pytest.mark.parametrize("method", ["priorband+bo", "mobster+esp(joint)"])
def test_the_joint_model_starts_after_ten_full_trainings(method: str) -> None:
    study = Study(numbers(3), EPOCHS, method, seed=2)
    for _ in range(140):
        before = study.state.history.resources
        trial = study.ask()
        if trial.parent is None:
            assert (trial.origin == "model") == (before >= 10 * 81)
        study.tell(trial, bowl(trial.config, trial.fidelity))
    assert study.state.history.resources > 10 * 81


def test_the_conditions_count_what_they_say() -> None:
    study = Study(numbers(2), EPOCHS, "random")
    for number, fidelity in enumerate((81, 81, 27, 27, 27, 5)):
        study.add({"x0": 0.1 * number, "x1": 0.0}, 1.0, fidelity)
        study.add({"x0": 0.1 * number, "x1": 1.0}, math.nan, fidelity)
    assert Trained(2)(study.state) and not Trained(3)(study.state)
    assert Enough(1, 1)(study.state) and not Enough(1, 2)(study.state)
    assert Enough(0, 3)(study.state) and not Enough(2, 0)(study.state)
    assert study.state.rung_with(2) == 3 and study.state.rung_with(3) == 2


# What the model looks at


def drawn(sampler: GPSearch, state: State, rung: int = 0, seed: int = 0) -> Mapping[str, Any]:
    draw = sampler.sample(state, rung, generator(seed, 0, "test"))
    assert draw.origin == "model"
    return draw.config


def told(space: Space, results: list[tuple[dict[str, Any], float, float]]) -> State:
    study = Study(space, EPOCHS, Optimizer(FullFidelity(), FromUniform()))
    for config, fidelity, loss in results:
        study.add(config, loss, fidelity)
    return study.state


def test_without_results_the_draw_is_uniform() -> None:
    state = told(numbers(2), [])
    for over in ("full", "rung", "joint"):
        draw = GPSearch(over).sample(state, 0, generator(0, 0, "test"))
        assert draw.origin == "uniform"


@pytest.mark.parametrize("over", ["full", "rung", "joint"])
def test_a_single_bowl_is_found_at_once(over: Any) -> None:
    grid = [(x / 4, y / 4) for x in range(5) for y in range(5)]
    results = [({"x0": x, "x1": y}, 81.0, (x - 0.6) ** 2 + (y - 0.3) ** 2) for x, y in grid]
    found = drawn(GPSearch(over), told(numbers(2), results), rung=3)
    assert list(found.values()) == pytest.approx([0.6, 0.3], abs=0.03)


def test_a_model_of_a_rung_takes_the_highest_with_results_enough() -> None:
    """Low results say 0.1, high ones 0.9; one high result fewer, and the low ones count."""
    low = [({"x0": x / 9}, 27.0, (x / 9 - 0.1) ** 2) for x in range(10)]
    high = [({"x0": x / 9}, 81.0, (x / 9 - 0.9) ** 2) for x in (0, 6, 9)]
    assert drawn(GPSearch("rung"), told(numbers(1), low + high))["x0"] > 0.6
    assert drawn(GPSearch("rung"), told(numbers(1), low + high[:2]))["x0"] < 0.3
    assert drawn(GPSearch("full"), told(numbers(1), low + high[:2]))["x0"] > 0.6


def test_the_joint_model_carries_what_is_cheap_to_the_highest_fidelity() -> None:
    """Only cheap results show where the valley is; full ones are two and far from it."""
    cheap = [({"x0": x / 20}, 27.0, (x / 20 - 0.35) ** 2 + 0.1) for x in range(21)]
    full = [({"x0": 0.0}, 81.0, 0.1225), ({"x0": 1.0}, 81.0, 0.4225)]
    for rung in (0, 3):
        found = drawn(GPSearch("joint"), told(numbers(1), cheap + full), rung)
        assert found["x0"] == pytest.approx(0.35, abs=0.1)


def test_mobster_looks_at_the_largest_fidelity_with_as_many_results_as_parameters() -> None:
    """The valley moves from 0.2 to 0.8 with the fidelity: it looks there, whatever the rung."""
    low = [({"x0": x / 12}, 27.0, (x / 12 - 0.2) ** 2) for x in range(13)]
    high = [({"x0": x / 12}, 81.0, (x / 12 - 0.8) ** 2) for x in range(0, 13, 2)]
    state = told(numbers(1), low + high)
    for rung in (0, 2, 3):
        found = drawn(GPSearch("joint", two_step=False), state, rung)
        assert found["x0"] == pytest.approx(0.8, abs=0.1)


def test_choices_are_searched_with_the_numbers() -> None:
    space = Space({"kind": Categorical(list("abcde")), "n": Integer(1, 9), "x": Float(0, 1)})
    rng = np.random.default_rng(0)
    results = []
    for _ in range(60):
        config = space.decode(space.uniform(1, rng)[0])
        loss = (config["kind"] != "d") + abs(config["n"] - 6) / 9 + (config["x"] - 0.25) ** 2
        results.append((dict(config), 81.0, loss))
    for combine in ("sum", "product"):
        found = drawn(GPSearch("full", combine=combine), told(space, results))
        assert (found["kind"], found["n"]) == ("d", 6)
        assert found["x"] == pytest.approx(0.25, abs=0.15)


def test_running_trials_are_taken_as_told_their_expected_loss() -> None:
    """Four workers that ask at once get configurations that keep apart from each other."""
    study = Study(numbers(2), EPOCHS, "bo", seed=0)
    for _ in range(12):
        trial = study.ask()
        study.tell(trial, math.sin(9 * trial.config["x0"] + 5 * trial.config["x1"]))
    asked = np.array([list(study.ask().config.values()) for _ in range(4)])
    apart = [np.abs(a - b).max() for i, a in enumerate(asked) for b in asked[:i]]
    assert min(apart) > 0.01


def test_configurations_that_were_tried_are_not_tried_again() -> None:
    space = Space({"kind": Categorical(list("abcdef")), "other": Categorical((True, False))})
    study = Study(space, EPOCHS, "bo", seed=0)
    for number in range(10):
        study.add({"kind": "abcdef"[number % 6], "other": number < 6}, number, 81)
    found = [tuple(study.ask().config.values()) for _ in range(2)]
    assert sorted(found) == [("e", False), ("f", False)]
    assert study.ask().config["kind"] in "abcdef"  # all were tried, and it goes on


@pytest.mark.parametrize("over", ["full", "rung", "joint"])
def test_without_beta_the_prior_does_not_enter_the_model(over: Any) -> None:
    space = example_space()
    states = []
    for stated in (None, prior(space, {"lr": 1e-5, "momentum": 0.9, "optimizer": "rmsprop"})):
        study = Study(space, EPOCHS, Optimizer(FullFidelity(), FromUniform()), 0, stated)
        rng = np.random.default_rng(0)
        for _ in range(25):
            study.add(space.decode(space.uniform(1, rng)[0]), rng.random(), 81)
        states.append(study.state)
    assert drawn(GPSearch(over), states[0]) == drawn(GPSearch(over), states[1])


def test_bo_makes_the_same_trials_under_any_prior() -> None:
    benchmark = Hartmann(3)
    runs = []
    for quality in ("good", "bad"):
        study = Study(
            *(benchmark.space, benchmark.fidelity, "bo", 1),
            prior=benchmark_prior(benchmark, quality),
        )
        simulate(study, benchmark, budget=14)
        runs.append(study.state.history.trials)
    assert runs[0] == runs[1]


# The prior's weight


def test_the_weight_of_the_prior_fades_as_in_the_test_vector() -> None:
    """TV14: a density of one half, raised to beta / t."""
    powers = [0.5 ** prior_weight(10, t) for t in (10, 11, 20)]
    assert powers == pytest.approx([0.5, 0.5325205447, 0.7071067812], abs=1e-10)


def test_the_prior_pulls_while_results_are_few_and_lets_go_when_they_are_many() -> None:
    space = Space({"x0": Float(0, 1, prior=0.9, confidence="high")})
    found = []
    for count in (4, 60):
        results = [({"x0": x}, 81.0, (x - 0.3) ** 2) for x in np.linspace(0, 0.8, count)]
        found.append(drawn(GPSearch("full", beta=30), told(space, results))["x0"])
    assert found[0] > found[1] + 0.1
    assert found[1] == pytest.approx(0.3, abs=0.1)


def test_the_prior_pulls_in_the_joint_model_too_in_both_of_its_steps() -> None:
    space = Space({"x0": Float(0, 1, prior=0.9, confidence="high")})
    results = [({"x0": x}, z, (x - 0.3) ** 2) for z in (27.0, 81.0) for x in (0.0, 0.2, 0.6)]
    found = [drawn(GPSearch("joint", beta), told(space, results), 2)["x0"] for beta in (0, 200)]
    assert found[0] < 0.5
    assert found[1] == pytest.approx(0.9, abs=0.02)  # the climb for the promise does not leave it


def test_a_trusted_prior_pulls_with_full_weight_at_most_and_a_gated_one_not_at_all() -> None:
    """The weight is min(1, 10 / n) after n full trainings, which failures do not count for."""
    assert [capped_weight(10.0, n) for n in (0, 1, 10, 20, 40)] == [1.0, 1.0, 1.0, 0.5, 0.25]
    space = Space({"x0": Float(0, 1, prior=0.9, confidence="high")})
    results = [({"x0": x}, 81.0, (x - 0.3) ** 2) for x in (0.0, 0.5, 1.0)]
    state = told(space, results)
    trusting = GPSearch("joint", 10.0, aim="full", scale="log", trust=Trained(1))
    gated = replaced(trusting, trust=Never())
    plain = replaced(gated, beta=0.0)
    assert drawn(trusting, state, 3)["x0"] > drawn(gated, state, 3)["x0"] + 0.1
    assert drawn(gated, state, 3) == drawn(plain, state, 3)


def test_a_flat_prior_is_never_trusted() -> None:
    state = told(numbers(1), [({"x0": x}, 81.0, (x - 0.3) ** 2) for x in (0.0, 0.5, 1.0)])
    search = GPSearch("joint", 10.0, aim="full", trust=Trained(1))
    assert drawn(search, state, 3) == drawn(replaced(search, trust=Never()), state, 3)


def test_the_aim_at_the_highest_fidelity_does_not_depend_on_the_rung() -> None:
    results = [({"x0": x}, z, (x - 0.3) ** 2 + 1 / z) for x in (0.0, 0.5, 1.0) for z in (3.0, 81.0)]
    state = told(numbers(1), results)
    search = GPSearch("joint", aim="full", scale="log", combine="product")
    assert drawn(search, state, 0) == drawn(search, state, 3)
    assert drawn(search, state)["x0"] == pytest.approx(0.3, abs=0.12)


def test_running_trials_and_failures_count_as_results_for_the_weight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted: list[tuple[float, int]] = []

    def weight(beta: float, results: int) -> float:
        counted.append((beta, results))
        return prior_weight(beta, results)

    monkeypatch.setattr("priorband.samplers.gaussian.prior_weight", weight)
    study = Study(numbers(2), EPOCHS, "pibo")
    for number in range(10):
        study.add({"x0": number / 10, "x1": 0.5}, number, 81)
    study.add({"x0": 0.5, "x1": 0.1}, math.nan, 81)
    study.add({"x0": 0.5, "x1": 0.2}, 1.0, 27)  # not a full training
    study.ask()  # the mode
    study.ask(), study.ask()
    assert counted == [(10, 12), (10, 13)]


def test_a_prior_without_density_in_places_does_no_harm() -> None:
    space = Space({"x0": Float(0, 1, prior=Histogram((0, 1, 0, 0))), "x1": Float(0, 1)})
    results = [({"x0": x / 9, "x1": 1 - x / 9}, 81.0, (x / 9 - 0.8) ** 2) for x in range(10)]
    assert 0.25 <= drawn(GPSearch("full", beta=10), told(space, results))["x0"] <= 0.5


# Nothing upsets it

ONE_CATEGORY = Space({"kind": Categorical(("a", "b", "c"), prior="b")})
PROBLEMS: dict[str, tuple[Space, Callable[[Mapping[str, Any], float], float]]] = {
    "constants": (
        Space({"a": Constant(1), "x": Float(0, 1), "b": Constant(None), "k": Ordinal((1, 2, 5))}),
        lambda config, z: abs(config["x"] - 0.2) * config["k"] + 1 / z,
    ),
    "one category": (ONE_CATEGORY, lambda config, z: "cab".index(config["kind"]) + 1 / z),
    "one category of one choice": (Space({"kind": Categorical(("a",))}), lambda config, z: 1 / z),
    "identical losses": (example_space(), lambda config, z: 0.25),
    "tiny losses": (numbers(2), lambda config, z: 1e-12 * bowl(config, z)),
    "huge losses": (numbers(2), lambda config, z: 1e12 * bowl(config, z)),
    "tiny and huge": (numbers(2), lambda config, z: 10 ** (24 * config["x0"] - 12)),
    "often failing": (numbers(2), lambda config, z: math.nan if config["x0"] > 0.85 else 1 / z),
}


PAIRS = [(method, problem) for method in MODELLED for problem in PROBLEMS]


@pytest.mark.parametrize(("method", "problem"), slow_unless_in(PAIRS[:: len(PROBLEMS) + 1], PAIRS))
def test_every_method_copes_with_every_problem(method: str, problem: str) -> None:
    space, objective = PROBLEMS[problem]
    study = Study(space, Fidelity("epochs", 1, 9), method, seed=1)
    study.add(space.decode(space.uniform(1, generator(0, 0, "import"))[0]), 0.3, 5)
    simulate(study, objective, workers=3, budget=18 if "failing" in problem else 14)
    assert "model" in {trial.origin for trial in study.state.history.trials}
    assert study.replay().exact


@pytest.mark.parametrize("method", MODELLED)
@pytest.mark.filterwarnings("ignore:.*single rung")
def test_every_method_works_with_one_rung_only(method: str) -> None:
    study = Study(numbers(2), Fidelity("epochs", 5, 5), method, seed=1)
    simulate(study, bowl, workers=2, budget=16)
    assert "model" in {trial.origin for trial in study.state.history.trials}
    assert study.best is not None and study.best.loss < 0.2 + 0.1


@slow
@pytest.mark.parametrize("method", MODELLED)
def test_every_method_works_with_two_thousand_results_many_of_them_the_same(method: str) -> None:
    study = Study(numbers(3), Fidelity("epochs", 1, 27), method, seed=1)
    rng = np.random.default_rng(0)
    for number in range(2_000):
        config = {f"x{i}": float(v) for i, v in enumerate(np.round(rng.random(3), 1))}
        fidelity = (1, 3, 9, 27)[number % 4]
        study.add(config, bowl(config, fidelity), fidelity)
    if study.optimizer.extra is not None:  # it begins after brackets, which nobody can import
        draw = study.optimizer.extra.sample(study.state, 3, generator(1, 1, "test"))
        assert draw.origin == "model"
        return
    trials = [study.ask() for _ in range(4)]
    assert "model" in {trial.origin for trial in trials}
    if method == "bo":
        assert bowl(trials[0].config, 27) < 0.05 + 1 / 27


def test_a_hundred_and_fifty_running_trials_are_no_obstacle() -> None:
    study = Study(numbers(2), EPOCHS, "bo", seed=1)
    for number in range(10):
        study.add({"x0": number / 10, "x1": 0.3}, number, 81)
    for _ in range(2):
        study.queue({"x0": 0.5, "x1": 0.5})
    for number in range(150):
        study.queue({"x0": number / 150, "x1": 0.7})
    for _ in range(153):
        trial = study.ask()
    assert trial.origin == "model"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"over": "all"}, "'full', 'rung' or 'joint', got 'all'"),
        ({"combine": "both"}, "'sum' or 'product', got 'both'"),
        ({"beta": -1}, "at least 0, got -1"),
        ({"beta": "much"}, "at least 0, got 'much'"),
        ({"candidates": 1}, "`candidates` must be a whole number of at least 2, got 1"),
        ({"most": 2.5}, "`most` must be a whole number of at least 2, got 2.5"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(MethodError, match=message):
        GPSearch(**wrong)


# Threads

ASKING = """
from priorband import Study, simulate
from priorband.benchmarks import Hartmann
benchmark = Hartmann(6)
study = Study(benchmark.space, benchmark.fidelity, "bo", 1)
simulate(study, benchmark, budget=16)
print([list(trial.config.values()) for trial in study.state.history.trials])
"""


def test_the_number_of_threads_changes_nothing() -> None:
    asked = {
        subprocess.run(
            [sys.executable, "-c", ASKING],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for threads in ("1", "4")
    }
    assert len(asked) == 1
