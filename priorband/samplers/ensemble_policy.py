"""The ensemble sampling policy: uniform, prior or incumbent, as the evidence says (Section 5).

    p_uniform   = u                 u: the share of uniform draws, by rung
    p_prior     = (1 - u)(1 - i)
    p_incumbent = (1 - u) i         i: the incumbent's share of the rest, 0 until it is active

Each of the paper's ablations is another function in the place of `u` or of `i`.
"""

import math
from collections.abc import Callable
from typing import final

from priorband.brackets import brackets_over
from priorband.conditions import reached
from priorband.errors import MethodError
from priorband.samplers.base import Sampler, require_callable
from priorband.samplers.combine import Mix
from priorband.samplers.local import Perturb
from priorband.samplers.scores import Scores, incumbent_share, scores
from priorband.samplers.simple import FromPrior, FromUniform
from priorband.state import State
from priorband.values import frozen


@final
@frozen
class Shares:
    """The three probabilities at a rung, and the scores behind them once they matter."""

    p_uniform: float
    p_prior: float
    p_incumbent: float
    scores: Scores | None = None

    @property
    def probabilities(self) -> tuple[float, float, float]:
        """Uniform, prior, incumbent."""
        return self.p_uniform, self.p_prior, self.p_incumbent


@final
@frozen
class Geometric:
    """1 / (1 + eta**rung): the higher the rung, the less is left to chance (Equation 2)."""

    def __call__(self, state: State, rung: int) -> float:
        return 1.0 / (1.0 + float(state.ladder.eta**rung))


@final
@frozen
class Half:
    """One half on every rung: the ablation (50%)."""

    def __call__(self, state: State, rung: int) -> float:
        del state, rung
        return 0.5


@final
@frozen
class Linear:
    """1 / (1 + w), w growing evenly from 1 on the lowest rung to eta on the highest."""

    def __call__(self, state: State, rung: int) -> float:
        climb = rung / state.ladder.top if state.ladder.top else 0.0
        return 1.0 / (2.0 + (state.ladder.eta - 1) * climb)


@final
@frozen
class Dynamic:
    """The incumbent's share of the two scores (Algorithm 2).

    `floor` keeps either side's share from falling below it; the paper has none.
    """

    floor: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.floor <= 0.5:
            raise MethodError(f"`floor` must lie in [0, 0.5], got {self.floor!r}.")

    def __call__(self, state: State) -> tuple[float, Scores | None]:
        found = scores(state)
        # No rung has eta results yet: the prior is trusted eta times as much.
        share = 1.0 / (1.0 + state.ladder.eta) if found is None else incumbent_share(found)
        return min(max(share, self.floor), 1.0 - self.floor), found


@final
@frozen
class ConstantShare:
    """The prior is always eta times as likely as the incumbent."""

    def __call__(self, state: State) -> tuple[float, Scores | None]:
        return 1.0 / (1.0 + state.ladder.eta), None


@final
@frozen
class Decay:
    """The prior fades with time, whatever the evidence.

    By "brackets", p_incumbent = 2**t p_prior after t brackets, as the paper says; it counts those
    of successive halving and Hyperband. By "resources", the prior's share is 2**-j after j times
    eta full trainings, as the paper's code did, under any scheduler.
    """

    by: str = "brackets"

    def __post_init__(self) -> None:
        if self.by not in ("brackets", "resources"):
            raise MethodError(f"`by` must be 'brackets' or 'resources', got {self.by!r}.")

    def __call__(self, state: State) -> tuple[float, Scores | None]:
        if self.by == "brackets":
            return 1.0 / (1.0 + 2.0 ** -brackets_over(state)), None
        period = state.ladder.eta * state.ladder.fidelity.high
        return 1.0 - 2.0 ** -math.floor(state.history.resources / period + 1e-9), None


@final
@frozen
class Zero:
    """No incumbent: its share goes to the prior."""

    def __call__(self, state: State) -> tuple[float, Scores | None]:
        del state
        return 0.0, None


UniformShare = Callable[[State, int], float]
IncumbentShare = Callable[[State], tuple[float, Scores | None]]


def active(state: State) -> bool:
    """Whether the incumbent may be used: one bracket's worth of results, one of them in full."""
    enough = reached(state.history.resources, state.ladder.first_cost)
    return enough and state.success_count(state.ladder.top) > 0


@final
@frozen
class Ensemble:
    """The weights of uniform, prior and incumbent sampling, from two shares."""

    uniform_share: UniformShare = Geometric()
    incumbent_share: IncumbentShare = Dynamic()

    def __post_init__(self) -> None:
        require_callable("uniform_share", self.uniform_share)
        require_callable("incumbent_share", self.incumbent_share)

    def __call__(self, state: State, rung: int) -> Shares:
        p_uniform = self.uniform_share(state, rung)
        left = 1.0 - p_uniform
        if not active(state):
            return Shares(p_uniform, left, 0.0)
        share, found = self.incumbent_share(state)
        return Shares(p_uniform, left * (1.0 - share), left * share, found)


PAPER = Ensemble()
PERTURB = Perturb()


def ensemble(weights: Ensemble = PAPER, around: Sampler = PERTURB) -> Mix:
    """The ensemble sampling policy as a sampler, with its shares and its local search.

    >>> from priorband import Hyperband, Optimizer, Perturb, PriorMode
    >>> method = Optimizer(Hyperband(), ensemble(around=Perturb(sigma=0.1)), opening=PriorMode())
    """
    return Mix((FromUniform(), FromPrior(), around), weights)
