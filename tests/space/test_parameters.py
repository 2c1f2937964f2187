"""Parameters: values map to the unit interval and back, every value with its share."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import priorband as pb
from priorband import Categorical, Constant, Float, Integer, Ordinal
from priorband.errors import ConfigError, SpaceError

lib: Any = pb  # a person in a hurry has no type checker
exact = settings(max_examples=examples(150))
unit = st.floats(0.0, 1.0)
finite = st.floats(-1e9, 1e9)


@st.composite
def floats(draw: st.DrawFn) -> Float:
    low, high = draw(finite), draw(finite)
    log = draw(st.booleans())
    if log:
        low, high = 10.0 ** (low / 1e8), 10.0 ** (high / 1e8)
    assume(low < high and (high - low) / max(abs(low), abs(high)) > 1e-6)
    return Float(low, high, log=log)


@st.composite
def integers(draw: st.DrawFn) -> Integer:
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -(10**9), 10**9))
    return Integer(low, draw(st.integers(low + 1, low + 10**9)), log=log)


def first_above(decode: Callable[[float], Any], value: Any) -> float:
    """The position at which a parameter's values go beyond `value`, by bisection."""
    low, high = 0.0, 1.0
    while high - low > 1e-15:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if decode(middle) <= value else (low, middle)
    return high


@exact
@given(floats(), unit)
def test_a_float_is_encoded_and_decoded_without_loss(parameter: Float, code: float) -> None:
    value = parameter.decode(code)
    assert parameter.decode(parameter.encode(value)) == pytest.approx(value, rel=1e-12, abs=1e-6)
    assert parameter.encode(value) == pytest.approx(code, abs=1e-9)


@exact
@given(floats(), unit)
def test_a_float_never_leaves_its_bounds(parameter: Float, code: float) -> None:
    assert parameter.low <= parameter.decode(code) <= parameter.high
    assert 0.0 <= parameter.encode(parameter.decode(code)) <= 1.0


@exact
@given(floats())
def test_the_ends_of_a_float_are_exact(parameter: Float) -> None:
    assert (parameter.encode(parameter.low), parameter.encode(parameter.high)) == (0.0, 1.0)
    assert (parameter.decode(0.0), parameter.decode(1.0)) == (parameter.low, parameter.high)


@pytest.mark.parametrize(
    ("value", "position"),
    [(1e-4, 0.0), (1e-3, 0.3333333333), (3e-3, 0.4923737516), (2e-2, 0.7670099986), (1e-1, 1.0)],
)
def test_a_log_float_has_the_position_of_its_logarithm(value: float, position: float) -> None:
    assert Float(1e-4, 1e-1, log=True).encode(value) == pytest.approx(position, abs=1e-10)


def test_a_linear_float_has_the_position_of_its_share_of_the_range() -> None:
    assert Float(-1.0, 3.0).encode(0.0) == 0.25
    assert Float(-1.0, 3.0).decode(0.75) == 2.0


@exact
@given(integers(), st.data())
def test_an_integer_is_encoded_and_decoded_exactly(parameter: Integer, data: st.DataObject) -> None:
    value = data.draw(st.integers(parameter.low, parameter.high))
    back = parameter.decode(parameter.encode(value))
    assert (back, type(back)) == (value, int)


@exact
@given(integers(), unit)
def test_an_integer_never_leaves_its_bounds(parameter: Integer, code: float) -> None:
    assert parameter.low <= parameter.decode(code) <= parameter.high
    assert (parameter.decode(0.0), parameter.decode(1.0)) == (parameter.low, parameter.high)
    assert 0.0 < parameter.encode(parameter.low) < parameter.encode(parameter.high) < 1.0


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 3), (-2, 4), (16, 27), (0, 99)])
def test_every_integer_owns_an_equal_share_of_the_unit_interval(low: int, high: int) -> None:
    parameter, size = Integer(low, high), high - low + 1
    edges = [first_above(parameter.decode, value) for value in range(low, high)]
    assert edges == pytest.approx([i / size for i in range(1, size)], abs=1e-12)


