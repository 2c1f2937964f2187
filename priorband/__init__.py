"""Hyperparameter optimisation with expert priors and cheap fidelities.

The names that people type are here. The parts of methods, and what to write for parts of your own,
are in `priorband.samplers`, `priorband.schedulers` and `priorband.conditions`; benchmarks are in
`priorband.benchmarks`, plots in `priorband.plots`, errors in `priorband.errors`.

A name is imported when it is first used: a script that only reports a metric needs no numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from priorband import benchmarks as benchmarks
    from priorband import conditions as conditions
    from priorband import errors as errors
    from priorband import plots as plots
    from priorband import samplers as samplers
    from priorband import schedulers as schedulers
    from priorband.durable.budget import Budget
    from priorband.durable.open import open_study
    from priorband.durable.study import DurableStudy
    from priorband.errors import ExhaustedError, PriorbandError
    from priorband.fidelity import Fidelity
    from priorband.history import History
    from priorband.named_methods import methods, optimizer
    from priorband.optimizers import Optimizer
    from priorband.planning.plan import Plan, plan
    from priorband.replay import Replay
    from priorband.samplers.ensemble_policy import ensemble
    from priorband.space.beliefs import Beta, Histogram, Mixture, Normal, Uniform, Weights
    from priorband.space.choices import Categorical, Constant, Ordinal
    from priorband.space.config import Config
    from priorband.space.parameters import Float, Integer
    from priorband.space.prior import Prior, from_samples, prior
    from priorband.space.space import Space
    from priorband.space.when import at_least, at_most, between
    from priorband.state import State
    from priorband.study import BaseStudy, Study
    from priorband.timeline.timeline import Run
    from priorband.trial import Observation, Trial
    from priorband.workers.attempt import Attempt
    from priorband.workers.distributed import rank_attempt, tune_in_group
    from priorband.workers.metric_reports import report_metric
    from priorband.workers.simulation import simulate
    from priorband.workers.tuned import Tuned
    from priorband.workers.tuning import tune

__version__ = "0.1.0"

__all__ = [
    "Attempt",
    "BaseStudy",
    "Beta",
    "Budget",
    "Categorical",
    "Config",
    "Constant",
    "DurableStudy",
    "ExhaustedError",
    "Fidelity",
    "Float",
    "Histogram",
    "History",
    "Integer",
    "Mixture",
    "Normal",
    "Observation",
    "Optimizer",
    "Ordinal",
    "Plan",
    "Prior",
    "PriorbandError",
    "Replay",
    "Run",
    "Space",
    "State",
    "Study",
    "Trial",
    "Tuned",
    "Uniform",
    "Weights",
    "at_least",
    "at_most",
    "between",
    "ensemble",
    "from_samples",
    "methods",
    "open_study",
    "optimizer",
    "plan",
    "prior",
    "rank_attempt",
    "report_metric",
    "simulate",
    "tune",
    "tune_in_group",
]

_NAMESPACES = ("benchmarks", "conditions", "errors", "plots", "samplers", "schedulers")
_HOMES = {
    "durable.budget": ("Budget",),
    "durable.open": ("open_study",),
    "durable.study": ("DurableStudy",),
    "errors": ("ExhaustedError", "PriorbandError"),
    "fidelity": ("Fidelity",),
    "history": ("History",),
    "named_methods": ("methods", "optimizer"),
    "optimizers": ("Optimizer",),
    "planning.plan": ("Plan", "plan"),
    "replay": ("Replay",),
    "samplers.ensemble_policy": ("ensemble",),
    "space.beliefs": ("Beta", "Histogram", "Mixture", "Normal", "Uniform", "Weights"),
    "space.choices": ("Categorical", "Constant", "Ordinal"),
    "space.config": ("Config",),
    "space.parameters": ("Float", "Integer"),
    "space.prior": ("Prior", "from_samples", "prior"),
    "space.space": ("Space",),
    "space.when": ("at_least", "at_most", "between"),
    "state": ("State",),
    "study": ("BaseStudy", "Study"),
    "timeline.timeline": ("Run",),
    "trial": ("Observation", "Trial"),
    "workers.attempt": ("Attempt",),
    "workers.distributed": ("rank_attempt", "tune_in_group"),
    "workers.metric_reports": ("report_metric",),
    "workers.simulation": ("simulate",),
    "workers.tuned": ("Tuned",),
    "workers.tuning": ("tune",),
}
"""The names of each module; a test compares them with the imports above."""


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    if name in _NAMESPACES:
        return import_module(f"priorband.{name}")
    for module, names in _HOMES.items():
        if name in names:
            found = getattr(import_module(f"priorband.{module}"), name)
            globals()[name] = found  # the next use takes no time
            return found
    hints = import_module("priorband.attribute_hints").OF_PACKAGE
    hint = f". {hints[name]}." if name in hints else ""
    raise AttributeError(f"module 'priorband' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_NAMESPACES, "__version__"})
