"""Beliefs: what a person writes after `prior=`, checked where it is written."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

import priorband as pb
from priorband import (
    Beta,
    Categorical,
    Constant,
    Fidelity,
    Float,
    Histogram,
    Integer,
    Mixture,
    Normal,
    Ordinal,
    Space,
    Uniform,
    Weights,
)
from priorband.errors import SpaceError
from priorband.space.densities import Array, BetaDensity, Blend, Choices, Flat, TruncatedNormal

lib: Any = pb  # a person in a hurry has no type checker


def density(parameter: Any) -> Any:
    """The density over a parameter's codes that its own prior gives."""
    [found] = Space({"p": parameter}).prior.densities
    return found


@pytest.mark.parametrize(
    ("confidence", "sigma", "weight"),
    [("low", 0.5, 2), ("medium", 0.25, 4), ("high", 0.125, 6)],
)
def test_words_of_confidence_are_widths_and_weights(
    confidence: str, sigma: float, weight: float
) -> None:
    expected = TruncatedNormal(0.3, sigma)
    assert density(Float(0, 1, prior=0.3, confidence=confidence)) == expected
    assert density(Float(0, 1, prior=Normal(0.3, sigma=confidence))) == expected
    for prior in ("b", Weights("b", confidence)):
        chosen = density(Categorical(["a", "b", "c"], prior=prior, confidence=confidence))
        assert chosen.probabilities == pytest.approx(
            (1 / (2 + weight), weight / (2 + weight), 1 / (2 + weight))
        )


def test_medium_is_the_confidence_without_a_word() -> None:
    assert density(Float(0, 1, prior=0.3)) == TruncatedNormal(0.3, 0.25)
    assert Normal(0.3) == Normal(0.3, sigma=0.25)
    assert density(Categorical([1, 2], prior=2)).probabilities == pytest.approx((0.2, 0.8))


def test_a_confidence_may_be_a_number() -> None:
    assert density(Float(0, 1, prior=0.3, confidence=0.07)).sigma == 0.07
    assert density(Categorical([1, 2], prior=1, confidence=9)).probabilities[0] == 0.9


def test_the_words_stand_in_the_documentation_with_their_numbers() -> None:
    from priorband.space import confidence

    for word in confidence.SIGMAS:
        row = f'| "{word}"'
        [line] = [x for x in str(confidence.__doc__).splitlines() if x.startswith(row)]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert [float(x) for x in cells[1:]] == [confidence.SIGMAS[word], confidence.WEIGHTS[word]]


def test_a_plain_value_is_a_normal_at_its_place_on_the_scale() -> None:
    assert density(Float(1e-4, 1e-2, log=True, prior=1e-3)).centre == pytest.approx(0.5)
    assert density(Integer(1, 4, prior=2)).centre == 0.375
    assert density(Ordinal(["s", "m", "l"], prior="m")).centre == 0.5


def test_a_normal_is_cut_to_the_range() -> None:
    cut = density(Float(10, 20, prior=Normal(10, sigma=0.5)))
    assert cut.draw(0.0) == 0.0
    assert np.exp(cut.logpdf(np.array([0.0])))[0] == pytest.approx(0.7978845608 / 0.4772498681)


def test_no_belief_is_flat() -> None:
    for prior in (None, Uniform()):
        assert density(Float(0, 1, prior=prior)) == Flat()
        assert density(Categorical([1, 2, 3], prior=prior)) == Choices((1 / 3,) * 3)


def test_a_beta_lies_over_the_scale_of_its_parameter() -> None:
    assert density(Float(1e-4, 1e-2, log=True, prior=Beta(2, 5))) == BetaDensity(2.0, 5.0)
    mode = Space({"p": Integer(0, 9, prior=Beta(3, 9))}).prior.mode["p"]
    assert mode == 2  # the peak is at 0.2, the third of ten cells


def test_a_histogram_has_equal_bins_over_the_scale() -> None:
    found = density(Float(1, 16, log=True, prior=Histogram((1, 3, 0, 4))))
    assert np.exp(found.logpdf(np.array([0.1, 0.3, 0.6, 0.9]))) == pytest.approx([0.5, 1.5, 0, 2.0])
    assert Space({"p": Float(1, 16, log=True, prior=Histogram((1, 3, 0, 4)))}).prior.mode[
        "p"
    ] == pytest.approx(16**0.875)


def test_weights_of_choices_need_not_sum_to_one_and_may_leave_some_out() -> None:
    for prior in ({"a": 1, "b": 3}, Weights({"b": Fraction(3), "a": np.float32(1)})):
        assert density(Categorical(["a", "b", "c"], prior=prior)).probabilities == (0.25, 0.75, 0)


def test_weights_on_an_ordinal_are_a_histogram_over_its_choices() -> None:
    for prior in ({2: 1, 8: 3}, Weights({2: 1, 8: 3})):
        found = density(Ordinal([2, 4, 8], prior=prior))
        assert np.exp(found.logpdf(np.array([1, 3, 5]) / 6)) == pytest.approx([0.75, 0, 2.25])
    assert Space({"p": Ordinal([2, 4, 8], prior={2: 1, 8: 3})}).prior.mode == {"p": 8}