def test_every_log_integer_owns_the_share_of_its_cell_on_the_log_scale() -> None:
    parameter = Integer(1, 12, log=True)
    edges = [first_above(parameter.decode, value) for value in range(1, 12)]
    span = math.log(12.5 / 0.5)
    assert edges == pytest.approx([math.log((i + 0.5) / 0.5) / span for i in range(1, 12)])


@pytest.mark.parametrize(("log", "middle"), [(False, 0.5 / 3), (True, math.log(2) / math.log(7))])
def test_an_integer_lies_at_its_own_place_within_its_cell(log: bool, middle: float) -> None:
    assert Integer(1, 3, log=log).encode(1) == pytest.approx(middle, abs=1e-15)


def test_an_integer_range_beyond_the_precision_of_floats_is_refused_or_complete() -> None:
    low = 2**60
    try:
        parameter = Integer(low, low + 5)
    except SpaceError as error:
        assert "got" in str(error)
    else:
        reached = {parameter.decode((i + 0.5) / 6) for i in range(6)}
        assert reached == set(range(low, low + 6))
        assert parameter.decode(parameter.encode(low + 3)) == low + 3


def test_a_log_range_too_narrow_for_its_logarithm_is_refused_or_works() -> None:
    low = 1e300
    try:
        parameter = Float(low, math.nextafter(low, math.inf), log=True)
    except SpaceError as error:
        assert "got" in str(error) or "from" in str(error)
    else:
        assert 0.0 <= parameter.encode(low) <= 1.0


@pytest.mark.parametrize("choices", [[2, 4, 8, 16], ["s", "m", "l"], [None, (1, 2)], range(7)])
def test_every_choice_of_an_ordinal_owns_an_equal_share(choices: Any) -> None:
    parameter, size = Ordinal(choices), len(choices)
    edges = [
        first_above(lambda code: parameter.choices.index(parameter.decode(code)), i)
        for i in range(size - 1)
    ]
    assert edges == pytest.approx([i / size for i in range(1, size)], abs=1e-12)
    assert [parameter.decode(parameter.encode(choice)) for choice in choices] == list(choices)
    assert parameter.encode(choices[0]) == pytest.approx(0.5 / size)


def test_the_ends_of_an_ordinal_are_its_first_and_last_choice() -> None:
    parameter = Ordinal(["s", "m", "l"])
    assert [parameter.decode(code) for code in (0.0, math.nextafter(1, 0), 1.0)] == ["s", "l", "l"]


def test_a_category_is_its_index() -> None:
    parameter = Categorical(["sgd", None, (1, 2), 3.5, False])
    assert [parameter.encode(choice) for choice in parameter.choices] == [0, 1, 2, 3, 4]
    assert [parameter.decode(float(i)) for i in range(5)] == ["sgd", None, (1, 2), 3.5, False]
    assert (parameter.size, Ordinal([1, 2]).size) == (5, None)


def test_a_category_may_have_one_choice_only() -> None:
    assert Categorical(["only"], prior="only").decode(0.0) == "only"


@pytest.mark.parametrize("kind", [Categorical, Ordinal])
def test_choices_may_come_from_a_generator(kind: Callable[[Any], Any]) -> None:
    assert kind(name for name in ("b", "a", "c")).choices == ("b", "a", "c")


@pytest.mark.parametrize("kind", [Categorical, Ordinal])
@pytest.mark.parametrize("unordered", [{"a", "b"}, frozenset("ab")])
def test_a_set_of_choices_is_refused_because_its_order_changes_between_processes(
    kind: Callable[[Any], Any], unordered: Any
) -> None:
    with pytest.raises(SpaceError, match="list"):
        kind(unordered)


