"""SMAC's multi-fidelity method on our benchmarks, with the mode in its initial design."""

import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from priorband.errors import SpaceError
from priorband.experiments.peers.packages import required_package
from priorband.experiments.peers.training_log import TrainingLog
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space

_MANY = 100_000
"""SMAC must know a number of trials. The budget ends its runs."""
_FAILED = 1e9


def run_multi_fidelity(log: TrainingLog, mode: Mapping[str, Any] | None, seed: int) -> None:
    """MultiFidelityFacade: Hyperband with a random forest.

    A configuration that it evaluates again with a larger budget pays the difference.
    """
    required_package("smac", "smac")
    import smac
    from smac.runhistory.dataclasses import TrialValue

    searched, fidelity = _configspace(log.benchmark.space, mode), log.benchmark.fidelity
    facade = smac.MultiFidelityFacade
    with tempfile.TemporaryDirectory() as folder:
        scenario = smac.Scenario(
            searched,
            output_directory=Path(folder),
            deterministic=True,
            n_trials=_MANY,
            min_budget=fidelity.low,
            max_budget=fidelity.high,
            seed=seed,
        )
        initial = facade.get_initial_design(scenario)
        if mode is not None:
            initial = smac.initial_design.DefaultInitialDesign(scenario)
        solver = facade(
            scenario,
            lambda config, seed=0, budget=0: 0.0,  # never called: SMAC is asked and told
            initial_design=initial,
            intensifier=facade.get_intensifier(scenario, eta=3),
            logging_level=False,
            overwrite=True,
        )
        _run(solver, log, TrialValue)


def _run(solver: Any, log: TrainingLog, result: Any) -> None:
    fidelity = log.benchmark.fidelity
    reached: dict[Any, tuple[int, float]] = {}
    while log.has_budget:
        info = solver.ask()
        trained = min(max(float(info.budget), fidelity.low), fidelity.high)
        times, before = reached.get(info.config, (0, 0.0))
        if trained <= before:  # from scratch again
            times += 1
        reached[info.config] = (times, trained)
        config = _config(log.benchmark.space, info.config)
        loss = log.train((info.config.config_id, str(dict(config)), times), config, trained)
        solver.tell(info, result(cost=loss if math.isfinite(loss) else _FAILED))


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
