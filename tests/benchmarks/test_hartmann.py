"""Multi-fidelity Hartmann against the values published with the paper's experiments."""

import math

import numpy as np
import pytest

from priorband import Config
from priorband.benchmarks import Hartmann, benchmark_prior
from priorband.benchmarks.hartmann import CORRELATIONS
from priorband.errors import SpaceError

LAST_DIGIT = 3e-16

BIASED = [
    (3, 3, -0.8680635930, 0.9287661234),
    (3, 11, -1.9776941501, -0.8466427680),
    (3, 33, -2.9159453092, -2.3478446226),
    (6, 3, -0.6854886099, 0.8966390310),
    (6, 11, -1.6625300956, -0.6666273461),
    (6, 33, -2.4886702019, -1.9884515162),
]
ZHAT = {3: 0.2385606274, 11: 0.5206963426, 33: 0.7592569699}


def point(*values: float) -> Config:
    return Config((f"x{i}", value) for i, value in enumerate(values))


@pytest.mark.parametrize(
    ("dimensions", "loss"), [(3, -3.8627797869493365), (6, -3.322368011391339)]
)
def test_tv12_the_optimum_has_the_published_loss(dimensions: int, loss: float) -> None:
    bench = Hartmann(dimensions)
    config, lowest = bench.optimum
    assert lowest == pytest.approx(loss, rel=LAST_DIGIT)
    assert bench.exact(config, 100) == pytest.approx(loss, rel=LAST_DIGIT)


@pytest.mark.parametrize(
    ("dimensions", "quality", "loss"),
    [
        (3, "good", -2.551854489630721),
        (3, "bad", -8.026181522459758e-05),
        (6, "good", -1.3398344842753394),
        (6, "bad", -1.8014608648997715e-06),
    ],
)
def test_tv12_the_stored_priors_have_the_published_losses(
    dimensions: int, quality: str, loss: float
) -> None:
    bench = Hartmann(dimensions)
    mode = benchmark_prior(bench, quality).mode
    assert bench.evaluate(mode, 100) == pytest.approx(loss, rel=LAST_DIGIT)


@pytest.mark.parametrize(
    ("dimensions", "loss"), [(3, -3.2898530323707105), (6, -1.9806939156406154)]
)
def test_tv12_the_optimum_with_uniform_noise_has_the_published_loss(
    dimensions: int, loss: float
) -> None:
    bench = Hartmann(dimensions)
    noise = np.random.default_rng(133077).uniform(-1, 1, dimensions)
    moved = np.clip(np.array(list(bench.optimum[0].values())) + 0.25 * noise, 0, 1)
    assert bench.exact(point(*moved.tolist()), 100) == pytest.approx(loss, rel=LAST_DIGIT)


@pytest.mark.parametrize(("dimensions", "z", "good", "terrible"), BIASED)
def test_tv12_low_fidelities_are_biased_at_the_optimum(
    dimensions: int, z: int, good: float, terrible: float
) -> None:
    best, _ = Hartmann(dimensions).optimum
    assert Hartmann(dimensions, "good").exact(best, z) == pytest.approx(good, abs=6e-11)
    assert Hartmann(dimensions, "terrible").exact(best, z) == pytest.approx(terrible, abs=6e-11)


def test_tv12_the_middle_of_the_cube_has_the_published_losses() -> None:
    middle = point(0.5, 0.5, 0.5)
    assert Hartmann(3, "good").exact(middle, 3) == pytest.approx(-0.0454292111, abs=6e-11)
    assert Hartmann(3, "good").exact(middle, 100) == pytest.approx(-0.6280220151, abs=6e-11)


@pytest.mark.parametrize(("z", "zhat"), ZHAT.items())
def test_tv12_fidelity_is_scaled_by_the_logarithm_with_lower_end_one(z: int, zhat: float) -> None:
    """The bias goes with 1 - zhat, which is one half at z = 10."""
    bench, anywhere = Hartmann(3, "good"), point(0.2, 0.6, 0.7)
    full = bench.exact(anywhere, 100)
    ratio = (bench.exact(anywhere, z) - full) / (bench.exact(anywhere, 10) - full)
    assert 1 - ratio / 2 == pytest.approx(zhat, abs=1e-10)


