"""Conditions as they are stated: what they mean, and which are refused."""

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import priorband as pb
from priorband import Categorical, Constant, Float, Integer, Ordinal, Space
from priorband.errors import SpaceError
from priorband.space.activation import when_from_data, when_to_data
from priorband.space.when import When, when_text

from .conditional_spaces import SPACES, flat, small

X = Float(0, 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"x": Float(0, 1, when={"x": pb.at_least(0.5)})},
            "Parameter `x` has a condition on itself. Drop it.",
        ),
        (
            {"optimizer": Categorical(["ab"]), "x": Float(0, 1, when={"optimiser": "ab"})},
            "Parameter `x` has a condition on an unknown parameter `optimiser`. A condition must "
            "name another parameter of the space; the fidelity is not one. Did you mean "
            "'optimizer'? Known: optimizer.",
        ),
        (
            {
                "a": Float(0, 1, when={"b": pb.at_least(0.5)}),
                "x": X,
                "b": Float(0, 1, when={"c": pb.at_least(0.5)}),
                "c": Float(0, 1, when={"a": pb.at_least(0.5)}),
            },
            "Conditions must not form a cycle: `a` depends on `b`, `b` depends on `c`, `c` depends "
            "on `a`. Drop one of these conditions.",
        ),
        (
            {"a": Categorical(["x", "y"]), "b": Float(0, 1, when={"a": "z"})},
            "Parameter `b` can never be active: its condition on `a` must be one of 'x', 'y', got "
            "'z'.",
        ),
        (
            {"a": Categorical(["x", "y"]), "b": Float(0, 1, when={"a": ["x", "z"]})},
            "Parameter `b` can never be active: its condition on `a` must be one of 'x', 'y', got "
            "'z'.",
        ),
        (
            {"a": Categorical(["x", "y"]), "b": Float(0, 1, when={"a": pb.at_least("x")})},
            "Parameter `b` can never be active: its condition on `a` must be a value or a list of "
            "values, as its choices have no order, got at_least('x').",
        ),
        (
            {"a": Integer(1, 5), "b": Float(0, 1, when={"a": 6})},
            "Parameter `b` can never be active: its condition on `a` must be a whole number in "
            "[1, 5], got 6.",
        ),
        (
            {"a": Integer(1, 5), "b": Float(0, 1, when={"a": pb.at_least(6)})},
            "Parameter `b` can never be active: no value of `a` fulfils a >= 6. `a` is "
            "Integer(low=1, high=5, log=False, prior=None, confidence='medium').",
        ),
        (
            {"a": Integer(1, 5), "b": Float(0, 1, when={"a": pb.between(2.2, 2.8)})},
            "Parameter `b` can never be active: no value of `a` fulfils a from 2.2 to 2.8. `a` is "
            "Integer(low=1, high=5, log=False, prior=None, confidence='medium').",
        ),
        (
            {"a": Ordinal(["S", "M", "L"]), "b": Float(0, 1, when={"a": pb.between("L", "S")})},
            "Parameter `b` can never be active: no value of `a` fulfils a from 'L' to 'S'. `a` is "
            "Ordinal(choices=('S', 'M', 'L'), prior=None, confidence='medium').",
        ),
        (
            {"a": Ordinal(["S", "M", "L"]), "b": Float(0, 1, when={"a": pb.at_least("XL")})},
            "Parameter `b` can never be active: its condition on `a` must be one of 'S', 'M', 'L', "
            "got 'XL'.",
        ),
        (
            {"a": X, "b": Float(0, 1, when={"a": 0.5})},
            "Parameter `b` can never be active: its condition on `a` must be a range, as single "
            "values of a Float are never drawn, got 0.5: use at_least, at_most or between.",
        ),
        (
            {"a": X, "b": Float(0, 1, when={"a": pb.at_most("low")})},
            "Parameter `b` can never be active: its condition on `a` must have numbers as bounds, "
            "got 'low'.",
        ),
        (
            {"a": X, "b": Float(0, 1, when={"a": pb.between(0.5, 0.2)})},
            "Parameter `b` can never be active: no value of `a` fulfils a from 0.5 to 0.2. `a` is "
            "Float(low=0.0, high=1.0, log=False, prior=None, confidence='medium').",
        ),
        (
            {"a": Float(0, 1, step=0.5), "b": Float(0, 1, when={"a": 0.25})},
            "Parameter `b` can never be active: its condition on `a` must be one of 0.0, 0.5, ..., "
            "1.0 (step 0.5), got 0.25.",
        ),
        (
            {"x": X, "a": Constant(3), "b": Float(0, 1, when={"a": 4})},
            "Parameter `b` can never be active: its condition on `a` must be 3, which it always "
            "is, got 4.",
        ),
        (
            {"x": X, "a": Constant(3), "b": Float(0, 1, when={"a": pb.at_least(2)})},
            "Parameter `b` can never be active: its condition on `a` must be a value, as it is the "
            "constant 3, got at_least(2).",
        ),
        (
            {
                "a": Categorical(["x", "y"]),
                "b": Float(0, 1, when={"a": "x"}),
                "c": Float(0, 1, when={"b": pb.at_least(0.5), "a": "y"}),
            },
            "Parameter `c` can never be active: its conditions, and those of the parameters that "
            "it depends on, need different values of `a`. Change one of them.",
        ),
        (
            {
                "n": Integer(1, 9),
                "a": Float(0, 1, when={"n": pb.at_least(5)}),
                "b": Float(0, 1, when={"a": pb.at_least(0.5)}),
                "c": Float(0, 1, when={"n": pb.at_most(6)}),
                "d": Float(0, 1, when={"b": pb.at_least(0.5), "c": pb.at_least(0.5), "n": 4}),
            },
            "Parameter `d` can never be active: its conditions, and those of the parameters that "
            "it depends on, need different values of `n`. Change one of them.",
        ),
    ],
)
def test_a_condition_that_cannot_hold_is_refused_with_the_way_out(
    parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpaceError) as caught:
        Space(parameters)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ({}, "`when` is empty. Drop it, or name a parameter and its values."),
        (
            "sgd",
            "`when` must be a dict of conditions by parameter, such as {'optimizer': 'sgd'}, got "
            "'sgd'.",
        ),
        ({3: "sgd"}, "`when` must name other parameters, got 3."),
        ({"a": []}, "The condition on `a` lists no values. Give at least one."),
        ({"a": ()}, "The condition on `a` lists no values. Give at least one."),
        (
            {"a": {"x", "y"}},
            "The condition on `a` must be a value, a list of values, or one of at_least, at_most "
            "and between, got {",
        ),
        (
            {"a": {"at_least": 3}},
            "The condition on `a` must be a value, a list of values, or one of at_least, at_most "
            "and between, got {'at_least': 3}.",
        ),
        (
            {"a": math.nan},
            "The condition on `a` must be a value, a list of values, or one of at_least, at_most "
            "and between, got nan.",
        ),
        (
            {"a": [pb.at_least(3), 1]},
            "The condition on `a` must be a list of values or one range, got [at_least(3), 1].",
        ),
        (
            {"a": [[1], 2]},
            "The condition on `a` has a value that no parameter can have, got [1]. Use hashable "
            "values.",
        ),
    ],
)
def test_a_condition_that_says_nothing_is_refused(when: Any, message: str) -> None:
    makers: list[Callable[[], object]] = [
        lambda: Float(0, 1, when=when),
        lambda: Integer(1, 5, when=when),
        lambda: Categorical(["a", "b"], when=when),
        lambda: Ordinal(["a", "b"], when=when),
        lambda: Constant(1, when=when),
    ]
    for make in makers:
        with pytest.raises(SpaceError) as caught:
            make()
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize("value", [None, [3], math.nan, {}])
def test_a_bound_must_be_a_value(value: Any) -> None:
    with pytest.raises(SpaceError, match="`at_least` needs a number or a choice, got"):
        pb.at_least(value)
    with pytest.raises(SpaceError, match="`at_most` needs a number or a choice, got"):
        pb.at_most(value)
    with pytest.raises(SpaceError, match="`between` needs a number or a choice, got"):
        pb.between(1, value)


