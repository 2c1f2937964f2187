"""Near-optimum, good and bad priors, as the paper's experiments define them.

- near-optimum: the optimum, or the best of 50,000 uniform draws, perturbed anew for each seed:
  numbers by a normal of 0.25 of the (log) range, clipped; each category, with a chance of 0.25, to
  another one;
- good: the best of 25 uniform draws, the same for all seeds;
- bad: the worst of 50,000 uniform draws, the same for all seeds.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.hartmann import Hartmann
from priorband.benchmarks.published import published_shift
from priorband.errors import SpaceError, suggestion
from priorband.numeric import whole
from priorband.space import normal
from priorband.space.config import Config
from priorband.space.prior import Independent, prior
from priorband.space.space import Space
from priorband.streams import generator

Quality = Literal["near-optimum", "good", "bad"]
QUALITIES: tuple[Quality, ...] = ("near-optimum", "good", "bad")
GENERATION_SEED = 133077
_MANY, _FEW = 50_000, 25


def benchmark_prior(
    benchmark: Benchmark, quality: str, seed: int = 0, legacy: bool = False
) -> Independent:
    """A prior of medium confidence around the quality's centre.

    `legacy` perturbs a near-optimum one as the published experiments did, not as the paper says.

    >>> from priorband import Hartmann
    >>> round(Hartmann(3).evaluate(benchmark_prior(Hartmann(3), "good").mode, 100), 2)
    -2.55
    """
    centre = prior_centre(benchmark, quality, seed, legacy)
    return prior(benchmark.space, {name: centre[name] for name in benchmark.space.names})


def prior_centre(benchmark: Benchmark, quality: str, seed: int = 0, legacy: bool = False) -> Config:
    """The configuration that a prior of this quality believes best."""
    for name in ("space", "fidelity", "optimum", "evaluate_many"):
        if not hasattr(benchmark, name):
            raise SpaceError(
                "A benchmark has space, fidelity, optimum, evaluate and evaluate_many, got "
                f"{benchmark!r} without {name}."
            )
    if not whole(seed):
        raise SpaceError(f"`seed` must be a whole number, got {seed!r}.")
    if quality not in QUALITIES:
        raise SpaceError(f"Unknown prior quality {quality!r}. {suggestion(quality, QUALITIES)}")
    draws = _FEW if quality == "good" else _MANY
    centre = _known_centre(benchmark, quality) or searched_centres(benchmark, draws)[quality]
    if quality != "near-optimum":
        return centre
    move = perturbed_as_shipped if legacy else perturbed
    return move(benchmark.space, centre, seed)


def unmoved_centres(benchmark: Benchmark) -> dict[str, Config]:
    """The centres of all qualities, the near-optimum one before a seed perturbs it."""
    known = {quality: _known_centre(benchmark, quality) for quality in QUALITIES}
    searched = {} if all(known.values()) else searched_centres(benchmark)
    return {quality: centre or searched[quality] for quality, centre in known.items()}


def _known_centre(benchmark: Benchmark, quality: str) -> Config | None:
    """A centre that needs no search: the optimum, or one that is stored with the benchmark."""
    if quality == "near-optimum":
        return benchmark.optimum[0] if benchmark.optimum is not None else None
    stored: Config | None = getattr(benchmark, "centre", lambda quality: None)(quality)
    return stored


def searched_centres(benchmark: Benchmark, draws: int = _MANY) -> dict[str, Config]:
    """The best of many uniform draws, the best of the first few, and the worst of all.

    They are compared at full fidelity; draws whose training fails are passed over.
    """
    rows = benchmark.space.uniform(draws, np.random.default_rng(GENERATION_SEED))
    configs = [benchmark.space.config(row) for row in rows.tolist()]
    losses = benchmark.evaluate_many(configs, benchmark.fidelity.high).copy()
    losses[~np.isfinite(losses)] = np.nan
    if np.isnan(losses[:_FEW]).all():
        raise SpaceError(f"None of the first {_FEW} draws trains on {benchmark!r}.")
    found = (np.nanargmin(losses), np.nanargmin(losses[:_FEW]), np.nanargmax(losses))
    return {quality: configs[place] for quality, place in zip(QUALITIES, found, strict=True)}


def perturbed(space: Space, config: Mapping[str, Any], seed: int, sigma: float = 0.25) -> Config:
    """A configuration moved at random: what an expert who is nearly right would say."""
    rng = generator(seed, 0, "perturbed")
    [row] = space.encode([config])
    shifts, swaps, others = rng.random((3, len(row))).tolist()
    moved = [
        min(max(code + normal.quantile(shift or 0.5, 0.0, sigma), 0.0), 1.0)
        for code, shift in zip(row.tolist(), shifts, strict=True)
    ]
    for i, size in enumerate(space.sizes):
        if size is not None:
            swap = swaps[i] < 0.25 and size > 1
            moved[i] = (row[i] + 1 + int(others[i] * (size - 1))) % size if swap else row[i]
    return space.decode(moved)


def perturbed_as_shipped(space: Space, config: Mapping[str, Any], seed: int) -> Config:
    """A configuration moved as the published experiments moved it.

    On Hartmann functions by uniform noise of up to 0.25 a dimension. Elsewhere all numbers by one
    normal draw of 0.25 squared, which the paper meant to be a draw of 0.25 each, and no category.
    """
    if space not in (Hartmann(3).space, Hartmann(6).space):
        return published_shift(space, config, seed)
    [row] = space.encode([config])
    noise = 0.25 * np.random.default_rng(seed).uniform(-1.0, 1.0, len(row))
    return space.decode(np.clip(row + noise, 0.0, 1.0))
