"""Conditional spaces: which parameters are active, and what rows and configurations hold."""

import math
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import priorband as pb
from priorband import Float, Integer, Space
from priorband.errors import ConfigError

from .conditional_spaces import SPACES, flat, is_active, random_spaces, rows_of, small, values_of

exact = settings(max_examples=examples(200))


SGD = {"optimizer": "sgd", "momentum": 0.75, "nesterov": False, "layers": 2}
ADAM = {"optimizer": "adam", "layers": 3, "dropout": 0.5, "epsilon": 1e-8}


# Rows and configurations


def test_a_configuration_has_active_parameters_only_and_a_row_marks_the_others() -> None:
    config = small().decode([1.0, math.nan, math.nan, 0.2, math.nan])
    assert config == {"optimizer": "adam", "layers": 2, "epsilon": 1e-8}
    [row] = small().encode([config])
    assert np.isnan(row).tolist() == [False, True, True, False, True]
    assert small().decode(row) == config


@exact
@given(st.data())
def test_the_mask_of_a_row_and_the_decoded_configuration_always_agree(data: st.DataObject) -> None:
    space = data.draw(random_spaces())
    codes = data.draw(rows_of(space))
    values = values_of(space, codes)
    active = [is_active(space, name, values) for name in space.names]
    [mask] = space.mask(np.array([codes]))
    assert mask.tolist() == active
    config = space.decode(codes)
    assert config == {
        name: values[name] for name, here in zip(space.names, active, strict=True) if here
    }
    [row] = space.marked(np.array([codes]))
    assert np.isnan(row).tolist() == [not here for here in active]
    assert space.mask(row[None]).tolist() == [active]
    assert space.decode(row) == config
    if space.activation:
        assert repr(space.activation.mark(codes.copy())) == repr(row.tolist())
        marked = row.tolist()
        assert [space.activation.is_active(i, marked) for i in range(len(marked))] == active


@exact
@given(st.data())
def test_a_configuration_encodes_to_a_row_that_decodes_to_it(data: st.DataObject) -> None:
    space = data.draw(random_spaces())
    config = space.decode(data.draw(rows_of(space)))
    assert space.check(config) == config
    assert list(space.check(dict(reversed(config.items())))) == list(config)
    [row] = space.encode([config])
    assert [n for n, code in zip(space.names, row, strict=True) if code == code] == [
        name for name in space.names if name in config
    ]
    assert (space.mask(row[None]) == ~np.isnan(row)).all()
    again = space.decode(row)
    assert again.keys() == config.keys()
    for name, value in config.items():
        assert again[name] == (
            pytest.approx(value, rel=1e-12, abs=1e-12) if type(value) is float else value
        )
    centred = space.centred(row[None])[0]
    assert (np.isnan(centred) == np.isnan(row)).all()
    assert set(space.active(config)) == set(config)


@exact
@given(st.data())
def test_a_condition_leaves_the_draws_of_others_as_they_are(data: st.DataObject) -> None:
    space, seed = data.draw(random_spaces()), data.draw(st.integers(0, 1000))
    free, count = flat(space), data.draw(st.integers(0, 9))
    one, two = np.random.default_rng(seed), np.random.default_rng(seed)
    rows, all_rows = space.uniform(count, one), free.uniform(count, two)
    active = ~np.isnan(rows)
    assert (active == space.mask(all_rows)).all()
    assert (rows[active] == all_rows[active]).all()
    assert one.random() == two.random()
    sample, full = space.prior.sample(one), free.prior.sample(two)
    active = ~np.isnan(sample)
    assert (sample[active] == full[active]).all()
    assert one.random() == two.random()


@pytest.mark.parametrize("name", SPACES)
def test_a_few_uniform_rows_and_many_are_the_same_numbers(name: str) -> None:
    space, rng = SPACES[name], np.random.default_rng(7)
    many = space.uniform(9, np.random.default_rng(7))
    few = np.concatenate([space.uniform(n, rng) for n in (1, 2, 0, 4, 1, 1)])
    assert np.array_equal(few, many, equal_nan=True)