def test_long_chains_are_fine() -> None:
    chain: dict[str, Any] = {"p0": Integer(1, 4)}
    for i in range(1, 1500):
        chain[f"p{i}"] = Integer(1, 4, when={f"p{i - 1}": pb.at_least(2)})
    space = Space(dict(reversed(chain.items())))
    assert space.order == tuple(range(1499, -1, -1))
    assert len(space.decode([1.0] * 1500)) == 1500


def test_a_list_a_tuple_and_one_value_mean_what_they_say() -> None:
    a = Categorical(["x", "y", "z", ("x", "y")])
    cases: list[tuple[Any, set[Any]]] = [
        ("x", {"x"}),
        (["x"], {"x"}),
        (["x", "z"], {"x", "z"}),
        (("x", "z"), {"x", "z"}),
        (("x", "y"), {("x", "y")}),  # a tuple that is a choice is that choice
        ([("x", "y")], {("x", "y")}),
        (["x", "y"], {"x", "y"}),
        (np.array(["x", "z"])[0], {"x"}),
    ]
    for condition, expected in cases:
        space = Space({"a": a, "b": Float(0, 1, when={"a": condition})})
        assert {choice for choice in a.choices if "b" in space.active({"a": choice})} == expected
        assert eval(repr(space)) == space


@pytest.mark.parametrize("name", SPACES)
def test_spaces_are_values_that_print_themselves(name: str) -> None:
    space = SPACES[name]
    scope = {**vars(pb)}
    assert eval(repr(space), scope) == space
    assert hash(eval(repr(space), scope)) == hash(space)
    assert space != flat(space)
    copied = pickle.loads(pickle.dumps(space))
    assert copied == space
    rows = space.uniform(5, np.random.default_rng(0))
    assert [copied.decode(row) for row in rows] == [space.decode(row) for row in rows]


