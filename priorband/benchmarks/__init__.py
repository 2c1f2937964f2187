"""Benchmarks: tuning problems whose losses can be looked up instead of trained for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from priorband.benchmarks.base import Benchmark
    from priorband.benchmarks.branched import BranchedHartmann
    from priorband.benchmarks.catalogue import benchmark, benchmark_names
    from priorband.benchmarks.fitted import Fitted
    from priorband.benchmarks.hartmann import Hartmann
    from priorband.benchmarks.jahs import JAHS
    from priorband.benchmarks.lcbench import LCBench
    from priorband.benchmarks.pd1 import PD1, PD1StandIn
    from priorband.benchmarks.priors import benchmark_prior
    from priorband.benchmarks.tabular import Tabular
    from priorband.benchmarks.taskset import TaskSet

__all__ = [
    "Benchmark",
    "BranchedHartmann",
    "Fitted",
    "Hartmann",
    "JAHS",
    "LCBench",
    "PD1",
    "PD1StandIn",
    "Tabular",
    "TaskSet",
    "benchmark",
    "benchmark_names",
    "benchmark_prior",
]

# Each module is imported when one of its names is first used, so that importing this package
# stays fast.
_MODULES = {
    "Benchmark": "priorband.benchmarks.base",
    "BranchedHartmann": "priorband.benchmarks.branched",
    "Fitted": "priorband.benchmarks.fitted",
    "Hartmann": "priorband.benchmarks.hartmann",
    "JAHS": "priorband.benchmarks.jahs",
    "LCBench": "priorband.benchmarks.lcbench",
    "PD1": "priorband.benchmarks.pd1",
    "PD1StandIn": "priorband.benchmarks.pd1",
    "Tabular": "priorband.benchmarks.tabular",
    "TaskSet": "priorband.benchmarks.taskset",
    "benchmark": "priorband.benchmarks.catalogue",
    "benchmark_names": "priorband.benchmarks.catalogue",
    "benchmark_prior": "priorband.benchmarks.priors",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'priorband.benchmarks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