def test_a_mixture_joins_beliefs_of_any_kind() -> None:
    found = density(Float(0, 1, prior=Mixture((Normal(0.2, 0.1), 0.8, None), (1, 2, 1))))
    assert found == Blend(
        (TruncatedNormal(0.2, 0.1), TruncatedNormal(0.8, 0.25), Flat()), (0.25, 0.5, 0.25)
    )
    x = np.array([0.3])
    parts = [float(np.exp(part.logpdf(x))[0]) for part in found.parts]
    assert np.exp(found.logpdf(x))[0] == pytest.approx(parts[0] / 4 + parts[1] / 2 + 0.25)


def test_a_mixture_on_a_category_adds_its_probabilities() -> None:
    mixture = Mixture(("a", {"b": 1}, Uniform()), weights=(2, 1, 1))
    found = density(Categorical(["a", "b", "c"], prior=mixture))
    assert found.probabilities == pytest.approx((1 / 3 + 1 / 12, 1 / 12 + 1 / 4 + 1 / 12, 1 / 6))


def test_beliefs_take_lists_as_well_as_tuples() -> None:
    assert lib.Histogram([1, 3]) == Histogram((0.25, 0.75)) == lib.Histogram(np.array([2, 6]))
    assert lib.Mixture([0.1, 0.9], weights=[1, 3]) == Mixture((0.1, 0.9), (0.25, 0.75))


def test_mixtures_nest_and_a_part_of_weight_zero_is_left_out() -> None:
    inner = Mixture((0.1, 0.9))
    nested = density(Float(0, 1, prior=Mixture((inner, Uniform(), 0.5), weights=(1, 1, 0))))
    total = np.exp(nested.logpdf(np.linspace(0, 1, 10_001))).mean()
    assert total == pytest.approx(1.0, abs=1e-3)
    assert len(nested.parts) == 2


class Thirds(NamedTuple):
    """A user's belief: three choices or thirds, of any weights, as a density of their own."""

    weights: tuple[float, float, float] = (0.2, 0.5, 0.3)

    def on(self, parameter: Any) -> "Thirds":
        return self

    @property
    def mode(self) -> float:
        return float(np.argmax(self.weights))

    def draw(self, u: float) -> float:
        return float(np.searchsorted(np.cumsum(self.weights)[:-1], u, side="right"))

    def logpdf(self, codes: Array) -> Array:
        return np.asarray(np.log(np.array(self.weights)[codes.astype(int)]))

    def around(self, centre: float) -> "Thirds":
        return self


def test_a_users_own_belief_is_taken_as_it_is() -> None:
    space = Space({"c": Categorical(list("abc"), prior=Thirds())})
    assert space.prior.mode == {"c": "b"}
    assert space.prior.logpdf(np.array([[2.0]]))[0] == pytest.approx(math.log(0.3))
    draws = [space.prior.sample(np.random.default_rng(i))[0] for i in range(2000)]
    assert np.bincount(np.array(draws, dtype=int)) / 2000 == pytest.approx(
        np.array([0.2, 0.5, 0.3]), abs=0.05
    )


def test_a_users_own_belief_may_be_part_of_a_mixture() -> None:
    found = density(Categorical(list("abc"), prior=Mixture(({"a": 1}, Thirds()))))
    probabilities = np.exp(found.logpdf(np.arange(3.0)))
    assert probabilities == pytest.approx(np.array([0.6, 0.25, 0.15]))


@pytest.mark.parametrize("confidence", [1, 1.5, 1000])
def test_the_choice_believed_best_is_the_mode_however_little_it_is_trusted(
    confidence: float,
) -> None:
    space = Space({"c": Categorical(["a", "b"], prior="b", confidence=confidence)})
    assert space.prior.mode == {"c": "b"}


@pytest.mark.parametrize("sigma", [1e12, 1e17, 1e300])
def test_a_normal_of_any_width_is_a_density_or_refused(sigma: float) -> None:
    try:
        found = density(Float(0, 1, prior=Normal(0.5, sigma)))
    except SpaceError as error:
        assert "sigma" in str(error)
    else:
        assert found.logpdf(np.array([0.0, 1.0])) == pytest.approx(np.zeros(2), abs=1e-3)


def test_weights_may_be_as_large_as_a_float_can_be() -> None:
    assert lib.Histogram([1e308, 1e308]).weights == (0.5, 0.5)
    assert density(Categorical([1, 2], prior={1: 1e308, 2: 1e308})).probabilities == (0.5, 0.5)


