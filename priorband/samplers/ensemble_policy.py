"""PriorBand's ensemble sampling policy (Section 5 of the paper).

Each draw is uniform, from the prior, or near the incumbent, with these probabilities:

    p_uniform   = u                 u: the share of uniform draws, which depends on the rung
    p_prior     = (1 - u)(1 - i)
    p_incumbent = (1 - u) i         i: the incumbent's share of the rest, 0 until it is active

Each ablation of the paper replaces `u` or `i` with another function.
"""

import math
from typing import Protocol, final

from priorband.brackets import brackets_over
from priorband.conditions import reached
from priorband.errors import MethodError
from priorband.guard import believed, is_guarded, mode_failed
from priorband.numeric import one_of, real
from priorband.samplers.base import Sampler, require_callable
from priorband.samplers.combine import Mix
from priorband.samplers.local import Perturb
from priorband.samplers.scores import Scores, incumbent_share, scores
from priorband.samplers.simple import FromPrior, FromUniform
from priorband.space.prior import is_flat
from priorband.state import State
from priorband.values import frozen


@final
@frozen
class Shares:
    """The probabilities of the three ways to draw, and the scores that they follow from.

    Args:
        p_uniform: The probability of a uniform draw.
        p_prior: The probability of a draw from the prior.
        p_incumbent: The probability of a draw near the incumbent.
        scores: The scores of the prior and the incumbent; None if they were not used.

    Example:
        >>> Shares(0.5, 0.25, 0.25).probabilities
        (0.5, 0.25, 0.25)
    """

    p_uniform: float
    p_prior: float
    p_incumbent: float
    scores: Scores | None = None

    @property
    def probabilities(self) -> tuple[float, float, float]:
        """The three probabilities: uniform, prior, incumbent."""
        return self.p_uniform, self.p_prior, self.p_incumbent


class UniformShare(Protocol):
    """The protocol of the share of uniform draws: a function of the state and the rung.

    Example:
        >>> from dataclasses import dataclass
        >>> from priorband.testing import check_sampler
        >>> @dataclass(frozen=True)
        ... class Tenth:
        ...     def __call__(self, state, rung):
        ...         return 0.1
        >>> check_sampler(ensemble(Ensemble(uniform_share=Tenth())))
    """

    def __call__(self, state: State, rung: int, /) -> float:
        """Return the probability of a uniform draw on a rung."""


class IncumbentShare(Protocol):
    """The protocol of the incumbent's share of the draws that are not uniform.

    It is a function of the state. It is called only once the incumbent is active: after results
    worth one bracket, at least one of them at the highest fidelity.

    Example:
        >>> from dataclasses import dataclass
        >>> from priorband.testing import check_sampler
        >>> @dataclass(frozen=True)
        ... class OnlyIncumbent:
        ...     def __call__(self, state):
        ...         return 1.0, None
        >>> check_sampler(ensemble(Ensemble(incumbent_share=OnlyIncumbent())))
    """

    def __call__(self, state: State, /) -> tuple[float, Scores | None]:
        """Return a share in [0, 1], and the scores that it follows from, if any."""


@final
@frozen
class Geometric:
    """The uniform share 1 / (1 + eta**rung), which falls with the rung (Equation 2).

    Example:
        >>> method = ensemble(Ensemble(uniform_share=Geometric()))
    """

    def __call__(self, state: State, rung: int) -> float:
        return 1.0 / (1.0 + float(state.ladder.eta**rung))


@final
@frozen
class Half:
    """The uniform share 1/2 on every rung: the ablation "50%".

    Example:
        >>> method = ensemble(Ensemble(uniform_share=Half()))
    """

    def __call__(self, state: State, rung: int) -> float:
        del state, rung
        return 0.5


@final
@frozen
class Linear:
    """The uniform share 1 / (1 + w): w grows linearly from 1 on the lowest rung to eta on the top.

    Example:
        >>> method = ensemble(Ensemble(uniform_share=Linear()))
    """

    def __call__(self, state: State, rung: int) -> float:
        climb = rung / state.ladder.top if state.ladder.top else 0.0
        return 1.0 / (2.0 + (state.ladder.eta - 1) * climb)


@final
@frozen
class Guard:
    """The uniform share of the first bracket, which distrusts the prior until it has won.

    The first draws are uniform: as many as the bracket's second rung takes. After that the prior is
    eta**(rung + e) times as likely as a uniform draw, with an exponent e that depends on where the
    incumbent comes from. With a flat prior all draws are uniform.

    Args:
        trusted: The exponent while the incumbent is the prior's mode or was drawn from the prior,
            not from an earlier one.
        distrusted: The exponent while it is neither, there is none, or the mode failed.

    Raises:
        MethodError: If an exponent is not a number.

    Example:
        >>> method = ensemble(Ensemble(uniform_share=Guard(), incumbent_share=Zero()))
    """

    trusted: float = 2.0
    distrusted: float = -2.0

    def __post_init__(self) -> None:
        for name in ("trusted", "distrusted"):
            if real(getattr(self, name)) is None:
                raise MethodError(f"`{name}` must be a number, got {getattr(self, name)!r}.")

    def __call__(self, state: State, rung: int) -> float:
        if is_guarded(state) or is_flat(state.prior):
            return 1.0
        incumbent = state.incumbent
        trust = incumbent is not None and believed(state, incumbent.trial)
        exponent = self.trusted if trust and not mode_failed(state) else self.distrusted
        return 1.0 / (1.0 + math.pow(state.ladder.eta, rung + exponent))


