"""Parameters with a step: a grid of values, each with its fair share and without rounding noise."""

from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import priorband as pb
from priorband import Float, Integer, Space
from priorband.errors import ConfigError, SpaceError

lib: Any = pb  # a person in a hurry has no type checker
exact = settings(max_examples=examples(100))


def test_values_are_those_that_a_person_would_write() -> None:
    tenths = Float(0, 1, step=0.1)
    values = [tenths.decode((k + 0.5) / 11) for k in range(11)]
    assert values == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert Float(-0.3, 0.3, step=0.15).decode(0.5) == 0.0
    assert [Float(1e-5, 5e-5, step=1e-5).decode(c) for c in (0.0, 0.5, 1.0)] == [1e-5, 3e-5, 5e-5]
    batches = Integer(16, 64, step=16)
    assert [batches.decode(c) for c in (0.0, 0.3, 0.6, 1.0)] == [16, 32, 48, 64]
    assert [type(batches.decode(0.3)), type(batches.high)] == [int, int]


@exact
@given(
    st.integers(-50, 50).map(lambda n: n / 20),
    st.integers(1, 40).map(lambda n: n / 100),
    st.integers(1, 200),
    st.floats(0, 1),
)
def test_a_decoded_value_is_on_the_grid_and_encodes_into_its_cell(
    low: float, step: float, steps: int, code: float
) -> None:
    parameter = Float(low, round(low + steps * step, 10), step=step)
    value = parameter.decode(code)
    assert parameter.check(value) == value
    assert parameter.decode(parameter.encode(value)) == value
    assert abs(parameter.encode(value) - code) <= 0.5 / (steps + 1) + 1e-12
    assert len(repr(abs(value))) <= 6  # at most two digits and three after the point
    assert parameter.centred(np.array([code]))[0] == pytest.approx(parameter.encode(value))


@exact
@given(st.integers(-50, 50), st.integers(1, 40), st.integers(1, 200), st.floats(0, 1))
def test_an_integer_with_a_step_is_on_the_grid_too(
    low: int, step: int, steps: int, code: float
) -> None:
    parameter = Integer(low, low + steps * step, step=step)
    value = parameter.decode(code)
    assert (value - low) % step == 0 and low <= value <= parameter.high
    assert parameter.decode(parameter.encode(value)) == value
    assert parameter.centred(np.array([code]))[0] == pytest.approx(parameter.encode(value))


def test_each_value_has_its_fair_share_of_uniform_draws() -> None:
    space = Space({"x": Float(0, 1, step=0.25), "n": Integer(2, 8, step=3)})
    rows = space.uniform(20_000, np.random.default_rng(0))
    configs = [space.decode(row) for row in rows]
    for name, values in {"x": (0.0, 0.25, 0.5, 0.75, 1.0), "n": (2, 5, 8)}.items():
        share = [np.mean([c[name] == value for c in configs]) for value in values]
        assert sum(share) == pytest.approx(1)
        assert share == pytest.approx([1 / len(values)] * len(values), abs=0.015)


def test_a_prior_is_a_value_of_the_grid() -> None:
    space = Space({"x": Float(0, 1, step=0.1, prior=0.3), "n": Integer(16, 64, step=16, prior=32)})
    assert space.prior.mode == {"x": 0.3, "n": 32}
    rng = np.random.default_rng(0)
    draws = [space.decode(space.prior.sample(rng)) for _ in range(200)]
    assert all(space.check(draw) == draw for draw in draws)
    with pytest.raises(SpaceError, match="`prior` must be one of 0.0, 0.1, ..., 1.0"):
        Float(0, 1, step=0.1, prior=0.25)


def test_a_value_off_the_grid_is_refused_and_rounding_noise_is_not() -> None:
    tenths, space = Float(0, 1, step=0.1), Space({"x": Float(0, 1, step=0.1)})
    assert tenths.check(0.1 + 0.2) == 0.3
    assert space.check({"x": np.float64(0.1) * 3}) == {"x": 0.3}
    for value in (0.25, 0.3 + 1e-7, -0.1, 1.1, True, "0.3", None, float("nan")):
        with pytest.raises(ConfigError) as caught:
            space.check({"x": value})
        message = f"`x` must be one of 0.0, 0.1, ..., 1.0 (step 0.1), got {value!r}."
        assert str(caught.value) == message
    with pytest.raises(ConfigError, match=r"must be one of 16, 32, ..., 64 \(step 16\), got 17"):
        Integer(16, 64, step=16).check(17)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Float(0, 1, step=0.3),
            "`high` must be `low` plus a multiple of `step`, got low=0.0, high=1.0 and step=0.3. "
            "Use high=0.9 or 1.2.",
        ),
        (
            lambda: Integer(1, 4, step=5),
            "`high` must be `low` plus a multiple of `step`, got low=1, high=4 and step=5. "
            "Use high=6.",
        ),
        (lambda: Float(0, 1, step=0), "`step` must be a positive number, got 0."),
        (lambda: lib.Float(0, 1, step="a"), "`step` must be a positive number, got 'a'."),
        (lambda: lib.Integer(0, 4, step=True), "`step` must be a positive number, got True."),
        (
            lambda: lib.Integer(0, 4, step=0.5),
            "`step` must be a whole number for an Integer, got 0.5.",
        ),
        (
            lambda: Integer(1, 9, log=True, step=2),
            "`step` and `log=True` do not go together: steps are equally spaced. Drop one, or "
            "list the values in an Ordinal.",
        ),
        (lambda: Float(0, 1, step=1e-300), "`step` is too small for the range, got 1e-300."),
    ],
)
def test_a_step_that_does_not_fit_is_refused_with_what_does(make: Any, message: str) -> None:
    with pytest.raises(SpaceError) as caught:
        make()
    assert str(caught.value) == message


def test_parameters_with_a_step_are_values_and_others_print_as_before() -> None:
    tenths = Float(0, 1, step=0.1)
    assert eval(repr(tenths)) == tenths != Float(0, 1)
    assert "step" not in repr(Float(0, 1)) + repr(Integer(1, 5))
    assert Integer(1, 5, step=1) == Integer(1, 5)
    assert Float(0, 0.1 + 0.2, step=0.1).high == 0.3
