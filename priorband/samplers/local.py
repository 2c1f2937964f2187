"""Samplers near the incumbent: perturbation, and crossover and hypersphere for the ablations."""

from typing import final

import numpy as np

from priorband.cache import CacheKey
from priorband.errors import MethodError
from priorband.numeric import real
from priorband.samplers.activated import changes, marked, prior_draws
from priorband.samplers.base import Draw, MixtureWeights, require_callable
from priorband.samplers.simple import FromUniform
from priorband.space import normal
from priorband.space.config import Config
from priorband.space.densities import Array
from priorband.space.space import Space
from priorband.state import State
from priorband.streams import Generator
from priorband.trial import Trial
from priorband.values import frozen

_TRIES = 50
ORIGIN = "incumbent"


@final
@frozen
class Perturb:
    """Local search: the incumbent with some parameters changed, as in PriorBand.

    Each parameter is selected with probability `rate`. A selected number is drawn from a normal
    around it, truncated to the range. A selected categorical of k choices keeps its choice with
    probability k / (2k - 1), and otherwise gets one of the others, all equally likely. A parameter
    that becomes active is drawn from the prior, one that becomes inactive is dropped. Without an
    incumbent it draws uniformly. Its draws have the origin "incumbent".

    Args:
        rate: The probability that a parameter is selected, in (0, 1].
        sigma: The standard deviation of the normal, as a fraction of the (log) range.
        always_change: Whether a selected categorical always gets another choice, as in the paper's
            code.

    Raises:
        MethodError: If `rate` or `sigma` is out of its range.

    Example:
        >>> from priorband import Optimizer, ensemble
        >>> from priorband.schedulers import Hyperband
        >>> method = Optimizer(Hyperband(), ensemble(around=Perturb(sigma=0.1)))
    """

    rate: float = 0.5
    sigma: float = 0.25
    always_change: bool = False

    def __post_init__(self) -> None:
        if not 0 < (real(self.rate) or 0) <= 1:
            raise MethodError(f"`rate` must be in (0, 1], got {self.rate!r}.")
        if (real(self.sigma) or 0) <= 0:
            raise MethodError(f"`sigma` must be a positive number, got {self.sigma!r}.")

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Return a configuration near the incumbent but different, if possible a new one."""
        incumbent = state.incumbent
        if incumbent is None:
            return FromUniform().sample(state, rung, rng)
        codes = state.row(incumbent.trial).tolist()
        tried: Config | None = None
        for _ in range(_TRIES):
            moves = self._moves(codes, state, rng)
            config = state.space.changed(incumbent.config, moves)
            if config == incumbent.config:
                continue
            if not state.history.seen(config):
                return Draw(config, ORIGIN)
            tried = config
        return Draw(tried or _forced(incumbent.config, codes, state, rng), ORIGIN)

    def _moves(self, codes: list[float], state: State, rng: Generator) -> dict[int, float]:
        sizes, activation, width = state.space.sizes, state.space.activation, len(codes)
        random = rng.random(2 * width).tolist()
        if activation is None:
            selected = (i for i in range(width) if random[i] < self.rate)
            return {i: self._move(codes[i], sizes[i], random[width + i]) for i in selected}
        draw = prior_draws(state, rng)

        def new_code(i: int) -> float | None:
            if codes[i] != codes[i]:
                return draw(i, random[width + i])
            if random[i] < self.rate:
                return self._move(codes[i], sizes[i], random[width + i])
            return None

        return changes(activation, codes, new_code)

    def _move(self, code: float, size: int | None, u: float) -> float:
        if size is None:
            return normal.draw(u, code, self.sigma, normal.bounds(code, self.sigma))
        if self.always_change:
            return other_choice(code, size, u)
        return changed_choice(code, size, u)


def _forced(start: Config, codes: list[float], state: State, rng: Generator) -> Config:
    """Change one parameter for certain, after random draws gave only the incumbent itself."""
    space = state.space
    active = [i for i, code in enumerate(codes) if code == code]
    free = [i for i in active if space.sizes[i] != 1]
    if not free:
        return start  # the space has one configuration
    i = free[int(rng.random() * len(free))]
    size, end = space.sizes[i], 0.0 if codes[i] > 0.5 else 1.0
    for u in rng.random(_TRIES).tolist():
        code = u if size is None else other_choice(codes[i], size, u)
        config = space.changed(start, _with_children(i, code, codes, state, rng))
        if config != start:
            return config
    return space.changed(start, _with_children(i, end, codes, state, rng))


def _with_children(
    changed: int, code: float, codes: list[float], state: State, rng: Generator
) -> dict[int, float]:
    """The new code of one column, and those of the parameters that become active with it."""
    if state.space.activation is None:
        return {changed: code}
    draw, random = prior_draws(state, rng), rng.random(len(codes)).tolist()

    def new_code(i: int) -> float | None:
        if codes[i] != codes[i]:
            return draw(i, random[i])
        return code if i == changed else None

    return changes(state.space.activation, codes, new_code)


def changed_choice(code: float, size: int, u: float) -> float:
    """Draw a choice; the current one is `size` times as likely as each other."""
    u *= 2 * size - 1
    return code if u < size else other_choice(code, size, (u - size) / (size - 1))


def other_choice(code: float, size: int, u: float) -> float:
    """Draw one of the other choices uniformly; return the same if there is no other."""
    if size == 1:
        return code
    index = min(int(u * (size - 1)), size - 2)
    return float(index + (index >= code))


@final
@frozen
class Crossover:
    """The incumbent with about half of its parameters taken from a partner: an ablation.

    The partner is drawn from the prior or uniformly. The closer the probabilities of the prior and
    of the incumbent are to each other, the more often it is drawn from the prior. A parameter that
    is active in only one of the two comes from that one. One that becomes active though it is in
    neither is drawn from the prior. Without an incumbent it draws uniformly. Its draws have the
    origin "incumbent".

    Args:
        weights: The weights of the ensemble that this sampler is part of.

    Raises:
        MethodError: If `weights` is not a function or an instance that can be called.

    Example:
        >>> from priorband import Optimizer, ensemble
        >>> from priorband.samplers import Ensemble
        >>> from priorband.schedulers import Hyperband
        >>> method = Optimizer(Hyperband(), ensemble(around=Crossover(Ensemble())))
    """

    weights: MixtureWeights

    def __post_init__(self) -> None:
        require_callable("weights", self.weights)

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Return a child that differs from the incumbent; after 50 tries, a uniform draw."""
        incumbent = state.incumbent
        if incumbent is None:
            return FromUniform().sample(state, rung, rng)
        from_prior = partner_share(self.weights(state, rung).probabilities)
        for _ in range(_TRIES):
            if rng.random() < from_prior:
                partner = state.prior.sample(rng)
            else:
                partner = state.space.uniform(1, rng)[0]
            child = state.space.changed(
                incumbent.config, _crossed(incumbent.trial, partner, state, rng)
            )
            if child != incumbent.config:
                return Draw(child, ORIGIN)
        return FromUniform().sample(state, rung, rng)


