"""SMAC's multi-fidelity method on our benchmarks; it is told the result of the mode first."""

import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from priorband.errors import SpaceError
from priorband.experiments.peers.packages import required_package
from priorband.experiments.peers.training_log import TrainingLog
from priorband.ladder import Ladder
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space

ETA = 3


def run_multi_fidelity(log: TrainingLog, mode: Mapping[str, Any] | None, seed: int) -> None:
    """MultiFidelityFacade: Hyperband with a random forest, told the full result of the mode first.

    A configuration that it evaluates again with a larger budget pays the difference, although
    keeping its checkpoint is left to the user. SMAC must know a number of trials, by which it
    chooses how many draws to begin with; it is the one that SMAC computes for the budget.
    """
    required_package("smac", "smac")
    import smac
    from smac.intensifier.hyperband_utils import determine_hyperband_for_multifidelity
    from smac.runhistory.dataclasses import TrialInfo

    searched, fidelity = _configspace(log.benchmark.space, mode), log.benchmark.fidelity
    facade = smac.MultiFidelityFacade
    plan = determine_hyperband_for_multifidelity(
        log.budget * fidelity.high, fidelity.low, fidelity.high, ETA
    )
    with tempfile.TemporaryDirectory() as folder:
        scenario = smac.Scenario(
            searched,
            output_directory=Path(folder),
            deterministic=True,
            n_trials=plan["n_trials"],
            min_budget=fidelity.low,
            max_budget=fidelity.high,
            seed=seed,
        )
        solver = facade(
            scenario,
            lambda config, seed=0, budget=0: 0.0,  # never called: SMAC is asked and told
            intensifier=facade.get_intensifier(scenario, eta=ETA),
            logging_level=False,
            overwrite=True,
        )
        trained: dict[Any, tuple[int, float]] = {}
        if mode is not None:
            first = searched.get_default_configuration()
            _train(solver, log, trained, TrialInfo(first, seed=0, budget=float(fidelity.high)))
        while log.has_budget:
            _train(solver, log, trained, solver.ask())


def _train(
    solver: Any, log: TrainingLog, trained: dict[Any, tuple[int, float]], trial: Any
) -> None:
    """Train a configuration as far as a trial says, and tell SMAC of it.

    SMAC has the rungs of our Hyperband, but for rounding to whole epochs, which is ours here.
    `trained` has how often and how far each configuration was trained. One that was trained
    further before is trained from the beginning.
    """
    from smac.runhistory.dataclasses import TrialValue

    rungs = Ladder(log.benchmark.fidelity, ETA).fidelities
    wanted = min(rungs, key=lambda rung: abs(rung - trial.budget))
    times, before = trained.get(trial.config, (1, 0.0))
    times += wanted <= before
    trained[trial.config] = (times, wanted)
    config = _config(log.benchmark.space, trial.config)
    loss = log.train((trial.config, times), config, wanted)
    solver.tell(trial, TrialValue(cost=loss if math.isfinite(loss) else log.worst))


def _configspace(space: Space, mode: Mapping[str, Any] | None) -> Any:
    """The space for SMAC; the mode is its default configuration."""
    if space.conditional:
        raise SpaceError("`space` must have no conditions to be compared with SMAC.")
    import ConfigSpace as kinds

    searched = kinds.ConfigurationSpace()
    for name, parameter in space.searched.items():
        default = None if mode is None else mode[name]
        if isinstance(parameter, Float | Integer):
            floats = isinstance(parameter, Float)
            made = kinds.UniformFloatHyperparameter
            made = made if floats else kinds.UniformIntegerHyperparameter
            bounds = parameter.low, parameter.high
            searched.add(made(name, *bounds, log=parameter.log, default_value=default))
        else:
            choices = list(parameter.choices)
            chosen = 0 if default is None else choices.index(default)
            numbers = list(range(len(choices)))
            searched.add(kinds.CategoricalHyperparameter(name, numbers, default_value=chosen))
    return searched


def _config(space: Space, values: Mapping[str, Any]) -> Config:
    given = dict(values)
    return space.complete(
        {name: _value(parameter, given[name]) for name, parameter in space.searched.items()}
    )


def _value(parameter: Any, value: Any) -> Any:
    if isinstance(parameter, Float):
        return min(max(float(value), parameter.low), parameter.high)
    return int(value) if isinstance(parameter, Integer) else parameter.choices[int(value)]
