"""How well the fidelities of a benchmark agree with full training on which configuration is better.

The paper calls a correlation high when a tenth of the fidelities already agrees to 0.8.
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
"""The least mean correlation at a tenth of the fidelities that the paper calls high."""
_LEAST_REPEATS = 3


class Correlations(NamedTuple):
    """Mean and standard deviation over repeats of each fidelity's correlation with the last."""

    fidelities: Array
    means: Array
    deviations: Array
    repeats: int


def spearman(first: Array, second: Array) -> float:
    """The correlation of two lists' ranks; nan where all of one list are alike.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2]))
    0.5
    """
    return float(_with_last(np.stack([first, second]))[0])


def correlation_curve(
    benchmark: Benchmark,
    fidelities: Sequence[float] | None = None,
    configs: int = 25,
    seed: int = 1,
    tolerance: float = 1e-3,
    most: int = 1000,
) -> Correlations:
    """Spearman's correlation of each fidelity with full training, over random configurations.

    A repeat draws so many configurations uniformly. Repeats go on, three at least and `most` at the
    most, until another moves the mean curve by no more than the tolerance (Euclidean). The
    fidelities are all whole ones of the range, unless a list that ends with full training is given.
    Of a list of few, the mean may stand still by chance: set `tolerance` to 0 for `most` repeats.
    A loss that is not finite is worse than all others. Where all configurations are alike, a
    fidelity says nothing of their order, and its correlation counts as 0.
    """
    asked = _asked(benchmark.fidelity, fidelities)
    if configs < 2 or most < 1:
        raise MethodError(
            "A correlation needs `configs` of at least 2 and `most` of at least 1, got "
            f"{configs!r} and {most!r}."
        )
    rng, curves = np.random.default_rng(seed), list[Array]()
    mean = np.zeros(len(asked))
    while len(curves) < most:
        drawn = [benchmark.space.decode(row) for row in benchmark.space.uniform(configs, rng)]
        losses = np.stack([benchmark.evaluate_many(drawn, fidelity) for fidelity in asked])
        curves.append(np.nan_to_num(_with_last(losses)))
        step = (curves[-1] - mean) / len(curves)
        mean = mean + step
        if len(curves) >= _LEAST_REPEATS and float(np.linalg.norm(step)) <= tolerance:
            break
    spread = np.std(curves, axis=0, ddof=1) if len(curves) > 1 else np.full(len(asked), np.nan)
    return Correlations(np.array(asked, dtype=np.float64), mean, spread, len(curves))


def at_tenth(fidelities: Sequence[float] | Array, low: float | None = None) -> int:
    """The place in a list of the fidelity that stands for a tenth of them.

    Of a whole list of n it is place n // 10, as in the paper's evaluation. A benchmark that knows
    some fidelities only gives those and the lowest of its whole range: then it is the one nearest
    to that which would stand there, were all whole fidelities listed. Of fractions it is the one
    nearest to a tenth of the range.

    >>> at_tenth(range(1, 53)), at_tenth((1, 5, 17, 52), low=1)
    (5, 1)
    """
    listed = np.asarray(fidelities, dtype=np.float64)
    if low is None:
        return len(listed) // 10
    span = float(listed[-1] - low)
    counted = bool((listed == np.floor(listed)).all()) and float(low).is_integer()
    wanted = low + ((int(span) + 1) // 10 if counted else span / 10)
    return int(np.argmin(np.abs(listed - wanted)))


def is_high(fidelities: Sequence[float] | Array, curve: Array, low: float | None = None) -> bool:
    """Whether the paper would count a benchmark to those of high correlation."""
    return bool(curve[at_tenth(fidelities, low)] >= HIGH)


def _asked(whole: Fidelity, fidelities: Sequence[float] | None) -> Sequence[float]:
    if fidelities is None and whole.integer:
        return range(int(whole.low), int(whole.high) + 1)
    given = [] if fidelities is None else [float(each) for each in fidelities]
    if not given or given[-1] != whole.high or any(np.diff(given) <= 0):
        raise SpaceError(
            f"`fidelities` must ascend to a full training, {whole.high!r}, got {fidelities!r}. "
            "They can be left out for a range of whole numbers only."
        )
    return list(fidelities or ())


def _with_last(losses: Array) -> Array:
    """The correlation of each row's ranks with the last row's; nan where it is not defined."""
    ranked = ranks(np.where(np.isfinite(losses), losses, np.inf).T)
    away = ranked - ranked.mean(axis=0)
    squares = (away**2).sum(axis=0)
    scale = np.sqrt(squares * squares[-1])
    shared = (away * away[:, -1:]).sum(axis=0)
    return np.where(scale > 0, shared / np.where(scale > 0, scale, 1.0), np.nan)