def _crossed(start: Trial, other: Array, state: State, rng: Generator) -> dict[int, float]:
    """The codes that a child of the incumbent does not have from the incumbent."""
    taken = np.flatnonzero(rng.random(len(other)) < 0.5).tolist()
    if state.space.activation is None:
        return {i: float(other[i]) for i in taken}
    codes, partner = state.row(start).tolist(), marked(other, state)
    draw = prior_draws(state, rng)

    def new_code(i: int) -> float | None:
        has_one, partner_has_one = codes[i] == codes[i], partner[i] == partner[i]
        if partner_has_one and (i in taken or not has_one):
            return partner[i]
        return None if has_one else draw(i, float(rng.random()))

    return changes(state.space.activation, codes, new_code)


def partner_share(probabilities: tuple[float, ...]) -> float:
    """Return the probability that the partner of a crossover is drawn from the prior."""
    p_uniform, p_prior, p_incumbent = probabilities
    return 1.0 - abs(p_prior - p_incumbent) / (1.0 - p_uniform) if p_uniform < 1.0 else 0.0


@final
@frozen
class Hypersphere:
    """A uniform draw from a ball around the incumbent: an ablation.

    The radius is the distance to the nearest configuration with a result. The ball grows if no
    draw is inside. Without an incumbent it draws uniformly. Its draws have the origin "incumbent".

    Args:
        least: The minimum radius, where 1 is the range of a parameter.
        growth: The factor by which the radius grows after 1000 draws outside.

    Raises:
        MethodError: If `least` is not above 0, or `growth` not above 1.

    Example:
        >>> from priorband import Optimizer, ensemble
        >>> from priorband.schedulers import Hyperband
        >>> method = Optimizer(Hyperband(), ensemble(around=Hypersphere()))
    """

    least: float = 0.01
    growth: float = 1.01

    def __post_init__(self) -> None:
        if (real(self.least) or 0) <= 0:
            raise MethodError(f"`least` must be a positive number, got {self.least!r}.")
        if (real(self.growth) or 0) <= 1:
            raise MethodError(f"`growth` must be a number above 1, got {self.growth!r}.")

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        """Draw uniformly until a configuration is inside the ball; grow it after 1000 draws."""
        incumbent = state.incumbent
        if incumbent is None:
            return FromUniform().sample(state, rung, rng)
        centre = state.row(incumbent.trial)
        radius = max(_reach(state, incumbent.trial.root, centre), self.least)
        while radius < len(centre) + 1.0:  # no two configurations are further apart
            rows = state.space.uniform(1000, rng)
            inside = np.flatnonzero(distances(state, rows, centre) < radius)
            for index in inside[:_TRIES]:
                if (config := state.space.decode(rows[index])) != incumbent.config:
                    return Draw(config, ORIGIN)
            radius *= self.growth
        return FromUniform().sample(state, rung, rng)


