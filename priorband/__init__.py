"""Hyperparameter optimisation with expert priors and cheap fidelities.

The names that people type are here. The parts of methods, and what to write for parts of your own,
are in `priorband.samplers`, `priorband.schedulers` and `priorband.conditions`; benchmarks are in
`priorband.benchmarks`, errors in `priorband.errors`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from priorband import benchmarks as benchmarks
from priorband import conditions as conditions
from priorband import errors as errors
from priorband import samplers as samplers
from priorband import schedulers as schedulers
from priorband.durable.budget import Budget
from priorband.errors import ExhaustedError, PriorbandError
from priorband.fidelity import Fidelity
from priorband.history import History
from priorband.named_methods import methods, optimizer
from priorband.optimizers import Optimizer
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
from priorband.workers.simulation import simulate

if TYPE_CHECKING:
    from priorband.durable.open import open_study
    from priorband.durable.study import DurableStudy
    from priorband.planning.plan import Plan, plan
    from priorband.workers.attempt import Attempt
    from priorband.workers.distributed import rank_attempt, tune_in_group
    from priorband.workers.tuning import Tuned, tune

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
    "simulate",
    "tune",
    "tune_in_group",
]

# Storage and processes are imported when they are first used: deciding needs numpy alone.
_LAZY = {
    "Attempt": "priorband.workers.attempt",
    "DurableStudy": "priorband.durable.study",
    "Plan": "priorband.planning.plan",
    "Tuned": "priorband.workers.tuning",
    "open_study": "priorband.durable.open",
    "plan": "priorband.planning.plan",
    "rank_attempt": "priorband.workers.distributed",
    "tune": "priorband.workers.tuning",
    "tune_in_group": "priorband.workers.distributed",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'priorband' has no attribute {name!r}")


def __dir__() -> list[str]:
    namespaces = ("benchmarks", "conditions", "errors", "samplers", "schedulers")
    return sorted({*__all__, *namespaces, "__version__"})
