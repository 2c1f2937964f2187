"""The global random generators of `random` and numpy in a forked process.

A process that starts from nothing has generators that are seeded by the system, or by a module
that it imports. A fork would have those of the process that it is forked from: the same random
numbers in each trial. `restore` gives a fork what a new process would have. It leaves torch alone,
whose generator has the same seed in each new process.
"""

import os
import sys
from typing import Any, final

import numpy as np
import numpy.random  # this and `random` exist before the user's modules are imported

from priorband.values import frozen

_WORDS = 624  # numbers in the state of a Mersenne Twister
_MAX_ROUNDS = 1000  # of as many numbers each, that modules may draw unnoticed


@final
@frozen
class GeneratorStates:
    """The states of the global generators of this process."""

    python: Any = None
    """What `random.getstate()` returns; None if `random` is not imported."""
    numpy: Any = None
    """What `numpy.random.get_state()` returns; None if it is not imported."""


def generator_states() -> GeneratorStates:
    """The states of the global generators that exist in this process."""
    python, of_numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    return GeneratorStates(
        python and python.getstate(),
        of_numpy and of_numpy.get_state(),
    )


def seeded(before: GeneratorStates, after: GeneratorStates) -> GeneratorStates:
    """The states in `after` that were set by a seed, rather than by drawing from `before`."""
    python, of_numpy = before.python, before.numpy
    return GeneratorStates(
        None if python is None or _drawn(python[1][:-1], after.python[1][:-1]) else after.python,
        None if of_numpy is None or _drawn(of_numpy[1], after.numpy[1]) else after.numpy,
    )


def restore(states: GeneratorStates) -> None:
    """In a fork: set the generators to the states that were seeded, and seed the others."""
    python, of_numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    if python is not None and states.python is not None:
        python.setstate(states.python)
    elif python is not None:
        python.seed()
    if of_numpy is not None and states.numpy is None:
        of_numpy.seed(np.frombuffer(os.urandom(4 * _WORDS), np.uint32))


def _drawn(before: Any, after: Any) -> bool:
    """Whether a Mersenne Twister gets from one state to the other by drawing numbers."""
    state, wanted = np.array(before, np.uint32), np.array(after, np.uint32)
    twister = np.random.RandomState(0)
    for _ in range(_MAX_ROUNDS):
        if np.array_equal(state, wanted):
            return True
        twister.set_state(("MT19937", state, _WORDS, 0, 0.0))
        twister.bytes(4)
        state = np.array(twister.get_state(legacy=False)["state"]["key"])
    return False