@final
class _Nearest:
    """The distance from the incumbent to the nearest other result, updated as results arrive."""

    __slots__ = ("distance", "root", "seen", "space")

    def __init__(self) -> None:
        self.root: int | None = None
        self.space: Space | None = None
        self.seen = 0
        self.distance = np.inf

    def reach(self, state: State, root: int, centre: Array) -> float:
        """Return the distance; 0 if there is no other configuration."""
        if self.root != root or self.space is not state.space:
            self.root, self.space, self.seen, self.distance = root, state.space, 0, np.inf
        new = state.history.observations_since(self.seen)
        if new:
            away = distances(state, np.array([state.row(ended.trial) for ended in new]), centre)
            nearest = min(self.distance, float(min(away[away > 0], default=np.inf)))
            self.seen, self.distance = self.seen + len(new), nearest
        return 0.0 if np.isinf(self.distance) else self.distance


_NEAREST: CacheKey[_Nearest] = CacheKey(_Nearest)


def _reach(state: State, root: int, centre: Array) -> float:
    return state.history.cached(_NEAREST, _Nearest.reach, state, root, centre)


def distances(state: State, rows: Array, centre: Array) -> Array:
    """Return each row's distance to the centre.

    It is the Euclidean distance of the numbers, plus the fraction of choices that differ. A number
    that is active in only one of the two has a distance of 1, and a choice differs.
    """
    numeric = [i for i, size in enumerate(state.space.sizes) if size is None]
    choices = [i for i, size in enumerate(state.space.sizes) if size is not None]
    away, differ = rows[:, numeric] - centre[numeric], rows[:, choices] != centre[choices]
    if state.space.conditional:
        in_neither = np.isnan(rows) & np.isnan(centre)
        away[np.isnan(away)] = 1.0
        away[in_neither[:, numeric]] = 0.0
        differ &= ~in_neither[:, choices]
    apart = np.sqrt((away**2).sum(axis=1))
    if choices:
        apart = apart + differ.mean(axis=1)
    return np.asarray(apart, dtype=np.float64)
