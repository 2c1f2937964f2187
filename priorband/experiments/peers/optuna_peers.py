"""Optuna's samplers on our benchmarks, with the mode of the prior as the first trial."""

import math
from collections.abc import Mapping
from typing import Any

from priorband.errors import SpaceError
from priorband.experiments.peers.packages import required_package
from priorband.experiments.peers.training_log import TrainingLog
from priorband.ladder import Ladder
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space

ETA = 3


def run_tpe_hyperband(log: TrainingLog, mode: Mapping[str, Any] | None, seed: int) -> None:
    """TPESampler with HyperbandPruner, which is shown the losses on the rungs of our Hyperband.

    A trial pays up to the fidelity at which it is pruned; Optuna never continues a pruned trial.
    The pruner lets the first trial of a bracket pass, so that the mode is trained in full.
    """
    optuna = _optuna("optuna")
    fidelity = log.benchmark.fidelity
    low, high = math.ceil(fidelity.low), math.floor(fidelity.high)
    pruner = optuna.pruners.HyperbandPruner(low, high, ETA)
    # A trial's bracket depends on the name of the study, which is random unless it is given.
    study = optuna.create_study(
        study_name=f"seed {seed}", sampler=optuna.samplers.TPESampler(seed=seed), pruner=pruner
    )
    steps = Ladder(fidelity, ETA).fidelities[:-1]
    _enqueue(study, log.benchmark.space, mode)
    while log.has_budget:
        trial = study.ask(_distributions(log.benchmark.space))
        config = _config(log.benchmark.space, trial.params)
        for step in steps:
            loss = log.train(trial.number, config, step)
            trial.report(loss, math.ceil(step))
            if trial.should_prune() or not math.isfinite(loss):
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                break
        else:
            study.tell(trial, _told(log.train(trial.number, config, fidelity.high)))


def run_gp(log: TrainingLog, mode: Mapping[str, Any] | None, seed: int) -> None:
    """GPSampler with full trainings, in one thread."""
    optuna = _optuna("optuna", "torch")
    import torch

    torch.set_num_threads(1)
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=seed))
    _enqueue(study, log.benchmark.space, mode)
    while log.has_budget:
        trial = study.ask(_distributions(log.benchmark.space))
        config = _config(log.benchmark.space, trial.params)
        study.tell(trial, _told(log.train(trial.number, config, log.benchmark.fidelity.high)))


def _optuna(*packages: str) -> Any:
    for package in packages:
        required_package(package, "peers")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _told(loss: float) -> float:
    """A loss for Optuna. A failure is infinite: samplers ignore nan, and would try it again.

    TPESampler ranks infinite losses last, and GPSampler takes them for the worst finite one.
    """
    return loss if math.isfinite(loss) else math.inf


def _enqueue(study: Any, space: Space, mode: Mapping[str, Any] | None) -> None:
    if mode is not None:
        study.enqueue_trial({name: _stated(p, mode[name]) for name, p in space.searched.items()})


def _distributions(space: Space) -> dict[str, Any]:
    if space.conditional:
        raise SpaceError("`space` must have no conditions to be compared with Optuna.")
    return {name: _distribution(p) for name, p in space.searched.items()}


def _distribution(parameter: Any) -> Any:
    kinds = _optuna("optuna").distributions
    if isinstance(parameter, Float):
        return kinds.FloatDistribution(parameter.low, parameter.high, log=parameter.log)
    if isinstance(parameter, Integer):
        return kinds.IntDistribution(parameter.low, parameter.high, log=parameter.log)
    return kinds.CategoricalDistribution(range(len(parameter.choices)))


def _stated(parameter: Any, value: Any) -> Any:
    """A value as Optuna has it: choices are numbered."""
    if isinstance(parameter, Float | Integer):
        return value
    return list(parameter.choices).index(value)


def _config(space: Space, values: Mapping[str, Any]) -> Config:
    return space.complete(
        {
            name: values[name]
            if isinstance(parameter, Float | Integer)
            else parameter.choices[values[name]]
            for name, parameter in space.searched.items()
        }
    )