@final
@frozen
class Dynamic:
    """The incumbent's share follows from how well it explains the best trials (Algorithm 2).

    Args:
        floor: The smallest share of both the prior and the incumbent, in [0, 0.5]. The paper has
            no such minimum, which is the default.

    Raises:
        MethodError: If `floor` is not in [0, 0.5].

    Example:
        >>> method = ensemble(Ensemble(incumbent_share=Dynamic(floor=0.1)))
    """

    floor: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.floor <= 0.5:
            raise MethodError(f"`floor` must be in [0, 0.5], got {self.floor!r}.")

    def __call__(self, state: State) -> tuple[float, Scores | None]:
        both = scores(state)
        # While no rung has eta results, the prior is eta times as likely.
        share = 1.0 / (1.0 + state.ladder.eta) if both is None else incumbent_share(both)
        return min(max(share, self.floor), 1.0 - self.floor), both


@final
@frozen
class ConstantShare:
    """The prior is always eta times as likely as the incumbent: the ablation "constant".

    Example:
        >>> method = ensemble(Ensemble(incumbent_share=ConstantShare()))
    """

    def __call__(self, state: State) -> tuple[float, Scores | None]:
        return 1.0 / (1.0 + state.ladder.eta), None


@final
@frozen
class Decay:
    """The prior's share decays over time, whatever the results are: the ablation "decay".

    Args:
        by: "brackets" or "resources". With "brackets", p_incumbent is 2**t times p_prior after t
            brackets, as the paper says. This needs successive halving or Hyperband. With
            "resources", the prior's share is 2**-j after j * eta full trainings, as in the paper's
            code. This works with any scheduler.

    Raises:
        MethodError: If `by` is another word.

    Example:
        >>> method = ensemble(Ensemble(incumbent_share=Decay("resources")))
    """

    by: str = "brackets"

    def __post_init__(self) -> None:
        if not one_of(self.by, ("brackets", "resources")):
            raise MethodError(f"`by` must be 'brackets' or 'resources', got {self.by!r}.")

    def __call__(self, state: State) -> tuple[float, Scores | None]:
        if self.by == "brackets":
            return 1.0 / (1.0 + 2.0 ** -brackets_over(state)), None
        period = state.ladder.eta * state.ladder.fidelity.high
        return 1.0 - 2.0 ** -math.floor(state.history.resources / period + 1e-9), None


@final
@frozen
class Zero:
    """The incumbent is never used; its share goes to the prior.

    Example:
        >>> method = ensemble(Ensemble(incumbent_share=Zero()))
    """

    def __call__(self, state: State) -> tuple[float, Scores | None]:
        del state
        return 0.0, None


def active(state: State) -> bool:
    """Whether the incumbent may be used.

    This needs results worth one bracket, at least one of them at the highest fidelity.
    """
    enough = reached(state.history.resources, state.ladder.first_cost)
    return enough and state.success_count(state.ladder.top) > 0


@final
@frozen
class Ensemble:
    """The probabilities of uniform draws, draws from the prior, and draws near the incumbent.

    These are the weights of the `Mix` that `ensemble` makes.

    Args:
        uniform_share: The share of uniform draws: `Geometric` (as in PriorBand), `Half`, `Linear`,
            or a function of the state and the rung.
        incumbent_share: The incumbent's share of the rest: `Dynamic` (as in PriorBand),
            `ConstantShare`, `Decay`, `Zero`, or a function of the state.

    Raises:
        MethodError: If a share is not a function or an instance that can be called.

    Example:
        >>> sampler = ensemble(Ensemble(uniform_share=Linear()))
    """

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
        share, both = self.incumbent_share(state)
        return Shares(p_uniform, left * (1.0 - share), left * share, both)


@final
@frozen
class UniformOrNear:
    """The probabilities of uniform draws and of draws near the incumbent, without the prior.

    The uniform share is 1 / (1 + eta**rung), and 1 until a full training has succeeded. These are
    weights of a `Mix` of three: uniform, from the prior, near the incumbent.

    Example:
        >>> from priorband.samplers import FromPrior, FromUniform, Mix, Perturb
        >>> sampler = Mix((FromUniform(), FromPrior(), Perturb()), UniformOrNear())
    """

    def __call__(self, state: State, rung: int) -> Shares:
        if state.success_count(state.ladder.top) == 0:
            return Shares(1.0, 0.0, 0.0)
        uniform = Geometric()(state, rung)
        return Shares(uniform, 0.0, 1.0 - uniform)


PAPER = Ensemble()
PERTURB = Perturb()


def ensemble(weights: Ensemble | UniformOrNear = PAPER, around: Sampler = PERTURB) -> Mix:
    """Make the sampler of PriorBand: uniform, from the prior, or near the incumbent.

    Args:
        weights: The probabilities of the three.
        around: The sampler that draws near the incumbent: `Perturb` (as in PriorBand),
            `Crossover` or `Hypersphere`.

    Returns:
        A mixture of the three samplers.

    Raises:
        MethodError: If `weights` or `around` does not fit.

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.samplers import Perturb, PriorMode
        >>> from priorband.schedulers import Hyperband
        >>> sampler = ensemble(around=Perturb(sigma=0.1))
        >>> method = Optimizer(Hyperband(), sampler, opening=PriorMode())
    """
    return Mix((FromUniform(), FromPrior(), around), weights)
