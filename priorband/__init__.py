"""Hyperparameter optimisation with expert priors and cheap proxies."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from priorband.benchmarks.hartmann import Hartmann
from priorband.conditions import Done, Drawn, Enough, Never, Spent, Trained
from priorband.durable.budget import Budget
from priorband.errors import (
    ConfigError,
    DamagedError,
    DataError,
    ExhaustedError,
    ExtraError,
    FormatError,
    HaltedError,
    LossError,
    MethodError,
    MismatchError,
    PriorbandError,
    RankError,
    SingleRungWarning,
    SpaceError,
    StorageError,
    TrialError,
)
from priorband.fidelity import Fidelity
from priorband.history import History
from priorband.ladder import Ladder
from priorband.named_methods import methods, optimizer
from priorband.optimizers import Decision, Optimizer
from priorband.replay import Replay, Step
from priorband.samplers.base import Draw
from priorband.samplers.combine import Fixed, Mix, Staged
from priorband.samplers.ensemble_policy import Ensemble, Shares, ensemble
from priorband.samplers.gaussian import GPSearch
from priorband.samplers.grid import Grid
from priorband.samplers.local import Crossover, Hypersphere, Perturb
from priorband.samplers.parzen import TPE
from priorband.samplers.simple import FromPrior, FromUniform, PriorMode
from priorband.schedulers.asynchronous import ASHA, AsyncHyperband
from priorband.schedulers.base import Promote, Sample
from priorband.schedulers.full import FullFidelity
from priorband.schedulers.synchronous import Hyperband, SuccessiveHalving
from priorband.space.beliefs import Beta, Histogram, Mixture, Normal, Uniform, Weights
from priorband.space.choices import Categorical, Constant, Ordinal
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.space.prior import Prior, from_samples, prior
from priorband.space.space import Space
from priorband.state import State
from priorband.study import Study
from priorband.trial import Observation, Slot, Trial
from priorband.workers.simulation import Run, simulate

if TYPE_CHECKING:
    from priorband.benchmarks.fitted import Fitted
    from priorband.benchmarks.lcbench import LCBench
    from priorband.benchmarks.priors import benchmark_prior
    from priorband.benchmarks.tabular import Tabular
    from priorband.durable.open import open_study
    from priorband.durable.study import DurableStudy
    from priorband.workers.attempt import Attempt
    from priorband.workers.distributed import rank_attempt, tune_in_group
    from priorband.workers.tuning import Tuned, tune

__version__ = "0.1.0"

__all__ = [
    "ASHA",
    "AsyncHyperband",
    "Attempt",
    "Beta",
    "Budget",
    "Categorical",
    "Config",
    "ConfigError",
    "Constant",
    "Crossover",
    "DamagedError",
    "DataError",
    "Decision",
    "Done",
    "Draw",
    "Drawn",
    "DurableStudy",
    "Enough",
    "Ensemble",
    "ExhaustedError",
    "ExtraError",
    "Fidelity",
    "Fitted",
    "Fixed",
    "Float",
    "FormatError",
    "FromPrior",
    "FromUniform",
    "FullFidelity",
    "GPSearch",
    "Grid",
    "HaltedError",
    "Hartmann",
    "Histogram",
    "History",
    "Hyperband",
    "Hypersphere",
    "Integer",
    "LCBench",
    "Ladder",
    "LossError",
    "MethodError",
    "MismatchError",
    "Mix",
    "Mixture",
    "Never",
    "Normal",
    "Observation",
    "Optimizer",
    "Ordinal",
    "Perturb",
    "Prior",
    "PriorMode",
    "PriorbandError",
    "Promote",
    "RankError",
    "Replay",
    "Run",
    "Sample",
    "Shares",
    "SingleRungWarning",
    "Slot",
    "Space",
    "SpaceError",
    "Spent",
    "Staged",
    "State",
    "Step",
    "StorageError",
    "Study",
    "SuccessiveHalving",
    "TPE",
    "Tabular",
    "Trained",
    "Trial",
    "TrialError",
    "Tuned",
    "Uniform",
    "Weights",
    "benchmark_prior",
    "ensemble",
    "from_samples",
    "methods",
    "open_study",
    "optimizer",
    "prior",
    "rank_attempt",
    "simulate",
    "tune",
    "tune_in_group",
]

# Storage and processes are loaded when they are first used: deciding needs numpy alone.
_LATER = {
    "Attempt": "priorband.workers.attempt",
    "DurableStudy": "priorband.durable.study",
    "Fitted": "priorband.benchmarks.fitted",
    "LCBench": "priorband.benchmarks.lcbench",
    "Tabular": "priorband.benchmarks.tabular",
    "Tuned": "priorband.workers.tuning",
    "benchmark_prior": "priorband.benchmarks.priors",
    "open_study": "priorband.durable.open",
    "rank_attempt": "priorband.workers.distributed",
    "tune": "priorband.workers.tuning",
    "tune_in_group": "priorband.workers.distributed",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'priorband' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