def test_parameters_without_conditions_print_and_compare_as_before() -> None:
    kinds = (Float(0, 1), Integer(1, 5), Categorical(["a"]), Ordinal([1, 2]), Constant(3))
    for parameter in kinds:
        assert "when" not in repr(parameter)
        assert parameter.when is None
    one = Float(0, 1, when={"a": ["x", "y"], "b": 3})
    assert one == Float(0, 1, when={"b": 3, "a": ("x", "y")}) != Float(0, 1, when={"a": "x"})
    assert len({one, Float(0, 1, when={"b": 3, "a": ("x", "y")}), Float(0, 1)}) == 2
    with pytest.raises(TypeError, match="A When cannot be changed"):
        one.when["a"] = "x"  # type: ignore[index]  # it is read-only
    assert not Space({"x": Float(0, 1)}).conditional
    assert small().conditional


def test_conditions_have_a_form_in_plain_data() -> None:
    when = {
        "optimizer": "sgd",
        "act": ["relu", "gelu"],
        "layers": pb.at_least(3),
        "width": pb.at_most(64),
        "rate": pb.between(0.1, 0.5),
    }
    data = when_to_data(Float(0, 1, when=when).when or {})
    assert data == {
        "optimizer": "sgd",
        "act": ["relu", "gelu"],
        "layers": {"at_least": 3},
        "width": {"at_most": 64},
        "rate": {"at_least": 0.1, "at_most": 0.5},
    }
    assert when_from_data(data) == Float(0, 1, when=when).when
    assert isinstance(when_from_data(data), When)
    assert when_text(when_from_data(data)) == (
        "optimizer = 'sgd' and act = 'relu' or 'gelu' and layers >= 3 and width <= 64 and "
        "rate from 0.1 to 0.5"
    )
    for wrong, message in (
        ({"a": {"atleast": 3}}, "unknown key 'atleast'. Did you mean 'at_least'?"),
        ({"a": {}}, "A condition needs a bound"),
        ("sgd", "`when` must be a dict of conditions"),
        ({}, "`when` is empty"),
        ({"a": {"at_most": [3]}}, "needs a number or a choice"),
    ):
        with pytest.raises(SpaceError, match=message):
            when_from_data(wrong)


def test_between_is_read_from_data_too() -> None:
    assert when_from_data({"layers": {"between": [3, 5]}}) == {"layers": pb.between(3, 5)}
    for wrong in ({"between": [3]}, {"between": 3}, {"between": [3, 5], "at_least": 3}):
        with pytest.raises(SpaceError, match="The condition on `layers` must have two values"):
            when_from_data({"layers": wrong})


def test_a_condition_on_a_fine_grid_takes_no_memory() -> None:
    fine = Float(0, 1, step=1e-12)
    space = Space({"a": fine, "b": Float(0, 1, when={"a": pb.at_least(0.5)})})
    assert space.active({"a": 0.5}) == ("a", "b")
    assert space.active({"a": 0.5 - 1e-12}) == ("a",)


def test_a_bound_that_is_too_large_for_a_number_is_refused() -> None:
    with pytest.raises(SpaceError, match="condition on `a` must have numbers as bounds"):
        Space({"a": Float(0, 1), "b": Float(0, 1, when={"a": pb.at_most(10**400)})})


@pytest.mark.parametrize("turn", [1, -1])
def test_a_long_chain_is_no_matter_in_any_order(turn: int) -> None:
    chain = {"p0": Float(0, 1)}
    for number in range(1, 2000):
        chain[f"p{number}"] = Float(0, 1, when={f"p{number - 1}": pb.at_least(0.5)})
    space = Space(dict([*chain.items()][::turn]))
    assert len(space.active(dict.fromkeys(chain, 0.75))) == 2000
    assert space.active(dict.fromkeys(chain, 0.25)) == ("p0",)
