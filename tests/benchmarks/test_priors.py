"""Near-optimum, good and bad priors, as in the paper."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import priorband as pb
from priorband import Categorical, Config, Constant, Fidelity, Float, Integer, Space
from priorband.benchmarks import Hartmann, benchmark_prior
from priorband.benchmarks.priors import (
    perturbed,
    perturbed_as_published,
    prior_centre,
    searched_centres,
)
from priorband.errors import SpaceError
from priorband.space.densities import TruncatedNormal

lib: Any = pb  # a person in a hurry has no type checker
SPACE = Space(
    {
        "lr": Float(1e-4, 1e-2, log=True),
        "x": Float(0, 10),
        "n": Integer(0, 1000),
        "act": Categorical(["relu", "gelu", "elu", "tanh"]),
        "one": Categorical(["only"]),
        "k": Constant(3),
    }
)
CENTRE = Config(lr=1e-3, x=5.0, n=500, act="gelu", one="only", k=3)


class Bowl:
    """A benchmark with every kind of parameter that counts its evaluations."""

    space = SPACE
    fidelity = Fidelity("epochs", 1, 27)

    def __init__(self, known: bool = True) -> None:
        self.known = known
        self.asked: list[tuple[float, float]] = []

    @property
    def optimum(self) -> tuple[Config, float] | None:
        return (CENTRE, 0.0) if self.known else None

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        loss: float = math.log10(config["lr"] / 1e-3) ** 2 + (config["x"] - 5) ** 2 / 25
        self.asked.append((loss, fidelity))
        return loss

    def evaluate_many(
        self, configs: Sequence[Mapping[str, Any]], fidelity: float
    ) -> NDArray[np.float64]:
        return np.array([self.evaluate(config, fidelity) for config in configs])


@pytest.fixture(scope="module")
def near() -> list[Config]:
    """The centres of near-optimum priors for many seeds."""
    return [prior_centre(Bowl(), "near-optimum", seed) for seed in range(3000)]


@pytest.mark.parametrize("name", ["lr", "x", "n"])
def test_near_the_optimum_numbers_move_by_a_quarter_of_their_range(
    near: list[Config], name: str
) -> None:
    column = list(SPACE.names).index(name)
    codes = SPACE.encode(near)[:, column]
    rim = 0.001  # an integer at the bound lies in the middle of its cell
    inside = codes[(codes > rim) & (codes < 1 - rim)]
    clipped = 2 * stats.norm.cdf(-2.0)
    assert 1 - len(inside) / len(codes) == pytest.approx(clipped, abs=0.02)
    theirs = stats.truncnorm(-2, 2, 0.5, 0.25)
    assert stats.kstest(inside, theirs.cdf).pvalue > 1e-4


def test_near_the_optimum_every_number_moves_on_its_own(near: list[Config]) -> None:
    codes = SPACE.encode(near)[:, :3]
    assert abs(np.corrcoef(codes.T) - np.eye(3)).max() < 0.09


def test_near_the_optimum_a_category_is_swapped_for_another_one_time_in_four(
    near: list[Config],
) -> None:
    counts = Counter(config["act"] for config in near)
    assert counts["gelu"] / 3000 == pytest.approx(0.75, abs=0.04)
    for other in ("relu", "elu", "tanh"):
        assert counts[other] / 3000 == pytest.approx(0.25 / 3, abs=0.026)


def test_near_the_optimum_constants_stay_the_same(near: list[Config]) -> None:
    assert {(config["one"], config["k"]) for config in near} == {("only", 3)}


def test_near_the_optimum_each_seed_has_its_own_prior_and_always_the_same() -> None:
    modes = [benchmark_prior(Hartmann(6), "near-optimum", seed).mode for seed in range(5)]
    again = [benchmark_prior(Hartmann(6), "near-optimum", seed).mode for seed in range(5)]
    assert modes == again
    assert len({tuple(mode.values()) for mode in modes}) == 5


def test_an_unknown_optimum_is_the_best_of_fifty_thousand_draws() -> None:
    bowl = Bowl(known=False)
    found = prior_centre(bowl, "near-optimum", seed=0)
    assert len(bowl.asked) == 50_000
    assert {fidelity for _, fidelity in bowl.asked} == {27}
    best = bowl.space.encode([found])[0][:2] - bowl.space.encode([CENTRE])[0][:2]
    known = prior_centre(Bowl(), "near-optimum", seed=0)
    shift = bowl.space.encode([known])[0][:2] - bowl.space.encode([CENTRE])[0][:2]
    assert min(loss for loss, _ in bowl.asked) < 1e-3
    assert best == pytest.approx(shift, abs=0.02)  # the same perturbation of nearly the optimum
    assert found != known


def test_a_good_prior_is_the_best_of_twenty_five_draws_for_all_seeds() -> None:
    bowl = Bowl()
    centre = prior_centre(bowl, "good", seed=0)
    assert len(bowl.asked) == 25
    assert {fidelity for _, fidelity in bowl.asked} == {27}
    assert bowl.evaluate(centre, 27) == min(loss for loss, _ in bowl.asked[:25])
    assert all(prior_centre(Bowl(), "good", seed) == centre for seed in range(1, 6))


def test_a_bad_prior_is_the_worst_of_fifty_thousand_draws_for_all_seeds() -> None:
    bowl = Bowl()
    centre = prior_centre(bowl, "bad", seed=0)
    assert len(bowl.asked) == 50_000
    assert bowl.evaluate(centre, 27) == max(loss for loss, _ in bowl.asked[:50_000])
    assert prior_centre(Bowl(), "bad", seed=1) == centre


@pytest.mark.parametrize(
    ("dimensions", "quality", "loss"),
    [
        *((3, "good", -2.551854489630721), (3, "bad", -8.026181522459758e-05)),
        *((6, "good", -1.3398344842753394), (6, "bad", -1.8014608648997715e-06)),
    ],
)
def test_the_hartmann_functions_have_the_published_centres(
    dimensions: int, quality: str, loss: float
) -> None:
    bench = Hartmann(dimensions)
    for seed in (0, 7):
        mode = benchmark_prior(bench, quality, seed).mode
        assert bench.evaluate(mode, 100) == pytest.approx(loss, rel=1e-12)


def test_the_better_a_prior_the_better_its_mode() -> None:
    bench = Hartmann(3)
    optimum = bench.optimum[1]
    near = [bench.evaluate(benchmark_prior(bench, "near-optimum", s).mode, 100) for s in range(200)]
    bad = bench.evaluate(benchmark_prior(bench, "bad").mode, 100)
    assert all(optimum <= loss <= 0 for loss in near)
    assert float(np.mean(near)) < bad - 0.5


@pytest.mark.parametrize("quality", ["near-optimum", "good", "bad"])
def test_a_benchmarks_prior_has_medium_confidence(quality: str) -> None:
    prior = benchmark_prior(Hartmann(3), quality, seed=4)
    [row] = Hartmann(3).space.encode([prior.mode])
    assert prior.densities == tuple(TruncatedNormal(code, 0.25) for code in row.tolist())


def test_a_benchmarks_space_may_have_choices_and_constants() -> None:
    prior = benchmark_prior(Bowl(), "good")
    assert prior.mode == prior_centre(Bowl(), "good")
    act = list(SPACE.names).index("act")
    assert max(np.exp(prior.densities[act].logpdf(np.arange(4.0)))) == pytest.approx(4 / 7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Hartmann(3), "god"), "Unknown prior quality 'god'. Did you mean 'good'? Known: bad,"),
        ((Hartmann(3), None), "Unknown prior quality None. Known: bad, good, near-optimum."),
        ((Hartmann(3), "near-optimum", 1.5), "`seed` must be a whole number"),
        ((3, "good"), "enchmark"),
    ],
)
def test_invalid_arguments_of_a_benchmarks_prior_are_refused(
    arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(SpaceError) as caught:
        lib.benchmarks.benchmark_prior(*arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize("dimensions", [4, "3", None, [3]])
def test_a_hartmann_function_of_other_dimensions_is_refused(dimensions: Any) -> None:
    with pytest.raises(SpaceError) as caught:
        lib.benchmarks.Hartmann(dimensions)
    assert f"`dimensions` must be 3 or 6, got {dimensions!r}." in str(caught.value)


@pytest.mark.parametrize(("dimensions", "loss"), [(3, -3.2898530323707105), (6, -1.98069391564061)])
def test_tv12_the_shipped_perturbation_of_hartmann_is_uniform(dimensions: int, loss: float) -> None:
    bench = Hartmann(dimensions)
    prior = benchmark_prior(bench, "near-optimum", 133077, legacy=True)
    assert bench.evaluate(prior.mode, 100) == pytest.approx(loss, rel=1e-13)


def test_tv17_the_shipped_perturbation_shifts_all_numbers_alike_and_keeps_categories() -> None:
    space = Space({"x": Float(0, 1), "c": Categorical(["a", "b"]), "y": Float(0, 2)})
    moved = perturbed_as_published(space, {"x": 0.5, "c": "b", "y": 1.0}, 133077)
    assert moved["c"] == "b"
    assert moved["x"] == pytest.approx(0.5 + 0.0214764472, abs=1e-10)
    assert moved["y"] == pytest.approx(1.0 + 2 * 0.0214764472, abs=1e-9)


def test_a_seed_always_gives_the_same_perturbation() -> None:
    space = Hartmann(3).space
    moved = perturbed(space, dict.fromkeys(space.names, 0.5), 1)
    assert list(moved.values()) == pytest.approx([0.35607788, 0.04138184, 0.56645632])


def test_a_draw_with_an_infinite_loss_is_never_the_worst() -> None:
    class Steep(Bowl):
        def evaluate_many(
            self, configs: Sequence[Mapping[str, Any]], fidelity: float
        ) -> NDArray[np.float64]:
            return np.array([math.inf if c["x"] > 9 else c["x"] for c in configs])

    assert 8 < searched_centres(Steep(), 100)["bad"]["x"] <= 9
