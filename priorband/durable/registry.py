"""The vocabulary of storage: the classes whose values can be stored, and what a field may hold."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Any

from priorband import conditions
from priorband.fidelity import Fidelity
from priorband.optimizers import Optimizer
from priorband.samplers import combine, ensemble_policy, gaussian, grid, local, parzen, simple
from priorband.samplers.base import Sampler, Weights
from priorband.schedulers import asynchronous, full, synchronous
from priorband.schedulers.base import Scheduler
from priorband.space import beliefs, choices, densities, parameters

_SPACE = (parameters.Float, parameters.Integer, choices.Categorical, choices.Ordinal)
_BELIEFS = (beliefs.Normal, beliefs.Uniform, beliefs.Beta, beliefs.Weights, beliefs.Stated)
SCALED = (beliefs.Histogram, beliefs.Mixture)
_SMOOTH = (densities.TruncatedNormal, densities.Flat, densities.BetaDensity)
_NUMERIC = (*_SMOOTH, densities.Steps, densities.Blend)
DENSITIES = (*_NUMERIC, densities.Choices)
_FREE = (full.FullFidelity, asynchronous.ASHA, asynchronous.AsyncHyperband)
_SCHEDULERS = (*_FREE, synchronous.SuccessiveHalving, synchronous.Hyperband)
_SIMPLE = (simple.FromUniform, simple.FromPrior, simple.PriorMode, grid.Grid)
_LOCAL = (local.Perturb, local.Crossover, local.Hypersphere)
_MODELS = (gaussian.GPSearch, parzen.TPE)
_SAMPLERS = (*_SIMPLE, *_LOCAL, *_MODELS, combine.Mix, combine.Staged)
_WEIGHTS = (combine.Fixed, ensemble_policy.Ensemble)
_UNIFORM_SHARES = (ensemble_policy.Geometric, ensemble_policy.Half, ensemble_policy.Linear)
_INCUMBENT_SHARES = (
    ensemble_policy.Dynamic,
    ensemble_policy.ConstantShare,
    ensemble_policy.Decay,
    ensemble_policy.Zero,
)
_COUNTS = (conditions.Done, conditions.Drawn, conditions.Trained, conditions.Enough)
_CONDITIONS = (*_COUNTS, conditions.Spent, conditions.Never)

# What a field of each annotation may hold; of other fields the class itself takes care.
_ROLES: dict[Any, tuple[type, ...]] = {
    **{bool: (bool,), str: (str,), int: (int, float), float: (int, float)},
    **{tuple[float, ...]: (tuple,), tuple[densities.Density, ...]: _NUMERIC},
    **{Scheduler: _SCHEDULERS, Sampler: _SAMPLERS, Sampler | None: (*_SAMPLERS, NoneType)},
    **{Sequence[Sampler]: _SAMPLERS, Weights: _WEIGHTS, conditions.Condition: _CONDITIONS},
    **{
        ensemble_policy.UniformShare: _UNIFORM_SHARES,
        ensemble_policy.IncumbentShare: _INCUMBENT_SHARES,
    },
}


@cache
def registry() -> Mapping[str, type]:
    """The classes whose values can be stored, by the tag that stands for each."""
    parts = (*_SCHEDULERS, *_SAMPLERS, *_WEIGHTS, *_UNIFORM_SHARES, *_INCUMBENT_SHARES)
    kinds = (*_SPACE, *_BELIEFS, *SCALED, *DENSITIES, *parts, *_CONDITIONS, Fidelity, Optimizer)
    two_of_one_name = {"Constant": choices.Constant, "ConstantShare": ensemble_policy.ConstantShare}
    return {kind.__name__: kind for kind in kinds} | two_of_one_name


@cache
def tags() -> Mapping[type, str]:
    """The tag of each class whose values can be stored."""
    return {kind: tag for tag, kind in registry().items()}


def misplaced(kind: type, name: str, item: Any) -> list[Any]:
    """What a field holds that does not belong there."""
    allowed = _ROLES.get(kind.__annotations__.get(name))
    held = item if allowed in (_SAMPLERS, _NUMERIC) and type(item) is tuple else (item,)
    return [part for part in held if allowed and type(part) not in allowed]
