"""The prior: beliefs about some or all parameters, joined into one density over the space."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from scipy import stats

import priorband as pb
from priorband import (
    Beta,
    Categorical,
    Config,
    Constant,
    Fidelity,
    Float,
    Histogram,
    Integer,
    Mixture,
    Normal,
    Ordinal,
    Space,
    Study,
    Uniform,
)
from priorband.errors import SpaceError
from priorband.space.densities import Array, Choices, Flat, TruncatedNormal

lib: Any = pb  # a person in a hurry has no type checker


def partly() -> Space:
    """Beliefs about some parameters only, with choices in between."""
    return Space(
        {
            "lr": Float(1e-5, 1e-1, log=True, prior=1e-3),
            "act": Categorical(["relu", "gelu", "elu"]),
            "dropout": Float(0.0, 0.9),
            "optimizer": Categorical(["sgd", "adam"], prior="adam", confidence="high"),
            "classes": Constant(10),
            "layers": Integer(1, 8),
            "width": Integer(8, 512, log=True, prior=Normal(64, sigma=0.1)),
            "batch": Ordinal([16, 32, 64], prior=Histogram((1, 2, 1))),
            "decay": Float(0, 1, prior=Mixture((Beta(2, 8), Uniform()))),
        }
    )


def test_the_joint_log_density_is_the_sum_over_the_parameters() -> None:
    space = partly()
    rows = space.uniform(50, np.random.default_rng(0))
    parts = [d.logpdf(rows[:, i]) for i, d in enumerate(space.prior.densities)]
    assert space.prior.logpdf(rows) == pytest.approx(sum(parts), rel=1e-12)
    assert space.prior.logpdf(rows).shape == (50,)
    moved = space.prior.around(space.decode(rows[0]))
    parts = [d.logpdf(rows[:, i]) for i, d in enumerate(moved.densities)]
    assert moved.logpdf(rows) == pytest.approx(sum(parts), rel=1e-12)


def test_the_densities_of_a_mixed_space_are_those_computed_by_hand() -> None:
    space = Space(
        {
            "x": Float(1e-4, 1e-1, log=True, prior=1e-2),
            "c": Categorical(["adam", "sgd", "rms"], prior="adam"),
        }
    )
    top = [{"x": 1e-3, "c": "sgd"}, {"x": 3e-3, "c": "sgd"}, {"x": 2e-2, "c": "adam"}]
    rows = space.encode(top)
    assert np.exp(space.prior.logpdf(rows)) == pytest.approx(
        [0.1208232885, 0.2304868427, 1.0845951127], abs=1e-9
    )
    assert np.exp(space.prior.around(top[0]).logpdf(rows)) == pytest.approx(
        [1.1755745694, 0.9602190785, 0.0652753412], abs=1e-9
    )


def test_a_parameter_without_a_belief_is_flat_and_moves_with_medium_confidence() -> None:
    prior = partly().prior
    assert prior.densities[1] == Choices((1 / 3,) * 3)
    assert prior.densities[2] == prior.densities[4] == Flat()
    moved = prior.around({**prior.mode, "act": "elu", "dropout": 0.9, "layers": 8})
    assert moved.densities[1].logpdf(np.array([2.0]))[0] == pytest.approx(math.log(4 / 6))
    assert moved.densities[2] == TruncatedNormal(1.0, 0.25)
    assert moved.densities[4] == TruncatedNormal(7.5 / 8, 0.25)


def test_a_moved_prior_keeps_every_width_and_has_its_mode_where_it_was_moved() -> None:
    space = partly()
    target = space.decode(space.uniform(1, np.random.default_rng(1))[0])
    moved = space.prior.around(target)
    assert moved.mode == target
    assert moved.densities[0] == TruncatedNormal(space.encode([target])[0, 0], 0.25)
    assert moved.densities[5] == TruncatedNormal(space.encode([target])[0, 5], 0.1)
    assert max(np.exp(moved.densities[3].logpdf(np.arange(2.0)))) == pytest.approx(6 / 7)


def test_a_prior_without_any_belief_gives_all_configurations_the_same_density() -> None:
    space = Space({"x": Float(0, 1), "c": Categorical(["a", "b", "c", "d"]), "n": Integer(1, 3)})
    rows = space.uniform(20, np.random.default_rng(0))
    assert space.prior.logpdf(rows) == pytest.approx(np.full(20, -math.log(4)))


@pytest.mark.parametrize("value", [1e-3, 3e-4, 1e-5, 1e-1, 0.0123456789])
def test_the_mode_is_exactly_the_value_stated(value: float) -> None:
    for prior in (value, Normal(value), Normal(value, sigma="high")):
        space = Space({"lr": Float(1e-5, 1e-1, log=True, prior=prior)})
        assert space.prior.mode == {"lr": value}
    assert pb.prior(Space({"lr": Float(1e-5, 1e-1, log=True)}), {"lr": value}).mode["lr"] == value


def test_the_mode_of_a_mixture_is_exactly_a_value_stated() -> None:
    mixture = Mixture((Normal(1e-3, "high"), Normal(3e-2)), weights=(3, 1))
    assert Space({"lr": Float(1e-5, 1e-1, log=True, prior=mixture)}).prior.mode == {"lr": 1e-3}


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float32(3)])
def test_the_mode_of_an_integer_is_an_int_however_it_was_stated(value: Any) -> None:
    for prior in (value, Normal(value)):
        mode = Space({"n": Integer(1, 9, prior=prior)}).prior.mode["n"]
        assert (mode, type(mode)) == (3, int)


def test_the_mode_has_the_constants_and_the_middle_of_what_is_unknown() -> None:
    assert partly().prior.mode == {
        **{"lr": 1e-3, "act": "relu", "dropout": 0.45, "optimizer": "adam", "classes": 10},
        **{"layers": 5, "width": 64, "batch": 32, "decay": pytest.approx(0.125)},
    }


def test_draws_follow_every_parameters_own_density() -> None:
    space, rng = partly(), np.random.default_rng(0)
    rows = np.array([space.prior.sample(rng) for _ in range(2500)])
    assert ((rows >= 0) & (rows <= 1) | (rows == 2)).all()
    normal = stats.truncnorm(-0.5 / 0.25, 0.5 / 0.25, 0.5, 0.25)
    assert stats.kstest(rows[:, 0], normal.cdf).pvalue > 1e-4
    assert stats.kstest(rows[:, 2], "uniform").pvalue > 1e-4
    assert (rows[:, 1] == 2).mean() == pytest.approx(1 / 3, abs=0.04)
    assert (rows[:, 3] == 1).mean() == pytest.approx(6 / 7, abs=0.03)
    assert abs(np.corrcoef(rows.T) - np.eye(8)).max() < 0.1


settle = settings(max_examples=examples(50))


@settle
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12), st.integers(0, 11))
def test_a_prior_from_samples_is_a_density_that_covers_them(xs: list[float], pick: int) -> None:
    space = Space({"x": Float(0, 1), "c": Categorical(["a", "b"])})
    names = ["a" if i <= pick else "b" for i in range(len(xs))]
    configs = [{"x": x, "c": c} for x, c in zip(xs, names, strict=True)]
    prior = pb.from_samples(space, configs)
    [x_density, c_density] = prior.densities
    grid = (np.arange(20_000) + 0.5) / 20_000
    assert np.exp(x_density.logpdf(grid)).mean() == pytest.approx(1.0, abs=1e-6)
    assert np.isfinite(prior.logpdf(space.encode(configs))).all()
    share = (1 + names.count("a")) / (2 + len(names))
    assert np.exp(c_density.logpdf(np.array([0.0])))[0] == pytest.approx(share)


def test_a_prior_from_samples_has_its_mode_where_most_of_them_are() -> None:
    space = Space({"n": Integer(1, 100), "c": Categorical(["w", "x", "y"])})
    good = [{"n": n, "c": c} for n, c in zip([20, 21, 22, 90], ["x", "x", "y", "x"], strict=True)]
    mode = pb.from_samples(space, iter(good)).mode
    assert (mode["n"], mode["c"]) == (21, "x")


def test_a_prior_from_samples_does_not_collapse_on_equal_ones() -> None:
    space = Space({"x": Float(0, 1)})
    [density] = pb.from_samples(space, [{"x": 0.5}] * 20).densities
    assert np.exp(density.logpdf(np.array([0.5])))[0] == pytest.approx(1 / (0.05 * 2.5066283))


def test_a_prior_needs_samples() -> None:
    with pytest.raises(SpaceError, match="needs at least one configuration, got none"):
        pb.from_samples(Space({"x": Float(0, 1)}), [])


def test_beliefs_may_be_given_apart_from_the_space() -> None:
    space = Space({"x": Float(0, 1, prior=0.1), "y": Float(0, 1), "k": Constant(1)})
    study = Study(space, method="random+prior", prior={"y": Normal(0.7, "high")})
    assert study.ask().config == {"x": 0.5, "y": 0.7, "k": 1}
    assert study.prior == pb.prior(space, {"y": Normal(0.7, "high")})
    assert Study(space, method="random+prior").ask().config == {"x": 0.1, "y": 0.5, "k": 1}
    assert pb.prior(space, {"x": 0.3}, confidence="low").densities[0] == TruncatedNormal(0.3, 0.5)


@pytest.mark.parametrize(
    ("beliefs", "message"),
    [
        ({"z": 1}, "`prior` names an unknown parameter `z`. Known: act, batch, decay"),
        ({"layer": 2}, "names an unknown parameter `layer`. Did you mean 'layers'?"),
        ({"classes": 10}, "`classes` is a constant and takes no prior. Drop it"),
        ({"lr": 5}, "Parameter `lr`: `prior` must be a number in [1e-05, 0.1], got 5."),
        ({"epochs": 3}, "`epochs` is the fidelity and takes no prior. Drop it."),
        (0.5, "got 0.5. Write prior={'lr': 0.5}."),
        ([0.5], "or a Prior, got [0.5]. Write prior={'lr': ...}."),
        (Normal(0.5), "or a Prior, got Normal(centre=0.5, sigma=0.25)."),
        (Space({"q": Float(0, 1)}).prior, "prior"),
    ],
)
def test_beliefs_that_do_not_fit_the_space_are_refused(beliefs: Any, message: str) -> None:
    with pytest.raises(pb.PriorbandError) as caught:
        Study(partly(), Fidelity("epochs", 1, 9), prior=beliefs)
    assert message in str(caught.value)


@pytest.mark.parametrize(("space", "beliefs"), [(None, {}), ({"x": 1}, {}), (partly(), None)])
def test_a_prior_of_something_else_says_what_it_needs(space: Any, beliefs: Any) -> None:
    with pytest.raises(SpaceError, match="space|beliefs"):
        lib.prior(space, beliefs)


def test_a_parameter_named_fidelity_takes_a_prior_where_there_is_no_fidelity() -> None:
    space = Space({"fidelity": Float(0, 1)})
    study = Study(space, method="random+prior", prior={"fidelity": 0.3})
    assert study.ask().config == {"fidelity": 0.3}


@dataclass(frozen=True)
class Box:
    """A user's prior of dependent parameters: uniform in a square around a centre."""

    space: Space
    x: float = 0.3
    y: float = 0.6

    @property
    def mode(self) -> Config:
        return Config(x=self.x, y=self.y)

    def sample(self, rng: Generator) -> Array:
        return np.clip(np.array([self.x, self.y]) + 0.1 * (rng.random(2) * 2 - 1), 0, 1)

    def logpdf(self, rows: Array) -> Array:
        inside = (abs(rows - [self.x, self.y]) <= 0.1).all(axis=1)
        return np.where(inside, math.log(25.0), -math.inf)

    def around(self, config: Mapping[str, Any]) -> "Box":
        return Box(self.space, config["x"], config["y"])


