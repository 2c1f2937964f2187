"""What a model may learn from: results as arrays, at one fidelity or at all, and bounded in number.

A failure counts as the worst loss of its fidelity. Losses far above the others (more than three
interquartile ranges above the upper quartile) count as that bound, so that a diverged training does
not flatten all differences; then they are standardised.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from priorband.space.densities import Array
from priorband.state import State
from priorband.trial import Observation, Trial

FENCE = 3.0


class Evidence(NamedTuple):
    """Encoded rows and standardised losses."""

    rows: Array
    targets: Array
    total: int
    """How many results there were, before they were bounded."""


def evidence(state: State, fidelity: float | None, most: int) -> Evidence | None:
    """The results at one fidelity, or at all with the fidelity as last column; None without any."""
    ended = [o for o in state.history.observations if fidelity is None or o.fidelity == fidelity]
    losses = known_losses(ended)
    if losses is None:
        return None
    kept = bounded([o.fidelity for o in ended], losses, most)
    rows = encoded(state, (ended[i].trial for i in kept), joint=fidelity is None)
    return Evidence(rows, standardised(losses[kept]), len(ended))


def encoded(state: State, trials: Iterable[Trial], joint: bool) -> Array:
    """One row a trial; in a joint model its fidelity is the last column."""
    rows = [
        np.append(state.row(trial), unit_fidelity(state, trial.fidelity))
        if joint
        else state.row(trial)
        for trial in trials
    ]
    return np.array(rows).reshape(len(rows), len(state.space) + joint)


def unit_fidelity(state: State, fidelity: float) -> float:
    """Where a fidelity lies in its range: 0 at the lowest, 1 at the highest."""
    low, high = state.ladder.fidelity.low, state.ladder.fidelity.high
    return (fidelity - low) / (high - low) if high > low else fidelity / high


def known_losses(ended: Sequence[Observation]) -> Array | None:
    """Losses, a failure's being the worst of its fidelity, or else of all; None if all failed."""
    worst: dict[float, float] = {}
    for o in ended:
        if not o.failed:
            worst[o.fidelity] = max(o.loss, worst.get(o.fidelity, o.loss))
    if not worst:
        return None
    last = max(worst.values())
    return np.array([worst.get(o.fidelity, last) if o.failed else o.loss for o in ended])


def standardised(losses: Array) -> Array:
    """Losses with mean 0 and variance 1, those far above the others cut; all 0 where all equal."""
    scale = float(np.abs(losses).max())
    if scale == 0.0 or np.ptp(losses / scale) == 0.0:
        return np.zeros(len(losses))
    losses = losses / scale  # so that squares do not overflow, nor vanish
    low, high = np.quantile(losses, (0.25, 0.75))
    if high > low:
        losses = np.minimum(losses, high + FENCE * (high - low))
    losses = losses - losses.min()
    losses = losses / losses.max()
    return np.asarray((losses - losses.mean()) / losses.std(), dtype=np.float64)


def bounded(fidelities: Sequence[float], losses: Array, most: int) -> list[int]:
    """Which results to keep, at most so many, in their order.

    Fidelities share the places equally; what one cannot use goes to the others, higher ones first.
    Of each, half are its best results, and half are spread evenly over the ranks of the rest.
    """
    if len(losses) <= most:
        return list(range(len(losses)))
    members: dict[float, list[int]] = {}
    for place, fidelity in enumerate(fidelities):
        members.setdefault(fidelity, []).append(place)
    groups = [members[fidelity] for fidelity in sorted(members, reverse=True)]
    kept: list[int] = []
    for group, room in zip(groups, _rooms([len(group) for group in groups], most), strict=True):
        ranks = sorted(group, key=lambda place: (losses[place], place))
        best = ranks[: (room + 1) // 2]
        rest = ranks[len(best) :]
        wanted = room - len(best)
        spread = [rest[(2 * i + 1) * len(rest) // (2 * wanted)] for i in range(wanted)]
        kept += best + spread
    return sorted(kept)


def _rooms(sizes: Sequence[int], most: int) -> list[int]:
    """How many places each group gets: equal shares, as far as it can fill them."""
    rooms = [0] * len(sizes)
    left = min(most, sum(sizes))
    while left:
        hungry = [i for i, size in enumerate(sizes) if rooms[i] < size]
        share, over = divmod(left, len(hungry))
        for order, i in enumerate(hungry):
            given = min(share + (order < over), sizes[i] - rooms[i])
            rooms[i] += given
            left -= given
    return rooms