@pytest.mark.parametrize("low", [True, False])
@pytest.mark.parametrize("bound", [1e-3, 0.1, 3e-5, 0.0123456789, 1e-5, 1.0])
def test_a_value_at_a_bound_is_on_the_same_side_as_a_row(bound: float, low: bool) -> None:
    condition = pb.at_least(bound) if low else pb.at_most(bound)
    lr = Float(1e-5, 1.0, log=True)
    space = Space({"lr": lr, "x": Float(0, 1, when={"lr": condition})})
    for value in (bound, math.nextafter(bound, 0), math.nextafter(bound, 1)):
        if not lr.low <= value <= lr.high:
            continue
        here = value >= bound if low else value <= bound
        config = {"lr": value, "x": 0.5} if here else {"lr": value}
        row = space.encode([config])
        assert np.isnan(row[0, 1]) == (not here)
        assert (space.mask(row) == ~np.isnan(row)).all()
        assert space.decode(row[0]).keys() == config.keys()


def test_no_inactive_number_is_read_and_an_active_one_must_be_there() -> None:
    space = small()
    config = {"optimizer": "adam", "layers": 1, "epsilon": 1e-8}
    for code in (math.nan, 0.3):  # what an inactive entry holds makes no difference
        assert space.decode([1.0, code, 0.0, 0.1, code]) == config
    missing = {"momentum": [0.0, math.nan, 0, 0, 0], "optimizer": [math.nan, 0, 0, 0, 0]}
    for name, row in missing.items():
        for decode in (space.decode, space.config):
            with pytest.raises(ConfigError, match=f"no value for `{name}`, which is active"):
                decode(row)
    with pytest.raises(ConfigError, match="value for `momentum` must be a position"):
        space.decode([0.0, 1.5, 0, 0, 0])


def test_configurations_list_parents_first_and_values_tell_them_apart() -> None:
    """A history knows configurations by the tuple of their values."""
    space = Space(
        {
            "c": Integer(1, 3, when={"r": 2}),
            "r": Integer(1, 3),
            "d": Integer(1, 3, when={"r": 1}),
        }
    )
    assert space.names == ("c", "r", "d")
    assert space.order == (1, 0, 2)
    configs = [space.decode(row) for row in space.uniform(200, np.random.default_rng(0))]
    assert len({tuple(config.values()) for config in configs}) == len({*configs}) == 7
    assert [*space.check({"c": 1, "r": 2})] == ["r", "c"]


# Changes


def test_a_change_drops_what_becomes_inactive_and_needs_what_becomes_active() -> None:
    space, start = small(), small().check(SGD)
    assert space.changed(start, {1: 0.2}) == {"optimizer": "sgd", "momentum": 0.198, "layers": 2}
    assert space.changed(start, {0: 1.0}) == {"optimizer": "adam", "layers": 2, "epsilon": 1e-8}
    assert space.changed(start, {3: 0.99, 4: 0.25}) == {**SGD, "layers": 6, "dropout": 0.25}
    assert space.changed(start, {4: 0.25}) == start  # it is not active
    assert [*space.changed(space.check(ADAM), {0: 0.0, 1: 0.9, 2: 1.0})] == [
        *("optimizer", "momentum", "nesterov", "layers", "dropout"),
    ]
    with pytest.raises(ConfigError, match="`dropout` is active now and needs a code, too"):
        space.changed(start, {3: 0.99})
    with pytest.raises(ConfigError, match="no code for `dropout`, which is active"):
        space.changed(start, {3: 0.99, 4: math.nan})


