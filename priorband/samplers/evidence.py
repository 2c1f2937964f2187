"""The results that a model is fitted to, as arrays: at one fidelity or at all, limited in number.

A failure counts as the worst loss of its fidelity. Losses more than three interquartile ranges
above the upper quartile are cut to that bound, so that one diverged training does not hide all
other differences. Then losses are standardised.
"""

from collections.abc import Iterable, Sequence
from math import log
from typing import Literal, NamedTuple

import numpy as np

from priorband.space.densities import Array
from priorband.state import State
from priorband.trial import Observation, Trial

FENCE = 3.0
Scale = Literal["linear", "log"]
"""How the fidelity becomes an input of a model."""


class Evidence(NamedTuple):
    """Encoded rows and standardised losses."""

    rows: Array
    targets: Array
    total: int
    """The number of results before it was limited."""


def evidence(
    state: State, fidelity: float | None, most: int, scale: Scale = "linear"
) -> Evidence | None:
    """Return at most `most` results, or None if there are no losses.

    They are those at one fidelity. If `fidelity` is None, they are those at all fidelities, with
    the fidelity as the last column.
    """
    ended = [o for o in state.history.observations if fidelity is None or o.fidelity == fidelity]
    losses = losses_with_failures(ended)
    if losses is None:
        return None
    kept = bounded([o.fidelity for o in ended], losses, most)
    rows = encoded(state, (ended[i].trial for i in kept), fidelity is None, scale)
    return Evidence(rows, standardised(losses[kept]), len(ended))


def encoded(state: State, trials: Iterable[Trial], joint: bool, scale: Scale = "linear") -> Array:
    """Return a row for each trial; if `joint` is set, the fidelity is its last column."""
    rows = [
        np.append(state.row(trial), unit_fidelity(state, trial.fidelity, scale))
        if joint
        else state.row(trial)
        for trial in trials
    ]
    return np.array(rows).reshape(len(rows), len(state.space) + joint)


def unit_fidelity(state: State, fidelity: float, scale: Scale = "linear") -> float:
    """Return a fidelity's position in its range: 0 for the lowest, 1 for the highest."""
    low, high = state.ladder.fidelity.low, state.ladder.fidelity.high
    if high <= low:
        return fidelity / high
    if scale == "log":
        return log(fidelity / low) / log(high / low) if fidelity < high else 1.0
    return (fidelity - low) / (high - low)


def losses_with_failures(ended: Sequence[Observation]) -> Array | None:
    """Return a loss for each result, or None if all failed.

    A failure gets the worst loss of its fidelity; if all failed there, the worst of all losses.
    """
    worst: dict[float, float] = {}
    for o in ended:
        if not o.failed:
            worst[o.fidelity] = max(o.loss, worst.get(o.fidelity, o.loss))
    if not worst:
        return None
    overall = max(worst.values())
    return np.array([worst.get(o.fidelity, overall) if o.failed else o.loss for o in ended])


def standardised(losses: Array) -> Array:
    """Return losses scaled to mean 0 and variance 1, after cutting those far above the others.

    If all are equal, the result is all zeros.
    """
    scale = float(np.abs(losses).max())
    if scale == 0.0 or np.ptp(losses / scale) == 0.0:
        return np.zeros(len(losses))
    losses = losses / scale  # so that squares neither overflow nor underflow
    low, high = np.quantile(losses, (0.25, 0.75))
    if high > low:
        losses = np.minimum(losses, high + FENCE * (high - low))
    losses = losses - losses.min()
    losses = losses / losses.max()
    return np.asarray((losses - losses.mean()) / losses.std(), dtype=np.float64)


def bounded(fidelities: Sequence[float], losses: Array, most: int) -> list[int]:
    """Return the indices of at most `most` results to keep, in order.

    All fidelities get the same number; what one does not need goes to the others, to higher ones
    first. Half of a fidelity's results are its best ones, the other half is spread evenly over the
    ranks of the rest.
    """
    if len(losses) <= most:
        return list(range(len(losses)))
    members: dict[float, list[int]] = {}
    for index, fidelity in enumerate(fidelities):
        members.setdefault(fidelity, []).append(index)
    groups = [members[fidelity] for fidelity in sorted(members, reverse=True)]
    kept: list[int] = []
    counts = _kept_counts([len(group) for group in groups], most)
    for group, count in zip(groups, counts, strict=True):
        ranks = sorted(group, key=lambda index: (losses[index], index))
        best = ranks[: (count + 1) // 2]
        rest = ranks[len(best) :]
        wanted = count - len(best)
        spread = [rest[(2 * i + 1) * len(rest) // (2 * wanted)] for i in range(wanted)]
        kept += best + spread
    return sorted(kept)


def _kept_counts(sizes: Sequence[int], most: int) -> list[int]:
    """How many results each group keeps: equal shares, but not more than it has."""
    counts = [0] * len(sizes)
    left = min(most, sum(sizes))
    while left:
        unfilled = [i for i, size in enumerate(sizes) if counts[i] < size]
        share, over = divmod(left, len(unfilled))
        for order, i in enumerate(unfilled):
            more = min(share + (order < over), sizes[i] - counts[i])
            counts[i] += more
            left -= more
    return counts
