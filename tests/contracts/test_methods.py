"""Each named method keeps the optimizers' contract, with any number of workers, among failures."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import pytest
from amounts import MODELLED, slow_unless_in
from numpy.random import Generator

from priorband import (
    Fidelity,
    Observation,
    Optimizer,
    Run,
    State,
    Study,
    methods,
    optimizer,
    simulate,
)
from priorband.benchmarks import Hartmann, benchmark_prior
from priorband.errors import ConfigError
from priorband.samplers import Draw, FromUniform
from priorband.schedulers import Hyperband
from priorband.streams import generator
from priorband.testing import Flaky, check_failures, check_optimizer, example_space, noise

Objective = Callable[[Mapping[str, Any], float], float]

HARTMANN = Hartmann(3)
PROBLEMS: dict[str, Callable[[str], tuple[Study, Objective]]] = {
    "mixed": lambda method: (
        Study(example_space(), Fidelity("epochs", 1, 27), method, seed=3),
        Flaky(lambda config, epochs: noise(config, epochs) + 1 / epochs),
    ),
    "hartmann": lambda method: (
        Study(
            *(HARTMANN.space, HARTMANN.fidelity, method),
            seed=4,
            prior=benchmark_prior(HARTMANN, "good"),
        ),
        Flaky(HARTMANN.evaluate),
    ),
}


def run(method: str, problem: str, workers: int) -> tuple[Study, list[Run]]:
    study, objective = PROBLEMS[problem](method)
    return study, simulate(study, objective, workers, budget=10)


def trials(study: Study) -> list[list[Any]]:
    return [
        [t.id, dict(t.config), t.fidelity, t.slot, t.parent, t.origin, t.root]
        for t in study.state.history.trials
    ]


SEEDS = [(method, seed) for method in methods() for seed in range(1 if method in MODELLED else 3)]
QUICK_SEEDS = [(method, 0) for method in methods() if method not in MODELLED]
RUNS = [(m, problem, w) for m in methods() for problem in PROBLEMS for w in (1, 4, 8)]
QUICK_RUNS = [(m, p, w) for m, p, w in RUNS if m not in MODELLED or (p, w) == ("mixed", 8)]


@pytest.mark.parametrize(("method", "seed"), slow_unless_in(QUICK_SEEDS, SEEDS))
def test_every_method_keeps_the_contract(method: str, seed: int) -> None:
    check_optimizer(optimizer(method), seed)


@pytest.mark.parametrize("method", MODELLED)
def test_every_modelled_method_proposes_the_same_twice_and_replays(method: str) -> None:
    study = Study(example_space(), Fidelity("epochs", 1, 3), method, seed=1)
    rows = study.space.uniform(12, generator(1, 1, "test"))
    for row in rows:
        study.add(study.space.decode(row), noise(study.space.decode(row), 3), 3)
    copied = deepcopy(study.optimizer)
    for _ in range(4):
        state = study.state
        assert study.optimizer.propose(state, 1) == copied.propose(state, 1)
        check_failures(state)
        trial = study.ask()
        study.tell(trial, noise(trial.config, trial.fidelity) if trial.id % 3 else math.nan)
    assert study.replay().exact


@pytest.mark.parametrize(("method", "problem", "workers"), slow_unless_in(QUICK_RUNS, RUNS))
def test_every_method_replays_exactly_among_failures(
    method: str, problem: str, workers: int
) -> None:
    study, runs = run(method, problem, workers)
    replay = study.replay()
    assert replay.differing == ()
    assert sorted(replay.steps) == list(range(len(study.state.history)))
    assert any(run.outcome.failed for run in runs) or len(runs) < 12


@pytest.mark.parametrize(("method", "problem", "workers"), slow_unless_in(QUICK_RUNS, RUNS))
def test_failed_trials_lead_nowhere(method: str, problem: str, workers: int) -> None:
    study, objective = PROBLEMS[problem](method)
    asked: list[Observation | None] = []

    def watched(config: Mapping[str, Any], fidelity: float) -> float:
        check_failures(study.state)
        asked.append(study.best)
        return objective(config, fidelity)

    runs = simulate(study, watched, workers, budget=10)
    check_failures(study.state)
    assert len(asked) == len(runs)
    good = [run.outcome for run in runs if not run.outcome.failed]
    assert study.best == min(good, key=lambda ended: ended.loss)
    assert all(math.isinf(run.outcome.loss) == bool(run.outcome.reason) for run in runs)


@pytest.mark.parametrize("method", methods())
def test_equal_seeds_give_equal_trials_and_other_seeds_do_not(method: str) -> None:
    first, second = (run(method, "mixed", 4)[0] for _ in range(2))
    other = Study(example_space(), Fidelity("epochs", 1, 27), method, seed=5)
    simulate(other, noise, 4, budget=10)
    assert trials(first) == trials(second)
    assert trials(first) != trials(other)


def every_trial() -> dict[str, Any]:
    """What each method asks on the mixed space, in this process."""
    return {method: trials(run(method, "mixed", 4)[0]) for method in methods()}


@pytest.fixture(scope="module")
def elsewhere() -> list[dict[str, Any]]:
    """What each method asks in two other processes that hash strings differently."""
    return [
        json.loads(
            subprocess.run(
                [sys.executable, __file__],
                env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for seed in ("1", "2")
    ]


@pytest.mark.parametrize("method", methods())
def test_two_processes_propose_alike(method: str, elsewhere: list[dict[str, Any]]) -> None:
    here = json.loads(json.dumps(trials(run(method, "mixed", 4)[0])))
    assert elsewhere[0][method] == here
    assert elsewhere[1][method] == here


class _Faulty:
    """A sampler with one fault, to see that the optimizers' contract finds it."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.draws = 0

    def __repr__(self) -> str:
        return "Faulty()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Faulty)

    def __hash__(self) -> int:
        return 0

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        self.draws += 1
        if self.fault == "remembers":
            rng.random(self.draws % 7)
        if self.fault == "changes the state":
            object.__setattr__(state, "regard", state.regard + "!")
        return FromUniform().sample(state, rung, rng)


@pytest.mark.parametrize(
    ("fault", "message"),
    [("remembers", "gave two trials .*, then"), ("changes the state", "changed the state")],
)
def test_the_contract_finds_a_faulty_optimizer(fault: str, message: str) -> None:
    with pytest.raises((AssertionError, ConfigError), match=message):
        check_optimizer(Optimizer(Hyperband(), _Faulty(fault)))


if __name__ == "__main__":
    print(json.dumps(every_trial()))
