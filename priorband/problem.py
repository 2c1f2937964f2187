"""The problem: what a study is about, which never changes once the study exists."""

from collections.abc import Mapping
from typing import Any, final

from priorband.arguments import (
    checked_fidelity,
    checked_prior,
    checked_seed,
    checked_space,
    warn_about_single_rung,
)
from priorband.choose_method import Auto, chosen_optimizer
from priorband.fidelity import Fidelity
from priorband.optimizers import Optimizer
from priorband.schedulers.full import FullFidelity
from priorband.schedulers.wrapped import base_plan
from priorband.space.prior import Prior
from priorband.space.space import Space
from priorband.state import State
from priorband.values import frozen


@final
@frozen
class Problem:
    """A space, a prior over it, a fidelity, a method and a seed."""

    space: Space
    prior: Prior
    """The prior that the study begins with. `State.prior` is the one that it has now."""
    fidelity: Fidelity
    optimizer: Optimizer
    seed: int

    def start(self) -> State:
        """The state before anything has happened."""
        return self.optimizer.start(self.space, self.prior, self.fidelity)


def make_problem(
    space: Space,
    fidelity: Fidelity | None = None,
    method: str | Optimizer | Auto | None = None,
    seed: int = 0,
    prior: Prior | Mapping[str, Any] | None = None,
) -> Problem:
    """Make a problem of the arguments of `Study` and `open_study`, after checking them.

    Warn where a method that needs several rungs gets one; the warning names the line that called
    our caller, which has a decorator.
    """
    space = checked_space(space)
    its_fidelity, its_seed = checked_fidelity(fidelity, space), checked_seed(seed)
    its_prior = checked_prior(prior, space, fidelity)
    optimizer = chosen_optimizer(method, space, its_fidelity)
    if not isinstance(base_plan(optimizer.scheduler), FullFidelity):
        warn_about_single_rung(fidelity, optimizer.eta, stacklevel=5)
    return Problem(space, its_prior, its_fidelity, optimizer, its_seed)
