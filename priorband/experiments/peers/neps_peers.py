"""NePS's methods on our benchmarks, with priors of its own kind: a value and a confidence."""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from priorband.errors import SpaceError
from priorband.experiments.peers.packages import required_package
from priorband.experiments.peers.training_log import TrainingLog
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space

_FIDELITY = "fidelity_of_the_trial"


def run_priorband(log: TrainingLog, mode: Mapping[str, Any] | None, seed: int) -> None:
    """NePS's priorband, or its hyperband if there is no prior. A promotion pays the difference."""
    neps, algorithms = _neps(seed)
    space = _space(neps, log, mode, with_fidelity=True)
    method = algorithms.hyperband if mode is None else algorithms.priorband
    _run(neps.AskAndTell(optimizer=method(space)), log)


def run_pibo(log: TrainingLog, mode: Mapping[str, Any] | None, seed: int) -> None:
    """NePS's pibo, or its Bayesian optimisation without a prior; full trainings."""
    neps, algorithms = _neps(seed)
    space = _space(neps, log, mode, with_fidelity=False)
    method = algorithms.bayesian_optimization if mode is None else algorithms.pibo
    _run(neps.AskAndTell(optimizer=method(space)), log)


def _neps(seed: int) -> tuple[Any, Any]:
    """The package and its methods; NePS takes a seed only as that of all global generators."""
    required_package("neps", "neps")
    import neps
    import torch

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  # NePS draws from the global generators
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    return neps, neps.algorithms


def _run(asked: Any, log: TrainingLog) -> None:
    fidelity = log.benchmark.fidelity
    roots: dict[str, str] = {}
    while log.has_budget:
        trial = asked.ask()
        before = trial.metadata.previous_trial_id
        roots[trial.id] = trial.id if before is None else roots[before]
        trained = float(trial.config.get(_FIDELITY, fidelity.high))
        config = _config(log.benchmark.space, trial.config)
        asked.tell(trial, log.train(roots[trial.id], config, trained))


def _space(neps: Any, log: TrainingLog, mode: Mapping[str, Any] | None, with_fidelity: bool) -> Any:
    space, fidelity = log.benchmark.space, log.benchmark.fidelity
    if space.conditional:
        raise SpaceError("`space` must have no conditions to be compared with NePS.")
    attributes = {
        name: _parameter(neps, parameter, None if mode is None else mode[name])
        for name, parameter in space.searched.items()
    }
    if with_fidelity:
        kind = neps.IntegerFidelity if float(fidelity.low).is_integer() else neps.FloatFidelity
        attributes[_FIDELITY] = kind(lower=fidelity.low, upper=fidelity.high)
    return type("Searched", (neps.PipelineSpace,), attributes)()


def _parameter(neps: Any, parameter: Any, believed: Any) -> Any:
    """A parameter of NePS. Integers are floats that are rounded: its own have too few values."""
    belief: dict[str, Any] = {} if believed is None else {"prior_confidence": "medium"}
    if isinstance(parameter, Float | Integer):
        if believed is not None:
            belief["prior"] = float(believed)
        bounds = {"lower": float(parameter.low), "upper": float(parameter.high)}
        return neps.Float(**bounds, log=parameter.log, **belief)
    if believed is not None:
        belief["prior"] = list(parameter.choices).index(believed)
    return neps.Categorical(choices=tuple(range(len(parameter.choices))), **belief)


def _config(space: Space, values: Mapping[str, Any]) -> Config:
    return space.complete(
        {name: _value(parameter, values[name]) for name, parameter in space.searched.items()}
    )


def _value(parameter: Any, value: Any) -> Any:
    if isinstance(parameter, Float):
        return min(max(float(value), parameter.low), parameter.high)
    if isinstance(parameter, Integer):
        return round(float(value))
    return parameter.choices[int(value)]