def test_a_full_training_is_free_of_bias_and_noise() -> None:
    config = point(0.3, 0.1, 0.9)
    losses = {
        Hartmann(3, correlation, seed).evaluate(config, 100)
        for correlation in CORRELATIONS
        for seed in range(5)
    }
    assert losses == {Hartmann(3).exact(config, 100)}


@pytest.mark.parametrize(("z", "mean"), [(3, 1.215), (11, 0.765), (33, 0.384)])
def test_noise_is_half_normal_and_makes_low_fidelities_look_worse(z: int, mean: float) -> None:
    """False alarm below 1e-6: 4000 draws, five standard errors."""
    rows = np.random.default_rng(1).random((4000, 3))
    bench = Hartmann(3, "good")
    noise = np.array(
        [bench.evaluate(point(*r), z) - bench.exact(point(*r), z) for r in rows.tolist()]
    )
    scale = 2.0 * (1 - math.log(z) / math.log(100))
    assert noise.min() >= 0
    assert mean == pytest.approx(scale * math.sqrt(2 / math.pi), abs=6e-4)
    spread = scale * math.sqrt(1 - 2 / math.pi)
    assert noise.mean() == pytest.approx(mean, abs=5 * spread / math.sqrt(len(noise)))
    assert noise.std() == pytest.approx(spread, rel=0.08)


def test_noise_depends_on_seed_fidelity_and_configuration_and_on_nothing_else() -> None:
    config, other = point(0.1, 0.2, 0.3), point(0.1, 0.2, 0.30000001)

    def noise(seed: int, config: Config, z: int) -> float:
        bench = Hartmann(3, "good", seed)
        scale = 1 - math.log(z) / math.log(100)
        return (bench.evaluate(config, z) - bench.exact(config, z)) / scale

    first = noise(1, config, 3)
    assert noise(1, point(0.1, 0.2, 0.3), 3) == first
    others = (noise(2, config, 3), noise(1, config, 11), noise(1, other, 3))
    assert all(abs(value - first) > 1e-6 for value in others)


def test_noise_is_the_same_on_every_machine() -> None:
    """A recorded value: it changes only with the definition of the noise."""
    bench = Hartmann(3, "good", seed=7)
    config = point(0.25, 0.5, 0.75)
    assert bench.evaluate(config, 9.0) == bench.evaluate(config, 9)
    assert bench.evaluate(config, 9) - bench.exact(config, 9) == pytest.approx(
        1.083363827457, abs=1e-11
    )


def test_the_variants_are_those_of_the_experiments() -> None:
    assert CORRELATIONS["good"] == (2.5, 2.0)
    assert CORRELATIONS["terrible"] == (4.0, 5.0)
    assert CORRELATIONS["bad"] == (3.5, 4.0)
    assert CORRELATIONS["moderate"] == (3.0, 3.0)


def test_fidelities_go_from_3_to_100() -> None:
    fidelity = Hartmann(6).fidelity
    assert (fidelity.low, fidelity.high, fidelity.integer) == (3, 100, True)


def test_the_optimum_is_a_minimum() -> None:
    """Any step from it goes up, by more than the digits it is printed with."""
    rng = np.random.default_rng(0)
    for dimensions in (3, 6):
        bench = Hartmann(dimensions)
        best, lowest = bench.optimum
        centre = np.array(list(best.values()))
        for step in rng.normal(size=(50, dimensions)):
            near = np.clip(centre + 0.01 * step / np.linalg.norm(step), 0, 1)
            assert bench.exact(point(*near.tolist()), 100) > lowest


def test_other_dimensions_and_unknown_correlations_are_refused() -> None:
    with pytest.raises(SpaceError, match="`dimensions` must be 3 or 6, got 4"):
        Hartmann(4)
    with pytest.raises(SpaceError, match="Unknown correlation 'godo'. Did you mean 'good'?"):
        Hartmann(3, "godo")


def test_a_seed_beyond_64_bits_is_refused_by_hartmann() -> None:
    with pytest.raises(SpaceError, match="`seed` must be an integer of at most 64 bits"):
        Hartmann(3, seed=2**63)
