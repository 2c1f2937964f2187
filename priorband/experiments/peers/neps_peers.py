"""NePS's methods on our benchmarks, with priors of its own kind: a value and a confidence."""

import math
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
    """NePS's priorband, or its hyperband if there is no prior. A promotion pays the difference.

    As in the paper, the mode is trained in full first; NePS does so only if it is asked to.
    """
    neps, algorithms = _neps(seed)
    space = _space(neps, log, mode, with_fidelity=True)
    if mode is None:
        method = algorithms.hyperband(space)
    else:
        method = algorithms.priorband(space, sample_prior_first="highest_fidelity")
    _run(neps.AskAndTell(optimizer=method), log)


def run_pibo(log: TrainingLog, mode: Mapping[str, Any] | None, seed: int) -> None:
    """NePS's pibo, the mode first, or its Bayesian optimisation without a prior; full trainings."""
    neps, algorithms = _neps(seed)
    space = _space(neps, log, mode, with_fidelity=False)
    if mode is None:
        method = algorithms.bayesian_optimization(space)
    else:
        method = algorithms.pibo(space, sample_prior_first=True)
    _run(neps.AskAndTell(optimizer=method), log)


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
        loss = log.train(roots[trial.id], config, trained)
        asked.tell(trial, loss if math.isfinite(loss) else log.worst)


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
    """A parameter of NePS. A log integer is a float that is rounded.

    NePS 0.17 rounds the logarithms of log integers, which leaves four values from 16 to 512.
    """
    belief: dict[str, Any] = {} if believed is None else {"prior_confidence": "medium"}
    if not isinstance(parameter, Float | Integer):
        if believed is not None:
            belief["prior"] = list(parameter.choices).index(believed)
        return neps.Categorical(choices=tuple(range(len(parameter.choices))), **belief)
    whole = isinstance(parameter, Integer) and not parameter.log
    kind, number = (neps.Integer, int) if whole else (neps.Float, float)
    if believed is not None:
        belief["prior"] = number(believed)
    bounds = {"lower": number(parameter.low), "upper": number(parameter.high)}
    return kind(**bounds, log=parameter.log, **belief)


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
