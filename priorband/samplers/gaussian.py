"""Bayesian optimisation: a Gaussian process of the losses, and where it expects to improve most."""

from typing import TYPE_CHECKING, Literal, NamedTuple, final

import numpy as np

from priorband.cache import CacheKey
from priorband.errors import MethodError
from priorband.ladder import Ladder
from priorband.numeric import real, whole
from priorband.samplers.base import MODEL, Draw
from priorband.samplers.evidence import Evidence, bounded, encoded, evidence, unit_fidelity
from priorband.samplers.simple import FromUniform
from priorband.space.config import Config
from priorband.space.densities import Array
from priorband.space.space import Space
from priorband.state import State
from priorband.streams import Generator
from priorband.trial import Trial
from priorband.values import frozen

if TYPE_CHECKING:
    from priorband.models.acquisition import Bonus, Improvement
    from priorband.models.gp import GP

Over = Literal["full", "rung", "joint"]
Combine = Literal["sum", "product"]

STEP = 2.0**-20
"""Positions are multiples of this, so that last bits of arithmetic seldom make another trial."""
_LOOKED_AT = 256
_SHORTLIST = 10
_NEARBY = 0.05
"""A process knows least about corners: a free climb for the promise at the highest fidelity, where
there are few results, ends in one, far from what the shortlist was made for."""
_TOPS = 10
_MOST_RUNNING = 100
_MOST_FITTED = 150
_FEW = 50