def test_a_users_own_prior_drives_a_whole_study() -> None:
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    study = Study(space, Fidelity("epochs", 1, 9), "priorband", seed=3, prior=Box(space))
    for _ in range(80):
        trial = study.ask()
        study.tell(trial, (trial.config["x"] - 0.35) ** 2 + (trial.config["y"] - 0.6) ** 2)
    trials = study.state.history.trials
    assert trials[0].config == {"x": 0.3, "y": 0.6}
    drawn = [t.config for t in trials if t.origin == "prior"]
    assert drawn and all(abs(c["x"] - 0.3) <= 0.1 and abs(c["y"] - 0.6) <= 0.1 for c in drawn)
    assert {t.origin for t in trials} == {"mode", "uniform", "prior", "incumbent"}
    assert study.replay().exact


UNIT = Space({"x": Float(0, 1, prior=0.3)})


@pytest.mark.parametrize("dimensions", [7, 9, 14, 40])
def test_a_density_rounds_alike_alone_and_in_a_batch(dimensions: int) -> None:
    space = Space({f"x{i}": Float(0, 1, prior=0.3) for i in range(dimensions)})
    rows = space.uniform(200, np.random.default_rng(0))
    alone = [float(space.prior.logpdf(rows[i : i + 1])[0]) for i in range(200)]
    assert space.prior.logpdf(rows).tolist() == alone


def test_a_whole_priors_confidence_is_a_word() -> None:
    with pytest.raises(SpaceError, match="must be a word, got 4: a number is a width for some"):
        lib.prior(UNIT, {"x": 0.3}, confidence=4)


def test_the_one_value_that_a_mixture_names_need_not_be_its_mode() -> None:
    stated = Mixture([0.2, Beta(60, 3)], weights=[1, 9])
    mode = Space({"x": Float(0, 1, prior=stated)}).prior.mode
    assert mode["x"] == pytest.approx(59 / 61)