NUMBER = "`prior` must be a number in [0.0, 1.0], got "
REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: Float(0, 1, prior=2), NUMBER + "2."),
    (lambda: Float(0, 1, prior=Normal(-0.1)), NUMBER + "-0.1."),
    (lambda: Float(0, 1, prior=Mixture((0.5, 3))), NUMBER + "3."),
    (lambda: Float(0, 1, prior=math.nan), NUMBER + "nan."),
    (lambda: lib.Float(0, 1, prior="0.5"), NUMBER + "'0.5'."),
    (lambda: lib.Float(0, 1, prior=[0.1, 0.2]), NUMBER + "[0.1, 0.2]."),
    (lambda: Float(0, 1, prior=True), NUMBER + "True."),
    (lambda: Float(1e-4, 1e-1, log=True, prior=0), "in [0.0001, 0.1], got 0."),
    (lambda: Integer(1, 5, prior=2.5), "`prior` must be a whole number, got 2.5."),
    (lambda: Integer(1, 5, prior=0), "`prior` must be a whole number in [1, 5], got 0."),
    (lambda: Ordinal([2, 4], prior=3), "`prior` must be one of 2, 4, got 3."),
    (lambda: Categorical(["a", "b"], prior="c"), "`prior` must be one of 'a', 'b', got 'c'."),
    (lambda: lib.Categorical(["a", "b"], prior=["a"]), "must be one of 'a', 'b', got ['a']."),
    (lambda: Categorical(["a", "b"], prior={"z": 1}), "must be one of 'a', 'b', got 'z'."),
    (lambda: Categorical(["a", "b"], prior={"a": -1}), "numbers of at least 0, got -1."),
    (
        lambda: lib.Categorical(["a", "b"], prior={"a": "high"}),
        "numbers of at least 0, got 'high'.",
    ),
    (lambda: Categorical(["a", "b"], prior={}), "Weights must have a positive sum, got"),
    (lambda: Categorical(["a"], prior=Normal("a")), "Normal(centre='a', sigma=0.25) needs values"),
    (lambda: Categorical(["a"], prior=Beta(2, 2)), "name the choice you expect to be best, or"),
    (lambda: Categorical(["a"], prior=Histogram((1,))), "needs values with an order"),
    (lambda: lib.Float(0, 1, prior={0.5: 1}), "Weights need choices, got Float("),
    (lambda: Float(0, 1, prior=Weights("a")), "Use Normal or Histogram."),
    (lambda: Categorical(["a", "b"], prior="a", confidence="hi"), "Did you mean 'high'?"),
    (
        lambda: Float(0, 1, prior=0.5, confidence="hgh"),
        "`confidence` must be 'low', 'medium', 'high' or a positive number, got 'hgh'. Did you ",
    ),
    (lambda: Float(0, 1, prior=0.5, confidence=-1), "`confidence` must be a positive number"),
    (lambda: Float(0, 1, confidence="hgh"), "positive number, got 'hgh'. Did you mean 'high'?"),
    (
        lambda: Float(0, 1, confidence="high"),
        "`confidence` says how sure you are of a `prior`, and there is none, got "
        "confidence='high'. Give the value that you expect to be best as `prior`, or leave "
        "`confidence` out.",
    ),
    (lambda: Categorical(["a", "b"], confidence=3), "and there is none, got confidence=3."),
    (lambda: Categorical(["a", "b"], prior="a", confidence=0.5), "at least 1, got 0.5"),
    (lambda: Normal(0.5, sigma="hgh"), "`sigma` must be 'low', 'medium', 'high' or a"),
    (lambda: Normal(0.5, sigma=0), "`sigma` must be a positive number, got 0."),
    (lambda: Normal(0.5, sigma=math.inf), "`sigma` must be a positive number, got inf."),
    (lambda: lib.Normal(0.5, sigma=None), "`sigma` must be a positive number, got None."),
    (lambda: Beta(0.5, 2), "`a` must be at least 1, got 0.5: below 1, the density has no single"),
    (lambda: Beta(2, -1), "`b` must be a positive number, got -1."),
    (lambda: lib.Beta("high", 2), "`a` must be a positive number, got 'high'."),
    (lambda: lib.Histogram([1, -1]), "weights must be numbers of at least 0, got -1."),
    (lambda: lib.Histogram([0, 0]), "A histogram's weights must have a positive sum, got [0, 0]."),
    (lambda: lib.Histogram([]), "at least one"),
    (lambda: lib.Histogram(3), "got 3"),
    (lambda: lib.Mixture([]), "at least one"),
    (lambda: lib.Mixture(Normal(0.5)), "got Normal("),
    (lambda: lib.Mixture([0.5], weights=1), "got 1"),
    (
        lambda: lib.Mixture([0.5, 0.6], weights=[1]),
        "one weight for each belief, got 2 beliefs and 1",
    ),
    (lambda: lib.Float(0, 1, prior=Normal), "Normal"),
    (
        lambda: Constant(3, prior=3),
        "A constant takes no prior: its value is always 3, got prior=3.",
    ),
    (lambda: Fidelity("epochs", 1, 9, prior=3), "the schedule sets `epochs`, it is not searched."),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[text for _, text in REFUSED])
def test_a_prior_that_does_not_fit_is_refused_where_it_is_made(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(SpaceError) as caught:
        make()
    assert message in str(caught.value)
