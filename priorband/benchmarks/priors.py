"""Near-optimum, good and bad priors, as the paper defines them.

- near-optimum: the optimum, or the best of 50,000 uniform draws, with a different perturbation for
  each seed: numbers move by a normal with standard deviation 0.25 of the (log) range, clipped to
  it; each category changes to another one with probability 0.25;
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

PriorQuality = Literal["near-optimum", "good", "bad"]
QUALITIES: tuple[PriorQuality, ...] = ("near-optimum", "good", "bad")
GENERATION_SEED = 133077
_MANY, _FEW = 50_000, 25


def benchmark_prior(
    benchmark: Benchmark, quality: str, seed: int = 0, legacy: bool = False
) -> Independent:
    """A prior of medium confidence for a benchmark, of a given quality.

    Args:
        benchmark: The benchmark.
        quality: "near-optimum" (around the optimum, with a perturbation), "good" (around the best
            of 25 random configurations) or "bad" (around the worst of 50,000).
        seed: The seed of the perturbation of a near-optimum prior; the others ignore it.
        legacy: Whether to perturb a near-optimum centre as the published experiments did instead
            of as the paper describes.

    Returns:
        The prior.

    Raises:
        SpaceError: If `quality` or `seed` is not allowed, if `benchmark` is not a benchmark, or if
            none of its first 25 draws can be trained.

    Example:
        >>> from priorband.benchmarks import Hartmann, benchmark_prior
        >>> bench = Hartmann(3)
        >>> round(bench.evaluate(benchmark_prior(bench, "good").mode, 100), 2)
        -2.55
    """
    centre = prior_centre(benchmark, quality, seed, legacy)
    searched = benchmark.space.names
    return prior(benchmark.space, {name: centre[name] for name in searched if name in centre})


def prior_centre(benchmark: Benchmark, quality: str, seed: int = 0, legacy: bool = False) -> Config:
    """The centre of a prior: the configuration that it takes for the best."""
    for name in ("space", "fidelity", "optimum", "evaluate_many"):
        if not hasattr(benchmark, name):
            raise SpaceError(
                "`benchmark` must have space, fidelity, optimum, evaluate and evaluate_many, got "
                f"{benchmark!r} without {name}."
            )
    if not whole(seed):
        raise SpaceError(f"`seed` must be a whole number, got {seed!r}.")
    if quality not in QUALITIES:
        raise SpaceError(f"Unknown prior quality {quality!r}. {suggestion(quality, QUALITIES)}")
    draws = _FEW if quality == "good" else _MANY
    centre = _stored_centre(benchmark, quality) or searched_centres(benchmark, draws)[quality]
    if quality != "near-optimum":
        return centre
    perturb = perturbed_as_published if legacy else perturbed
    return perturb(benchmark.space, centre, seed)


def unperturbed_centres(benchmark: Benchmark) -> dict[str, Config]:
    """The centres of all qualities; the near-optimum one is not perturbed."""
    stored = {quality: _stored_centre(benchmark, quality) for quality in QUALITIES}
    searched = {} if all(stored.values()) else searched_centres(benchmark)
    return {quality: centre or searched[quality] for quality, centre in stored.items()}


def _stored_centre(benchmark: Benchmark, quality: str) -> Config | None:
    """A centre that needs no search: the optimum, or one stored with the benchmark."""
    if quality == "near-optimum":
        return benchmark.optimum[0] if benchmark.optimum is not None else None
    stored: Config | None = getattr(benchmark, "centre", lambda quality: None)(quality)
    return stored


def searched_centres(benchmark: Benchmark, draws: int = _MANY) -> dict[str, Config]:
    """The best of `draws` uniform draws, the best of the first 25, and the worst of all.

    Draws are compared at full fidelity, without those whose training fails.
    """
    rows = benchmark.space.uniform(draws, np.random.default_rng(GENERATION_SEED))
    configs = [benchmark.space.config(row) for row in rows.tolist()]
    losses = benchmark.evaluate_many(configs, benchmark.fidelity.high).copy()
    losses[~np.isfinite(losses)] = np.nan
    if np.isnan(losses[:_FEW]).all():
        raise SpaceError(f"None of the first {_FEW} draws can be trained on {benchmark!r}.")
    indices = (np.nanargmin(losses), np.nanargmin(losses[:_FEW]), np.nanargmax(losses))
    return {quality: configs[index] for quality, index in zip(QUALITIES, indices, strict=True)}


def perturbed(space: Space, config: Mapping[str, Any], seed: int, sigma: float = 0.25) -> Config:
    """A configuration with random changes, like the guess of an expert who is nearly right.

    A parameter that becomes active is drawn uniformly.
    """
    rng = generator(seed, 0, "perturbed")
    [row] = space.encode([config])
    shifts, swaps, others = rng.random((3, len(row))).tolist()
    if space.conditional:
        pairs = zip(others, space.sizes, strict=True)
        drawn = [u if size is None else int(u * size) for u, size in pairs]
        row = np.where(np.isnan(row), drawn, row)
    moved = [
        min(max(code + normal.quantile(shift or 0.5, 0.0, sigma), 0.0), 1.0)
        for code, shift in zip(row.tolist(), shifts, strict=True)
    ]
    for i, size in enumerate(space.sizes):
        if size is not None:
            swap = swaps[i] < 0.25 and size > 1
            moved[i] = (row[i] + 1 + int(others[i] * (size - 1))) % size if swap else row[i]
    return space.decode(space.marked(np.array([moved]))[0] if space.conditional else moved)


def perturbed_as_published(space: Space, config: Mapping[str, Any], seed: int) -> Config:
    """A configuration with the random changes of the published experiments.

    On Hartmann functions each number moves by uniform noise of up to 0.25. On other benchmarks all
    numbers move by the same normal draw, with standard deviation 0.25 squared where the paper says
    a draw of 0.25 for each number, and categories do not change.
    """
    if space not in (Hartmann(3).space, Hartmann(6).space):
        return published_shift(space, config, seed)
    [row] = space.encode([config])
    noise = 0.25 * np.random.default_rng(seed).uniform(-1.0, 1.0, len(row))
    return space.decode(np.clip(row + noise, 0.0, 1.0))