@exact
@given(st.data())
def test_a_change_of_all_columns_is_the_configuration_of_the_new_row(data: st.DataObject) -> None:
    space = data.draw(random_spaces())
    one, two = data.draw(rows_of(space)), data.draw(rows_of(space))
    config = space.decode(one)
    assert space.changed(config, {}) == config
    assert space.changed(config, dict(enumerate(two))) == space.decode(two)


# Checks


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {**ADAM, "momentum": 0.5},
            "`momentum` is only used with optimizer = 'sgd', got optimizer = 'adam'. Remove it.",
        ),
        (
            {**SGD, "momentum": 0.25},
            "`nesterov` is only used with momentum >= 0.5, got momentum = 0.25. Remove it.",
        ),
        (
            {**ADAM, "nesterov": True},
            "`nesterov` is only used with momentum >= 0.5, got no momentum, which is inactive. "
            "Remove it.",
        ),
        (
            {"optimizer": "sgd", "layers": 1},
            "The configuration lacks 'momentum' (used with optimizer = 'sgd'). With these values "
            "it needs: optimizer, momentum, layers.",
        ),
        (
            {"layers": 1, "momentum": 0.5, "nesterow": True},
            "The configuration lacks 'optimizer' and has unknown 'nesterow'. With these values it "
            "needs: optimizer, layers.",
        ),
        (
            {"optimizer": "adam", "layers": 1, "dropout": 0.5, "beta": 1},
            "The configuration lacks 'epsilon' (used with optimizer = 'adam') and has unknown "
            "'beta'. With these values it needs: optimizer, layers, epsilon. `dropout` is only "
            "used with layers >= 3, got layers = 1. Remove it.",
        ),
        (
            {**ADAM, "epsilon": 1e-7},
            "`epsilon` is the constant 1e-08, got 1e-07.",
        ),
        ({**ADAM, "optimizer": "adma"}, "`optimizer` must be one of 'sgd', 'adam', got 'adma'."),
        ({**SGD, "momentum": 2}, "`momentum` must be a number in [0.0, 0.99], got 2."),
        ({**SGD, "optimizer": ["sgd"]}, "`optimizer` must be one of 'sgd', 'adam', got ['sgd']."),
        (3, "A configuration is a dict of values by name, got 3."),
    ],
)
def test_a_check_names_what_is_missing_unknown_or_inactive(config: Any, message: str) -> None:
    for refuse in (small().check, lambda config: small().encode([config])):
        with pytest.raises(ConfigError) as caught:
            refuse(config)
        assert str(caught.value) == message


def test_values_that_are_not_checked_yet_make_no_child_active() -> None:
    for value in ("high", [3], np.array([3, 4]), None):
        config: dict[str, Any] = {"momentum": value, "layers": value}
        with pytest.raises(ConfigError, match="lacks 'optimizer'"):
            small().check(config)
    assert small().active({"layers": "many"}) == ("optimizer", "layers")


def test_active_names_follow_from_the_values_of_parents() -> None:
    assert small().active(SGD) == ("optimizer", "momentum", "nesterov", "layers")
    assert small().active({"optimizer": "adam"}) == ("optimizer", "layers", "epsilon")
    assert flat(small()).active({}) == tuple(small().parameters)


def test_a_value_excludes_the_children_whose_conditions_it_does_not_fulfil() -> None:
    activation = small().activation
    assert activation is not None
    assert activation.excluded("optimizer", "adam") == {"momentum"}
    assert activation.excluded("optimizer", "sgd") == {"epsilon"}
    assert activation.excluded("momentum", 0.4) == {"nesterov"}
    assert activation.excluded("momentum", 0.5) == activation.excluded("nesterov", True) == set()


@pytest.mark.parametrize("stated", ["a", ["a"], ("a",), ["a", "a"]])
def test_a_single_value_may_be_listed(stated: Any) -> None:
    def space(when: Any) -> Space:
        return Space({"p": pb.Categorical(["a", "b"]), "q": Float(0, 1, when={"p": when})})

    assert space(stated) == space("a") and repr(space(stated)) == repr(space("a"))
