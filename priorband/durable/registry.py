"""The registry of stored classes: which values can be stored, under which tag, with which fields.

A tag is what stands for a class in storage. It is a literal, so renaming a class never changes what
is stored. The fields listed with it are always written. A field that a class gets later is not
listed: it needs a default, is written only where its value is another one, and takes the default
where it is missing. So a new option never changes the bytes of studies that do not use it.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Any, NamedTuple

from priorband import conditions
from priorband.fidelity import Fidelity
from priorband.optimizers import Opening, Optimizer
from priorband.samplers import combine, ensemble_policy, gaussian, grid, local, parzen, simple
from priorband.samplers.base import MixtureWeights, Sampler
from priorband.schedulers import asynchronous, full, opened, staged, synchronous
from priorband.schedulers.base import Scheduler
from priorband.space import beliefs, choices, densities, parameters
from priorband.space.when import When
from priorband.values import field_defaults, field_names


class StoredClass(NamedTuple):
    """A class whose values can be stored."""

    cls: type
    fields: str = ""
    """The fields that are always written, in order."""


_SPACE = {
    "Float": StoredClass(parameters.Float, "low high log prior confidence"),
    "Integer": StoredClass(parameters.Integer, "low high log prior confidence"),
    "Categorical": StoredClass(choices.Categorical, "choices prior confidence"),
    "Ordinal": StoredClass(choices.Ordinal, "choices prior confidence"),
    "Constant": StoredClass(choices.Constant, "value prior"),
    "Fidelity": StoredClass(Fidelity, "name low high prior"),
}
_BELIEFS = {
    "Normal": StoredClass(beliefs.Normal, "centre sigma"),
    "Uniform": StoredClass(beliefs.Uniform),
    "Beta": StoredClass(beliefs.Beta, "a b"),
    "Weights": StoredClass(beliefs.Weights, "of confidence"),
    "Stated": StoredClass(beliefs.Stated, "value confidence"),
    "Histogram": StoredClass(beliefs.Histogram, "weights"),
    "Mixture": StoredClass(beliefs.Mixture, "beliefs weights"),
}
_NUMERIC_DENSITIES = {
    "TruncatedNormal": StoredClass(densities.TruncatedNormal, "centre sigma"),
    "Flat": StoredClass(densities.Flat),
    "BetaDensity": StoredClass(densities.BetaDensity, "a b"),
    "Steps": StoredClass(densities.Steps, "edges heights"),
    "Blend": StoredClass(densities.Blend, "parts weights"),
}
_DENSITIES = _NUMERIC_DENSITIES | {"Choices": StoredClass(densities.Choices, "probabilities")}
_SCHEDULERS = {
    "FullFidelity": StoredClass(full.FullFidelity),
    "ASHA": StoredClass(asynchronous.ASHA, "promotion"),
    "AsyncHyperband": StoredClass(asynchronous.AsyncHyperband, "promotion"),
    "SuccessiveHalving": StoredClass(synchronous.SuccessiveHalving),
    "Hyperband": StoredClass(synchronous.Hyperband),
    "StagedScheduler": StoredClass(staged.StagedScheduler, "plan duel proof patience"),
    "ContinueMode": StoredClass(opened.ContinueMode, "plan"),
}
_SAMPLERS = {
    "FromUniform": StoredClass(simple.FromUniform),
    "FromPrior": StoredClass(simple.FromPrior),
    "PriorMode": StoredClass(simple.PriorMode),
    "Grid": StoredClass(grid.Grid, "points"),
    "Perturb": StoredClass(local.Perturb, "rate sigma always_change"),
    "Crossover": StoredClass(local.Crossover, "weights"),
    "Hypersphere": StoredClass(local.Hypersphere, "least growth"),
    "GPSearch": StoredClass(gaussian.GPSearch, "over beta two_step combine candidates most"),
    "TPE": StoredClass(parzen.TPE, "candidates good widening least_bandwidth"),
    "Mix": StoredClass(combine.Mix, "samplers weights"),
    "Staged": StoredClass(combine.Staged, "first then until"),
}
_WEIGHTS = {
    "Fixed": StoredClass(combine.Fixed, "probabilities"),
    "UniformOrNear": StoredClass(ensemble_policy.UniformOrNear),
    "Ensemble": StoredClass(ensemble_policy.Ensemble, "uniform_share incumbent_share"),
}
_UNIFORM_SHARES = {
    "Geometric": StoredClass(ensemble_policy.Geometric),
    "Half": StoredClass(ensemble_policy.Half),
    "Linear": StoredClass(ensemble_policy.Linear),
    "Guard": StoredClass(ensemble_policy.Guard, "trusted distrusted"),
}
_INCUMBENT_SHARES = {
    "Dynamic": StoredClass(ensemble_policy.Dynamic, "floor"),
    "ConstantShare": StoredClass(ensemble_policy.ConstantShare),
    "Decay": StoredClass(ensemble_policy.Decay, "by"),
    "Zero": StoredClass(ensemble_policy.Zero),
}
_CONDITIONS = {
    "Bracketed": StoredClass(conditions.Bracketed, "trained"),
    "Done": StoredClass(conditions.Done, "trials"),
    "Drawn": StoredClass(conditions.Drawn, "configurations"),
    "Trained": StoredClass(conditions.Trained, "trials"),
    "Enough": StoredClass(conditions.Enough, "per_parameter more"),
    "Spent": StoredClass(conditions.Spent, "trainings"),
    "Proven": StoredClass(conditions.Proven),
    "Never": StoredClass(conditions.Never),
}
_OPENING = {"Opening": StoredClass(Opening, "sampler below if_flat")}
_OPTIMIZER = {"Optimizer": StoredClass(Optimizer, "scheduler sampler opening eta sizes incumbent")}
STORED: dict[str, StoredClass] = {
    **_SPACE,
    **_BELIEFS,
    **_DENSITIES,
    **_SCHEDULERS,
    **_SAMPLERS,
    **_WEIGHTS,
    **_UNIFORM_SHARES,
    **_INCUMBENT_SHARES,
    **_CONDITIONS,
    **_OPENING,
    **_OPTIMIZER,
}
"""Every stored class by its tag."""

PARAMETERS = frozenset(_SPACE) - {"Fidelity"}
"""The tags of parameters."""
SCALED = (beliefs.Histogram, beliefs.Mixture)
"""Beliefs that scale their weights to sum to one when they are made."""


def _classes(stored: Mapping[str, StoredClass]) -> tuple[type, ...]:
    return tuple(entry.cls for entry in stored.values())


DENSITIES = _classes(_DENSITIES)
_MANY = _classes(_SAMPLERS), _classes(_NUMERIC_DENSITIES)  # may stand in a tuple, too

# What a field of each annotation may hold. Classes check other fields themselves.
_ALLOWED: dict[Any, tuple[type, ...]] = {
    Mapping[str, Any] | None: (When, NoneType),
    **{bool: (bool,), str: (str,), int: (int, float), float: (int, float)},
    **{tuple[float, ...]: (tuple,), tuple[densities.Density, ...]: _MANY[1]},
    **{Scheduler: _classes(_SCHEDULERS), Sampler: _MANY[0], Sampler | None: (*_MANY[0], NoneType)},
    Sampler | Opening | None: (*_MANY[0], Opening, NoneType),
    **{Sequence[Sampler]: _MANY[0], MixtureWeights: _classes(_WEIGHTS)},
    conditions.Condition: _classes(_CONDITIONS),
    conditions.Condition | None: (*_classes(_CONDITIONS), NoneType),
    ensemble_policy.UniformShare: _classes(_UNIFORM_SHARES),
    ensemble_policy.IncumbentShare: _classes(_INCUMBENT_SHARES),
}


@cache
def registry() -> Mapping[str, type]:
    """The classes whose values can be stored, by their tags."""
    return {tag: entry.cls for tag, entry in STORED.items()}


@cache
def tags() -> Mapping[type, str]:
    """The tag of each class whose values can be stored."""
    return {entry.cls: tag for tag, entry in STORED.items()}


def stored_fields(value: object) -> list[str]:
    """The fields of a value that are written: those listed, and others that are not the default."""
    listed = STORED[tags()[type(value)]].fields.split()
    defaults = field_defaults(type(value))
    later = [name for name in field_names(value) if name not in listed]
    return listed + [name for name in later if getattr(value, name) != defaults[name]]


def misplaced(cls: type, name: str, item: Any) -> list[Any]:
    """What a field holds that does not belong there."""
    allowed = _ALLOWED.get(cls.__annotations__.get(name))
    parts = item if allowed in _MANY and type(item) is tuple else (item,)
    return [part for part in parts if allowed and type(part) not in allowed]
