"""Bayesian optimisation: maximise the expected improvement under a Gaussian process."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, final

import numpy as np

from priorband.cache import CacheKey
from priorband.conditions import Condition
from priorband.errors import MethodError
from priorband.ladder import Ladder
from priorband.numeric import one_of, real, whole
from priorband.samplers.base import MODEL, Draw, require_callable
from priorband.samplers.evidence import (
    Evidence,
    Scale,
    bounded,
    encoded,
    evidence,
    unit_fidelity,
)
from priorband.samplers.simple import FromUniform
from priorband.space.config import Config
from priorband.space.densities import Array
from priorband.space.prior import is_flat
from priorband.space.space import Space
from priorband.state import State
from priorband.streams import Generator
from priorband.trial import Trial
from priorband.values import frozen, repr_without_defaults

if TYPE_CHECKING:
    from priorband.models.acquisition import Bonus, Improvement
    from priorband.models.gp import GP
    from priorband.models.search import Domain

Over = Literal["full", "rung", "joint"]
Combine = Literal["sum", "product"]
Aim = Literal["rung", "full"]
_WORDS = {
    "over": ("full", "rung", "joint"),
    "combine": ("sum", "product"),
    "aim": ("rung", "full"),
    "scale": ("linear", "log"),
}

STEP = 2.0**-20
"""Positions are rounded to multiples of this, so that rounding errors rarely change a trial."""
_CHECKED = 256
"""The number of best rows that are checked for one that was not tried yet."""
_SHORTLIST = 10
_NEARBY = 0.05
"""How far the second step of the joint model may move from the shortlist.

