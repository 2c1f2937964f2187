"""Rank correlation between the losses at low fidelities and those after a full training.

The paper calls a benchmark's correlation high if it is at least 0.8 at a tenth of the fidelities.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from priorband.analysis.curves import Array
from priorband.analysis.ranks import ranks
from priorband.benchmarks.base import Benchmark
from priorband.errors import MethodError, SpaceError
from priorband.fidelity import Fidelity

HIGH = 0.8
"""The lowest mean correlation at a tenth of the fidelities that the paper calls high."""
_MIN_REPEATS = 3


class Correlations(NamedTuple):
    """Mean and standard deviation, over repeats, of each fidelity's correlation with the last."""

    fidelities: Array
    means: Array
    deviations: Array
    repeats: int


def spearman(first: Array, second: Array) -> float:
    """Spearman's rank correlation of two lists; nan if all values of a list are equal.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2]))
    0.5
    """
    return float(_correlations_with_last(np.stack([first, second]))[0])


def correlation_curve(
    benchmark: Benchmark,
    fidelities: Sequence[float] | None = None,
    configs: int = 25,
    seed: int = 1,
    tolerance: float = 1e-3,
    max_repeats: int = 1000,
) -> Correlations:
    """Spearman's correlation of each fidelity with full training, over random configurations.

    Each repeat draws `configs` configurations uniformly. There are at least three and at most
    `max_repeats` repeats; they stop when a repeat moves the mean curve by no more than `tolerance`
    (Euclidean distance). With a few fidelities the mean can stay the same by chance: set
    `tolerance` to 0 to get all `max_repeats` repeats.

    `fidelities` must end with a full training. The default is all integers of the range. A loss
    that is not finite is worse than all others. At a fidelity where all losses are equal, the
    correlation counts as 0.
    """
    levels = _checked_fidelities(benchmark.fidelity, fidelities)
    if configs < 2 or max_repeats < 1:
        raise MethodError(
            "`configs` must be at least 2 and `max_repeats` at least 1, got "
            f"{configs!r} and {max_repeats!r}."
        )
    rng, curves = np.random.default_rng(seed), list[Array]()
    mean = np.zeros(len(levels))
    while len(curves) < max_repeats:
        sample = [benchmark.space.decode(row) for row in benchmark.space.uniform(configs, rng)]
        losses = np.stack([benchmark.evaluate_many(sample, fidelity) for fidelity in levels])
        curves.append(np.nan_to_num(_correlations_with_last(losses)))
        step = (curves[-1] - mean) / len(curves)
        mean = mean + step
        if len(curves) >= _MIN_REPEATS and float(np.linalg.norm(step)) <= tolerance:
            break
    spread = np.std(curves, axis=0, ddof=1) if len(curves) > 1 else np.full(len(levels), np.nan)
    return Correlations(np.array(levels, dtype=np.float64), mean, spread, len(curves))


def tenth_index(fidelities: Sequence[float] | Array, low: float | None = None) -> int:
    """The index of the fidelity that counts as "a tenth of the fidelities".

    For a list of all n fidelities it is n // 10, as in the paper's evaluation. If the list has only
    some fidelities of a range, pass the lowest fidelity of the range as `low`: then it is the index
    of the listed fidelity nearest to the one at n // 10 of all integers in the range, or nearest to
    a tenth of the range if the fidelities are not integers.

    >>> tenth_index(range(1, 53)), tenth_index((1, 5, 17, 52), low=1)
    (5, 1)
    """
    listed = np.asarray(fidelities, dtype=np.float64)
    if low is None:
        return len(listed) // 10
    span = float(listed[-1] - low)
    integers = bool((listed == np.floor(listed)).all()) and float(low).is_integer()
    wanted = low + ((int(span) + 1) // 10 if integers else span / 10)
    return int(np.argmin(np.abs(listed - wanted)))


def is_high_correlation(
    fidelities: Sequence[float] | Array, curve: Array, low: float | None = None
) -> bool:
    """Whether the paper would say that a benchmark has a high correlation."""
    return bool(curve[tenth_index(fidelities, low)] >= HIGH)


def _checked_fidelities(fidelity: Fidelity, fidelities: Sequence[float] | None) -> Sequence[float]:
    if fidelities is None and fidelity.integer:
        return range(int(fidelity.low), int(fidelity.high) + 1)
    levels = [] if fidelities is None else [float(level) for level in fidelities]
    if not levels or levels[-1] != fidelity.high or any(np.diff(levels) <= 0):
        raise SpaceError(
            f"`fidelities` must be ascending and end with {fidelity.high!r}, a full training, got "
            f"{fidelities!r}. They are optional only if the fidelity is an integer."
        )
    return list(fidelities or ())


def _correlations_with_last(losses: Array) -> Array:
    """The rank correlation of each row with the last row; nan where it is undefined."""
    ranked = ranks(np.where(np.isfinite(losses), losses, np.inf).T)
    deviations = ranked - ranked.mean(axis=0)
    squares = (deviations**2).sum(axis=0)
    scale = np.sqrt(squares * squares[-1])
    products = (deviations * deviations[:, -1:]).sum(axis=0)
    return np.where(scale > 0, products / np.where(scale > 0, scale, 1.0), np.nan)
