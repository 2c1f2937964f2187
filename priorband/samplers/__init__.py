"""Samplers: they choose the configuration of a new trial.

Combine a sampler with a scheduler in an `Optimizer`. To write one of your own, see `Sampler`.
"""

from priorband.samplers.base import Chances, Draw, MixtureWeights, Sampler
from priorband.samplers.combine import Fixed, Mix, Staged
from priorband.samplers.ensemble_policy import (
    ConstantShare,
    Decay,
    Dynamic,
    Ensemble,
    Geometric,
    Guard,
    Half,
    IncumbentShare,
    Linear,
    Shares,
    UniformOrNear,
    UniformShare,
    Zero,
    ensemble,
)
from priorband.samplers.gaussian import GPSearch
from priorband.samplers.grid import Grid
from priorband.samplers.local import Crossover, Hypersphere, Perturb
from priorband.samplers.parzen import TPE
from priorband.samplers.scores import Scores
from priorband.samplers.simple import FromPrior, FromUniform, PriorMode
from priorband.streams import Generator

__all__ = [
    "Chances",
    "ConstantShare",
    "Crossover",
    "Decay",
    "Draw",
    "Dynamic",
    "Ensemble",
    "Fixed",
    "FromPrior",
    "FromUniform",
    "GPSearch",
    "Generator",
    "Geometric",
    "Grid",
    "Guard",
    "Half",
    "Hypersphere",
    "IncumbentShare",
    "Linear",
    "Mix",
    "MixtureWeights",
    "Perturb",
    "PriorMode",
    "Sampler",
    "Scores",
    "Shares",
    "Staged",
    "TPE",
    "UniformOrNear",
    "UniformShare",
    "Zero",
    "ensemble",
]