There are few results at the highest fidelity, so the process is most uncertain in the corners. A
search without this limit would end in one of them, far from the shortlist.
"""
_TOPS = 10
_MOST_RUNNING = 100
_MOST_FITTED = 150
_FEW = 50


@final
@frozen
class GPSearch:
    """Bayesian optimisation: the highest expected improvement under a Gaussian process.

    Its draws have the origin "model". While there are too few results, it draws uniformly.

    Args:
        over: The results to learn from. "full": full trainings. "rung": the highest rung with at
            least d + 2 successes, where d is the number of searched parameters. "joint": all
            results, with the fidelity as an input of the model.
        beta: If above 0, the expected improvement is multiplied by the prior's density to the
            power `beta / t` after t results, including running trials (piBO).
        two_step: Only for "joint". If True, take the ten best candidates at the fidelity of the
            rung, and search near them for the best at the highest fidelity. If False, search at the
            highest fidelity with at least d successes, whatever the rung, as the original MOBSTER
            does.
        combine: Combine the kernels of numbers and choices as a "sum" or a "product". Use
            "product" if the choices change which numbers are good.
        candidates: The number of random candidates.
        most: The maximum number of results to use.
        aim: Only for "joint". "rung": as `two_step` says. "full": search at the highest fidelity
            for what is better than the lowest loss at any fidelity.
        scale: Only for "joint". Whether the model sees the fidelity on a "linear" or a "log" scale.
        trust: If given, the prior counts only while this condition is true and the prior is not
            flat. Its density then has the power `min(1, beta / n)` after n successful full
            trainings. Otherwise the search moves candidates by at most 0.05.

    Raises:
        MethodError: If an argument is not one of the allowed values.

    Example:
        >>> from priorband import Optimizer
        >>> from priorband.conditions import Trained
        >>> from priorband.samplers import FromUniform, Staged
        >>> from priorband.schedulers import FullFidelity
        >>> sampler = Staged(FromUniform(), GPSearch("full"), until=Trained(10))
        >>> method = Optimizer(FullFidelity(), sampler)
    """

    over: Over = "rung"
    beta: float = 0.0
    two_step: bool = True
    combine: Combine = "sum"
    candidates: int = 512
    most: int = 400
    aim: Aim = "rung"
    scale: Scale = "linear"
    trust: Condition | None = None

    __repr__ = repr_without_defaults("aim", "scale", "trust")

    def __post_init__(self) -> None:
        for name, words in _WORDS.items():
            if not one_of(getattr(self, name), words):
                *others, last = map(repr, words)
                raise MethodError(
                    f"`{name}` must be {', '.join(others)} or {last}, got {getattr(self, name)!r}."
                )
        if self.trust is not None:
            require_callable("trust", self.trust)
        if (beta := real(self.beta)) is None or beta < 0:
            raise MethodError(f"`beta` must be a number of at least 0, got {self.beta!r}.")
        for name in ("candidates", "most"):
            if not whole(getattr(self, name)) or getattr(self, name) < 2:
                raise MethodError(
                    f"`{name}` must be a whole number of at least 2, got {getattr(self, name)!r}."
                )

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Return the best new configuration; a uniform draw while there are too few results."""
        from priorband.models.threads import one_thread

        with one_thread():
            fitted = self._fitted(state)
            if fitted is None:
                return FromUniform().sample(state, rung, rng)
            running = _running(state, fitted.fidelity)
            latest = encoded(state, running[-_MOST_RUNNING:], self.over == "joint", self.scale)
            process = fitted.process.with_pending(latest)
            bonus = self._bonus(state, fitted.results + len(running))
            return Draw(self._best(_Inputs(state, rung, process, bonus), rng), MODEL)

    def _fitted(self, state: State) -> "_FittedProcess | None":
        """The process fitted to the results so far, cached; None if there are too few results."""
        observations = state.history.observation_count
        key = (self.over, self.combine, self.most, self.scale)
        last = state.history.cached(_FITTED, dict.get, key)
        if last is not None and last.observations == observations and last.belongs(state):
            return last
        fidelity = None
        if self.over != "joint":
            least = len(state.space) + 2
            rung = state.ladder.top if self.over == "full" else state.rung_with(least)
            if rung is None:
                return None
            fidelity = state.ladder.fidelities[rung]
        results = evidence(state, fidelity, self.most, self.scale)
        if results is None:
            return None
        fitted = _FittedProcess(
            *(state.space, state.ladder, observations, fidelity),
            results=results.total,
            process=self._process(state, results),
        )
        state.history.cached(_FITTED, dict.__setitem__, key, fitted)
        return fitted

    def _process(self, state: State, results: Evidence) -> "GP":
        from priorband.models.fitting import fit
        from priorband.models.gp import GP, Data
        from priorband.models.kernels import Kernel

        joint = self.over == "joint"
        sizes = (*state.space.sizes, None) if joint else state.space.sizes
        kernel = Kernel(sizes, self.combine == "product", joint, _optional(state.space))
        fidelities = results.rows[:, -1].tolist() if joint else [1.0] * len(results.rows)
        few = bounded(fidelities, results.targets, _MOST_FITTED)
        data = Data.of(kernel, results.rows[few], results.targets[few])
        logs = fit(data, restarts=4 if len(few) <= _FEW else 2, tolerance=1e-5)
        return GP.conditioned(kernel, logs, results.rows, results.targets)

    def prior_power(self, state: State) -> float:
        """Return the power of the prior's density in the next choice; 0 if it does not count."""
        from priorband.models.threads import one_thread

        with one_thread():
            fitted = self._fitted(state)
        if fitted is None:
            return 0.0
        return self._power(state, fitted.results + len(_running(state, fitted.fidelity)))

    def _power(self, state: State, results: int) -> float:
        if not self.beta:
            return 0.0
        if self.trust is None:
            return prior_weight(self.beta, results)
        if is_flat(state.prior) or not self.trust(state):
            return 0.0
        return capped_weight(self.beta, state.success_count(state.ladder.top))

    def _bonus(self, state: State, results: int) -> "Bonus | None":
        weight = self._power(state, results)
        return (lambda rows: weight * state.prior.logpdf(rows)) if weight else None

    def _best(self, inputs: "_Inputs", rng: Generator) -> Config:
        from priorband.models.acquisition import Improvement
        from priorband.models.search import ranked

        process, domain = inputs.process, _domain(inputs.state.space)
        level, best = self._level(inputs)
        score = Improvement(process, best, level, inputs.bonus)
        groups = self._candidates(inputs, rng)
        reach = _NEARBY if self.trust is not None and inputs.bonus is None else 1.0
        if self.over == "joint" and self.two_step and self.aim == "rung":
            groups = [_shortlist(inputs.state, score, domain, np.concatenate(groups))]
            score = Improvement(process, float(process.targets.min()), (1.0,), inputs.bonus)
            reach = _NEARBY
        rows = ranked(score, groups, domain, rng, reach)
        return inputs.state.space.config(_new(inputs.state, rows, 1)[0].tolist())

    def _level(self, inputs: "_Inputs") -> tuple[tuple[float, ...], float]:
        """The fidelity to search at, as a further column, and the best loss there."""
        process, state = inputs.process, inputs.state
        if self.over != "joint":
            return (), float(process.targets.min())
        if self.aim == "full":
            return (1.0,), float(process.targets.min())
        rung: int | None = inputs.rung
        if not self.two_step:
            rung = state.rung_with(len(state.space))
        level = unit_fidelity(
            state, state.ladder.fidelities[inputs.rung if rung is None else rung], self.scale
        )
        there = process.targets[process.rows[:, -1] == level]
        return (level,), float(there.min() if len(there) else process.targets.min())

    def _candidates(self, inputs: "_Inputs", rng: Generator) -> list[Array]:
        """Groups of candidates: uniform rows, rows near the best, and rows from the prior.

        All have a number in each column: uniform draws where a parameter is not active.
        """
        from priorband.models.search import filled, mutated

        space, process = inputs.state.space, inputs.process
        order = np.argsort(process.targets, kind="stable")[:_TOPS]
        tops = process.rows[order, : len(space)]
        copies = -(-self.candidates // (2 * len(tops)))
        groups = [
            space.uniform(self.candidates, rng),
            mutated(tops, space.sizes, copies, rng),
        ]
        if inputs.bonus is not None:
            prior = inputs.state.prior
            groups.append(np.array([prior.sample(rng) for _ in range(self.candidates // 4)]))
        if space.conditional:
            groups = [filled(group, space.sizes, rng) for group in groups]
        return groups


class _FittedProcess(NamedTuple):
    """A fitted process, and what it was fitted to."""

    space: Space
    ladder: Ladder
    observations: int
    """The number of all observations of the history."""
    fidelity: float | None
    """The fidelity of the results; None for all."""
    results: int
    """The number of results at that fidelity."""
    process: "GP"

    def belongs(self, state: State) -> bool:
        """Whether it was fitted for the state's space and fidelities."""
        return self.space is state.space and self.ladder is state.ladder


_FITTED: CacheKey[dict[tuple[Over, Combine, int, Scale], _FittedProcess]] = CacheKey(dict)


class _Inputs(NamedTuple):
    """The inputs of one search."""

    state: State
    rung: int
    process: "GP"
    bonus: "Bonus | None"


def _running(state: State, fidelity: float | None) -> list[Trial]:
    """Running trials at one fidelity, or at all of them, in the order they were asked."""
    return [t for t in state.history.running if fidelity is None or t.fidelity == fidelity]


def prior_weight(beta: float, results: int) -> float:
    """The power to which piBO raises the prior's density. It falls with the number of results."""
    return beta / max(results, 1)


def capped_weight(beta: float, trainings: int) -> float:
    """The power of the prior's density after `trainings` full trainings; at most 1.

    >>> [capped_weight(10, trainings) for trainings in (0, 4, 10, 20)]
    [1.0, 1.0, 1.0, 0.5]
    """
    return min(1.0, beta / max(trainings, 1))


def settled(space: Space, rows: Array) -> Array:
    """Round rows to configurations that exist, with numbers at multiples of `STEP`."""
    return space.centred(np.clip(np.round(rows / STEP) * STEP, 0.0, None))


def _optional(space: Space) -> tuple[int, ...]:
    """The columns of parameters that may be inactive."""
    return tuple(i for i, p in enumerate(space.searched.values()) if p.when is not None)


def _domain(space: Space) -> "Domain":
    from priorband.models.search import Domain

    return Domain(space.sizes, partial(settled, space), _marks(space))


def _marks(space: Space) -> Callable[[Array], Array] | None:
    """A function that marks the inactive entries of rows; None if there are none."""
    activation = space.activation
    if activation is None:
        return None

    def mark(rows: Array) -> Array:
        if len(rows) == 1:  # plain Python is faster, and a climb has one row at a time
            return np.array([activation.mark(rows[0].tolist())])
        return space.marked(rows)

    return mark


def _shortlist(state: State, score: "Improvement", domain: "Domain", rows: Array) -> Array:
    """The ten best rows."""
    from priorband.models.search import distinct

    rows = domain.settle(rows)
    rows = rows[np.argsort(-score(domain.marked(rows)), kind="stable")]
    if domain.mark:
        rows = rows[sorted(distinct(domain.mark(rows)))]
    return _new(state, rows, _SHORTLIST)


def _new(state: State, rows: Array, wanted: int) -> Array:
    """The first `wanted` rows that were not tried yet; the very first row if there are none."""
    untried = []
    for row in rows[:_CHECKED]:
        if not state.history.seen(state.space.config(row.tolist())):
            untried.append(row)
            if len(untried) == wanted:
                break
    return np.array(untried) if untried else rows[:1]