@pytest.mark.parametrize("kind", [Categorical, Ordinal])
@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (["a", "b", "a"], "`choices` must differ, got 'a' and 'a'. Drop one of them."),
        ([1, True], "`choices` must differ, got 1 and True. Drop one of them."),
        ([1.0, math.nan], "`choices` must be equal to themselves, got nan."),
        ([], "`choices` is empty. Give at least one value."),
        (
            "adam",
            "`choices` must be a list of values, got the single text 'adam'. Put all choices in a "
            "list: ['adam', ...].",
        ),
        (None, "`choices` must be an ordered list of values, such as ['sgd', 'adam'], got None."),
        (3, "`choices` must be an ordered list of values, such as ['sgd', 'adam'], got 3."),
        ([[1], [2]], "`choices` must be hashable values, got [1]. Use a tuple or a name for it."),
    ],
)
def test_choices_that_cannot_be_told_apart_or_counted_are_refused(
    kind: Callable[[Any], Any], choices: Any, message: str
) -> None:
    with pytest.raises(SpaceError) as caught:
        kind(choices)
    assert str(caught.value) == message


def test_an_ordinal_of_one_choice_is_refused() -> None:
    with pytest.raises(SpaceError, match=r"must be at least two, got \['a'\].*use Constant"):
        Ordinal(["a"])


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        (Float(0, 1), 1.5, "must be a number in [0.0, 1.0], got 1.5"),
        (Float(0, 1), "0.5", "must be a number in [0.0, 1.0], got '0.5'"),
        (Float(0, 1), True, "must be a number in [0.0, 1.0], got True"),
        (Float(0, 1), math.nan, "must be a number in [0.0, 1.0], got nan"),
        (Float(0, 1), None, "must be a number in [0.0, 1.0], got None"),
        (Float(0, 1), 0.5 + 0j, "must be a number in [0.0, 1.0], got (0.5+0j)"),
        (Float(0, 1), np.array([0.5]), "must be a number in [0.0, 1.0], got array([0.5])"),
        (Integer(1, 5), 6, "must be a whole number in [1, 5], got 6"),
        (Integer(1, 5), 2.5, "must be a whole number, got 2.5"),
        (Integer(1, 5), False, "must be a whole number in [1, 5], got False"),
        (Integer(1, 5), "2", "must be a whole number in [1, 5], got '2'"),
        (Ordinal([2, 4]), 3, "must be one of 2, 4, got 3"),
        (Categorical(["a", "b"]), "c", "must be one of 'a', 'b', got 'c'"),
        (Categorical(["a", "b"]), ["a"], "must be one of 'a', 'b', got ['a']"),
    ],
)
def test_a_value_outside_a_parameter_is_refused(parameter: Any, value: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parameter.encode(value)
    assert str(caught.value) == message


@pytest.mark.parametrize("parameter", [Float(0, 1), Integer(1, 5), Integer(1, 5, log=True)])
def test_an_integer_too_large_for_a_float_is_outside(parameter: Any) -> None:
    with pytest.raises(ConfigError, match="must be"):
        parameter.encode(10**400)


def test_numbers_of_numpy_are_numbers() -> None:
    assert lib.Float(np.float32(0.5), np.int64(2)) == Float(0.5, 2.0)
    assert lib.Integer(np.int8(1), np.uint64(9)) == Integer(1, 9)
    bounds = lib.Integer(np.int8(1), np.int8(9)).high, lib.Float(np.float32(0), np.int64(1)).high
    assert [type(bound) for bound in bounds] == [int, float]
    assert Float(0, 1).encode(np.float64(0.25)) == 0.25
    assert Integer(1, 5).encode(np.int16(3)) == 0.5


def test_whole_floats_are_integers() -> None:
    assert lib.Integer(1.0, 3.0) == Integer(1, 3)


def test_parameters_are_values() -> None:
    assert Float(0, 1, prior=0.5) == Float(0, 1, prior=0.5) != Float(0, 1, prior=0.4)
    assert Categorical(["a", "b"]) == Categorical(("a", "b")) != Categorical(["b", "a"])
    assert eval(repr(Integer(1, 9, log=True, prior=3))) == Integer(1, 9, log=True, prior=3)
    assert Constant(10).value == 10
