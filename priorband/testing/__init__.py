"""Checks for parts of your own: samplers, schedulers, optimizers, benchmarks. For your tests.

>>> from priorband import Optimizer
>>> from priorband.benchmarks import Hartmann
>>> from priorband.samplers import FromPrior
>>> from priorband.schedulers import ASHA
>>> check_sampler(FromPrior())
>>> check_scheduler(ASHA())
>>> check_optimizer(Optimizer(ASHA(), FromPrior()))
>>> check_benchmark(Hartmann(3))

Each returns nothing, or raises an `AssertionError` that says what is wrong, in which state, and
what to write instead. An error of your own code is raised as it is, with a note on the state.
"""

from priorband.testing.benchmarks import check_benchmark
from priorband.testing.optimizers import check_failures, check_optimizer
from priorband.testing.samplers import check_sampler
from priorband.testing.schedulers import check_scheduler
from priorband.testing.states import (
    Flaky,
    conditional_space,
    example_space,
    example_states,
    noise,
    play,
)

__all__ = [
    "Flaky",
    "check_benchmark",
    "check_failures",
    "check_optimizer",
    "check_sampler",
    "check_scheduler",
    "conditional_space",
    "example_space",
    "example_states",
    "noise",
    "play",
]
