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
from priorband.fidelity import Fidelity
from priorband.named_methods import optimizer as named_optimizer
from priorband.optimizers import Optimizer
from priorband.schedulers.full import FullFidelity
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
    fidelity: Fidelity
    optimizer: Optimizer
    seed: int

    def start(self) -> State:
        """The state before anything has happened."""
        return self.optimizer.start(self.space, self.prior, self.fidelity)


def make_problem(
    space: Space,
    fidelity: Fidelity | None = None,
    method: str | Optimizer = "priorband",
    seed: int = 0,
    prior: Prior | Mapping[str, Any] | None = None,
) -> Problem:
    """Make a problem of the arguments of `Study` and `open_study`, after checking them.

    Warn where a method that needs several rungs gets one; the warning names the line that called
    our caller, which has a decorator.
    """
    space, optimizer = checked_space(space), optimizer_of(method)
    its_fidelity, its_seed = checked_fidelity(fidelity, space), checked_seed(seed)
    its_prior = checked_prior(prior, space, fidelity)
    if not isinstance(optimizer.scheduler, FullFidelity):
        warn_about_single_rung(fidelity, optimizer.eta, stacklevel=5)
    return Problem(space, its_prior, its_fidelity, optimizer, its_seed)


def optimizer_of(method: str | Optimizer) -> Optimizer:
    """An optimizer as it is, or the one of that name."""
    return method if isinstance(method, Optimizer) else named_optimizer(method)
