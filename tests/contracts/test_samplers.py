"""Each sampler keeps the samplers' contract."""

import math
from typing import Any

import pytest
from amounts import MODELLED, slow
from numpy.random import PCG64, Generator

from priorband import (
    Categorical,
    Config,
    Constant,
    ExhaustedError,
    Fidelity,
    Float,
    History,
    Integer,
    Optimizer,
    Space,
    State,
    Study,
    ensemble,
    methods,
    optimizer,
)
from priorband.conditions import Bracketed, Done, Drawn, Spent
from priorband.errors import ConfigError
from priorband.samplers import (
    Crossover,
    Draw,
    Ensemble,
    Fixed,
    FromPrior,
    FromUniform,
    Grid,
    Guard,
    Hypersphere,
    Mix,
    Perturb,
    PriorMode,
    Staged,
    UniformOrNear,
)
from priorband.samplers.base import Sampler
from priorband.samplers.ensemble_policy import ConstantShare, Decay, Dynamic, Half, Linear, Zero
from priorband.schedulers import FullFidelity
from priorband.testing import check_sampler, example_states

SAMPLERS: dict[str, Sampler] = {
    "uniform": FromUniform(),
    "prior": FromPrior(),
    "mode": PriorMode(),
    "grid": Grid(),
    "coarse grid": Grid(points=2),
    "perturb": Perturb(),
    "perturb all, always": Perturb(rate=1.0, sigma=0.01, always_change=True),
    "crossover": Crossover(Ensemble()),
    "hypersphere": Hypersphere(),
    "fixed mixture": Mix((FromUniform(), FromPrior(), Perturb()), Fixed((0.2, 0.3, 0.5))),
    "stages": Staged(PriorMode(), Staged(FromPrior(), Perturb(), Spent(3)), Drawn(1)),
    "ensemble": ensemble(),
    "ensemble, half": ensemble(Ensemble(uniform_share=Half())),
    "ensemble, linear": ensemble(Ensemble(uniform_share=Linear())),
    "ensemble, floored": ensemble(Ensemble(incumbent_share=Dynamic(floor=0.1))),
    "ensemble, constant": ensemble(Ensemble(incumbent_share=ConstantShare())),
    "ensemble, decay": ensemble(Ensemble(incumbent_share=Decay())),
    "ensemble, decay by resources": ensemble(Ensemble(incumbent_share=Decay("resources"))),
    "ensemble, no incumbent": ensemble(Ensemble(incumbent_share=Zero())),
    "ensemble, guarded": ensemble(Ensemble(Guard(), Zero())),
    "ensemble, guarded, then dynamic": Staged(
        ensemble(Ensemble(Guard(1.0, -1.0), Zero())), ensemble(), Bracketed()
    ),
    "ensemble, uniform or near": ensemble(UniformOrNear()),
    "ensemble, crossover": ensemble(around=Crossover(Ensemble())),
    "ensemble, hypersphere": ensemble(around=Hypersphere()),
    "ensemble in an ensemble": ensemble(around=Staged(Perturb(), ensemble(), Done(40))),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_keeps_the_contract(name: str) -> None:
    check_sampler(SAMPLERS[name])


@pytest.mark.parametrize(
    ("method", "draws"),
    [
        *((method, 1 if method in MODELLED else 2) for method in methods()),
        *(pytest.param(method, 2, marks=slow) for method in MODELLED),
    ],
)
def test_the_sampler_of_every_method_keeps_the_contract(method: str, draws: int) -> None:
    check_sampler(optimizer(method).sampler, draws)


def test_the_example_states_hold_everything_that_the_contract_is_about() -> None:
    states = example_states()
    crowded = states["mixed, busy, with imported and queued trials"]
    history, rungs = crowded.history, crowded.ladder.fidelities
    assert history.running and history.queued
    assert len(history.successes) < len(history.observations)
    imported = [t.fidelity for t in history.trials if t.origin == "imported"]
    assert any(z in rungs for z in imported) and any(z not in rungs for z in imported)
    assert not states["mixed, failing"].history.successes
    assert not len(states["mixed, empty"].history)
    assert Ensemble()(crowded, 1).p_incumbent > 0


class _Patient(Generator):
    """A generator that loses its patience: a sampler that never ends fails instead of hanging."""

    calls = 0

    def random(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        assert self.calls < 3_000, "The sampler does not come to an end."
        return super().random(*args, **kwargs)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("results", [0, 1, 6])
@pytest.mark.parametrize("choices", [("only",), ("this", "that")])
def test_every_sampler_ends_on_the_smallest_spaces(
    name: str, results: int, choices: tuple[str, ...]
) -> None:
    study = _with_results(Space({"choice": Categorical(choices)}), results)
    try:
        draw = SAMPLERS[name].sample(study.state, 0, _Patient(PCG64(results)))
    except ExhaustedError:
        assert "grid" in name
    else:
        assert draw.config["choice"] in choices


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("value", [None, "text", (0.9, 0.999)], ids=repr)
def test_every_sampler_hands_a_constant_on_whatever_it_is(name: str, value: Any) -> None:
    space = Space({"fixed": Constant(value), "x": Float(0, 1), "n": Integer(1, 3)})
    study = _with_results(space, 6)
    for seed in range(5):
        draw = SAMPLERS[name].sample(study.state, 0, Generator(PCG64(seed)))
        assert draw.config["fixed"] == value


def _with_results(space: Space, results: int) -> Study:
    study = Study(space, Fidelity("epochs", 1, 3), Optimizer(FullFidelity(), FromUniform()))
    for _ in range(results):
        trial = study.ask()
        study.tell(trial, math.sin(trial.id))
    return study


class _Faulty:
    """A sampler with one fault, to see that the contract finds it."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.draws = 0

    def __repr__(self) -> str:
        return object.__repr__(self) if self.fault == "prints an address" else "Faulty()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Faulty) and self.fault != "differs from its copy"

    def __hash__(self) -> int:
        return 0

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        self.draws += 1
        draw = FromUniform().sample(state, rung, rng)
        values = dict(draw.config)
        name = next(iter(values))
        if self.fault == "leaves the space":
            values[name] = "elsewhere"
        if self.fault == "loses the order":
            values[name] = values.pop(name)
        if self.fault == "remembers" and self.draws % 2:
            return FromPrior().sample(state, rung, rng)
        if self.fault == "changes the state":
            object.__setattr__(state, "history", History())
        if self.fault == "needs a result":
            assert state.history.best is not None, "no result yet"
        return Draw(Config(values), "faulty")


FAULTS = {
    "prints an address": "prints a memory address",
    "differs from its copy": "does not equal its copy",
    "leaves the space": "`lr` must be a number",
    "loses the order": "parameters are in another order",
    "remembers": "gave two results for the same arguments: .*, then",
    "changes the state": "`sample` changed the state",
    "needs a result": "no result yet",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_contract_finds_a_faulty_sampler(fault: str) -> None:
    with pytest.raises((AssertionError, ConfigError), match=FAULTS[fault]):
        check_sampler(_Faulty(fault))