@final
@frozen
class GPSearch:
    """The configuration with the highest expected improvement under a Gaussian process.

    It learns `over` the full trainings; or the highest rung with two results more than there are
    parameters; or all results jointly, the fidelity being an input. The joint model takes the ten
    candidates that promise most at the rung that is asked for, and climbs from the one that
    promises most at the highest fidelity. With `two_step` off it looks at the largest fidelity with
    as many results as parameters, whatever the rung (as the original MOBSTER).

    With `beta`, the prior's density to the power `beta / t` weighs the improvement, t being the
    number of results, running ones included (piBO). `combine` says how the kernels of numbers and
    choices are joined. At most `most` results are used.
    """

    over: Over = "rung"
    beta: float = 0.0
    two_step: bool = True
    combine: Combine = "sum"
    candidates: int = 512
    most: int = 400

    def __post_init__(self) -> None:
        if self.over not in ("full", "rung", "joint"):
            raise MethodError(f"`over` must be 'full', 'rung' or 'joint', got {self.over!r}.")
        if self.combine not in ("sum", "product"):
            raise MethodError(f"`combine` must be 'sum' or 'product', got {self.combine!r}.")
        if (beta := real(self.beta)) is None or beta < 0:
            raise MethodError(f"`beta` must be a number of at least 0, got {self.beta!r}.")
        for name in ("candidates", "most"):
            if not whole(getattr(self, name)) or getattr(self, name) < 2:
                raise MethodError(
                    f"`{name}` must be a whole number of at least 2, got {getattr(self, name)!r}."
                )

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """The most promising configuration that is new; a uniform draw while nothing is known."""
        from priorband.models.threads import one_thread

        with one_thread():
            fitted = self._fitted(state)
            if fitted is None:
                return FromUniform().sample(state, rung, rng)
            running = _running(state, fitted.fidelity)
            latest = encoded(state, running[-_MOST_RUNNING:], joint=self.over == "joint")
            process = fitted.process.with_pending(latest)
            bonus = self._bonus(state, fitted.results + len(running))
            return Draw(self._found(_Look(state, rung, process, bonus), rng), MODEL)

    def _fitted(self, state: State) -> "_FittedProcess | None":
        """The process of what has been told; kept until more is."""
        results = state.history.observation_count
        key = (self.over, self.combine, self.most)
        last = state.history.cached(_FITTED, dict.get, key)
        if last is not None and last.told == results and last.belongs(state):
            return last
        fidelity = None
        if self.over != "joint":
            least = len(state.space) + 2
            rung = state.ladder.top if self.over == "full" else state.rung_with(least)
            if rung is None:
                return None
            fidelity = state.ladder.fidelities[rung]
        found = evidence(state, fidelity, self.most)
        if found is None:
            return None
        process = self._process(state, found)
        fitted = _FittedProcess(state.space, state.ladder, results, fidelity, found.total, process)
        state.history.cached(_FITTED, dict.__setitem__, key, fitted)
        return fitted

    def _process(self, state: State, found: Evidence) -> "GP":
        from priorband.models.fitting import fit
        from priorband.models.gp import GP, Data
        from priorband.models.kernels import Kernel

        joint = self.over == "joint"
        sizes = (*state.space.sizes, None) if joint else state.space.sizes
        kernel = Kernel(sizes, product=self.combine == "product", graded=joint)
        fidelities = found.rows[:, -1].tolist() if joint else [1.0] * len(found.rows)
        few = bounded(fidelities, found.targets, _MOST_FITTED)
        data = Data.of(kernel, found.rows[few], found.targets[few])
        logs = fit(data, restarts=4 if len(few) <= _FEW else 2, tolerance=1e-5)
        return GP.conditioned(kernel, logs, found.rows, found.targets)

    def _bonus(self, state: State, results: int) -> "Bonus | None":
        if not self.beta:
            return None
        weight = prior_weight(self.beta, results)
        return lambda rows: weight * state.prior.logpdf(rows)

    def _found(self, look: "_Look", rng: Generator) -> Config:
        from priorband.models.acquisition import Improvement
        from priorband.models.search import ranked

        space, process = look.state.space, look.process
        level, best = self._level(look)
        score = Improvement(process, best, level, look.bonus)
        groups = self._candidates(look, rng)
        reach = 1.0
        if self.over == "joint" and self.two_step:
            groups = [_shortlist(look.state, score, np.concatenate(groups))]
            score = Improvement(process, float(process.targets.min()), (1.0,), look.bonus)
            reach = _NEARBY
        rows = ranked(score, groups, space.sizes, lambda rows: settled(space, rows), rng, reach)
        return space.config(_new(look.state, rows, 1)[0].tolist())

    def _level(self, look: "_Look") -> tuple[tuple[float, ...], float]:
        """The fidelity to look at, as a further column, and the best loss there."""
        process, state = look.process, look.state
        if self.over != "joint":
            return (), float(process.targets.min())
        rung: int | None = look.rung
        if not self.two_step:
            rung = state.rung_with(len(state.space))
        level = unit_fidelity(state, state.ladder.fidelities[look.rung if rung is None else rung])
        there = process.targets[process.rows[:, -1] == level]
        return (level,), float(there.min() if len(there) else process.targets.min())

    def _candidates(self, look: "_Look", rng: Generator) -> list[Array]:
        """Uniform rows, rows around the best, and where the prior counts, rows from it."""
        from priorband.models.search import mutated

        space, process = look.state.space, look.process
        order = np.argsort(process.targets, kind="stable")[:_TOPS]
        tops = process.rows[order, : len(space)]
        copies = -(-self.candidates // (2 * len(tops)))
        groups = [
            space.uniform(self.candidates, rng),
            mutated(tops, space.sizes, copies, rng),
        ]
        if look.bonus is not None:
            prior = look.state.prior
            groups.append(np.array([prior.sample(rng) for _ in range(self.candidates // 4)]))
        return groups


class _FittedProcess(NamedTuple):
    """A process, and what it was made of."""

    space: Space
    ladder: Ladder
    told: int
    fidelity: float | None
    results: int
    process: "GP"

    def belongs(self, state: State) -> bool:
        """Whether it is about the state's space and fidelities."""
        return self.space is state.space and self.ladder is state.ladder


_FITTED: CacheKey[dict[tuple[Over, Combine, int], _FittedProcess]] = CacheKey(dict)


class _Look(NamedTuple):
    """All that a single search looks at."""

    state: State
    rung: int
    process: "GP"
    bonus: "Bonus | None"


def _running(state: State, fidelity: float | None) -> list[Trial]:
    """Running trials at one fidelity, or at all, in the order they were asked."""
    return [t for t in state.history.running if fidelity is None or t.fidelity == fidelity]


def prior_weight(beta: float, results: int) -> float:
    """The power to which piBO raises the prior's density: it fades with the results."""
    return beta / max(results, 1)


def settled(space: Space, rows: Array) -> Array:
    """Rows on configurations that exist, numbers at multiples of the step."""
    return space.centred(np.clip(np.round(rows / STEP) * STEP, 0.0, None))


def _shortlist(state: State, score: "Improvement", rows: Array) -> Array:
    """The ten best of some rows."""
    rows = settled(state.space, rows)
    return _new(state, rows[np.argsort(-score(rows), kind="stable")], _SHORTLIST)


def _new(state: State, rows: Array, wanted: int) -> Array:
    """The first few rows that were not tried yet; the first of all where there are none."""
    found = []
    for row in rows[:_LOOKED_AT]:
        if not state.history.seen(state.space.config(row.tolist())):
            found.append(row)
            if len(found) == wanted:
                break
    return np.array(found) if found else rows[:1]
