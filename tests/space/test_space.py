"""The space: configurations become rows of numbers and rows become configurations."""

import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from priorband import Categorical, Config, Constant, Float, Integer, Ordinal, Space, Study
from priorband.errors import ConfigError, SpaceError

exact = settings(max_examples=examples(100))


def mixed() -> Space:
    return Space(
        {
            "lr": Float(1e-5, 1e-1, log=True),
            "optimizer": Categorical(["sgd", "adam", "rms"]),
            "classes": Constant(10),
            "layers": Integer(1, 4),
            "batch": Ordinal([16, 32, 64, 128]),
            "width": Integer(8, 512, log=True),
        }
    )


CONFIG = {"lr": 1e-3, "optimizer": "rms", "classes": 10, "layers": 2, "batch": 64, "width": 32}


def test_a_row_has_a_column_for_each_searched_parameter_in_order() -> None:
    space = mixed()
    rows = space.encode([CONFIG, CONFIG])
    assert rows.shape == (2, 5)
    assert rows.dtype == np.float64
    width = math.log(32 / 7.5) / math.log(512.5 / 7.5)
    assert rows[0].tolist() == pytest.approx([0.5, 2.0, 0.375, 0.625, width])
    assert (len(space), space.names) == (5, ("lr", "optimizer", "layers", "batch", "width"))


def test_no_configurations_are_an_empty_array_of_the_right_width() -> None:
    assert mixed().encode([]).shape == (0, 5)
    assert mixed().uniform(0, np.random.default_rng(0)).shape == (0, 5)


@exact
@given(st.lists(st.floats(0.0, 1.0), min_size=5, max_size=5))
def test_a_decoded_row_lies_in_the_space_and_encodes_to_where_it_was(codes: list[float]) -> None:
    space = mixed()
    codes[1] = float(min(int(codes[1] * 3), 2))
    config = space.decode(codes)
    assert space.check(config) == config
    again = space.decode(space.encode([config])[0])
    assert {**again, "lr": 0} == {**config, "lr": 0}
    assert again["lr"] == pytest.approx(config["lr"], rel=1e-12)
    assert abs(space.encode([config])[0] - codes).max() <= 0.125  # half an integer's cell


def test_a_row_may_be_a_list_or_an_array() -> None:
    row = [0.5, 1.0, 0.9, 0.1, 1.0]
    assert mixed().decode(row) == mixed().decode(np.array(row)) == mixed().decode(tuple(row))
    config = mixed().decode(np.array(row))
    assert list(config) == list(mixed().parameters)
    assert [type(config[name]) for name in ("lr", "layers", "batch")] == [float, int, int]


@pytest.mark.parametrize("row", [[], [0.5] * 4, [0.5] * 6, np.zeros((1, 5))])
def test_a_row_of_another_width_is_refused(row: Any) -> None:
    with pytest.raises(ConfigError, match="A row of this space has 5 values, got"):
        mixed().decode(row)


@pytest.mark.parametrize(
    "row", [0.5, None, [math.nan, 0, 0, 0, 0], [0, 3.0, 0, 0, 0], [0, -1.0, 0, 0, 0], ["a"] * 5]
)
def test_a_row_that_stands_for_no_configuration_is_refused(row: Any) -> None:
    with pytest.raises(ConfigError):
        mixed().decode(row)


def test_uniform_rows_give_every_value_its_share() -> None:
    space, n = mixed(), 40_000
    rows = space.uniform(n, np.random.default_rng(0))
    assert rows.shape == (n, 5)
    configs = [space.decode(row) for row in rows]
    for name, size in {"optimizer": 3, "layers": 4, "batch": 4}.items():
        values, counts = np.unique([str(config[name]) for config in configs], return_counts=True)
        assert len(values) == size
        assert abs(counts / n - 1 / size).max() < 5 * math.sqrt(1 / size / n)
    below = np.mean([config["lr"] < 1e-3 for config in configs])
    assert abs(below - 0.5) < 5 * 0.5 / math.sqrt(n)


def test_uniform_rows_follow_from_the_generator_alone() -> None:
    one, two = (mixed().uniform(7, np.random.default_rng(3)) for _ in range(2))
    assert (one == two).all()


@pytest.mark.parametrize(("n", "rng"), [(3, 0), (3, None), (-1, np.random.default_rng(0))])
def test_uniform_says_what_it_needs(n: Any, rng: Any) -> None:
    with pytest.raises((SpaceError, ConfigError), match="Generator|rng|`n`"):
        mixed().uniform(n, rng)


def test_a_configuration_may_name_its_parameters_in_any_order() -> None:
    turned = dict(reversed(CONFIG.items()))
    assert list(mixed().check(turned)) == list(CONFIG)
    assert (mixed().encode([turned]) == mixed().encode([CONFIG])).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lr": 1.0}, "`lr` must be a number in [1e-05, 0.1], got 1.0."),
        ({"layers": 2.5}, "`layers` must be a whole number, got 2.5."),
        ({"optimizer": "adma"}, "`optimizer` must be one of 'sgd', 'adam', 'rms', got 'adma'."),
        ({"batch": 48}, "`batch` must be one of 16, 32, 64, 128, got 48."),
        ({"classes": 100}, "`classes` is the constant 10, got 100."),
        (
            {"depth": 3},
            "The configuration has unknown 'depth'. It needs exactly: "
            "lr, optimizer, classes, layers, batch, width.",
        ),
    ],
)
def test_a_configuration_outside_the_space_is_told_what_does_not_fit(
    change: dict[str, Any], message: str
) -> None:
    for refuse in (mixed().check, lambda config: mixed().encode([CONFIG, config])):
        with pytest.raises(ConfigError) as caught:
            refuse({**CONFIG, **change})
        assert str(caught.value) == message


def test_a_configuration_with_missing_and_misspelt_names_is_told_both() -> None:
    config = {"LR" if name == "lr" else name: value for name, value in CONFIG.items()}
    del config["batch"]
    with pytest.raises(ConfigError, match="lacks 'lr', 'batch' and has unknown 'LR'. It needs"):
        mixed().check(config)


def test_a_single_configuration_where_several_belong_is_told_so() -> None:
    with pytest.raises(ConfigError, match=r"list|several|\[config\]"):
        mixed().encode(CONFIG)  # type: ignore[arg-type]  # the usual slip


@pytest.mark.parametrize("config", [None, 3, [1, 2], "lr"])
def test_something_that_is_no_configuration_is_refused(config: Any) -> None:
    with pytest.raises(ConfigError, match="A configuration is a dict of values by name, got"):
        mixed().check(config)


@pytest.mark.parametrize("value", [None, (64, 64), "x", 0.5, True, math.inf], ids=repr)
def test_a_constant_may_be_any_value_and_is_in_every_configuration(value: Any) -> None:
    space = Space({"x": Float(0, 1), "fixed": Constant(value)})
    study = Study(space, method="random")
    for _ in range(3):
        trial = study.ask()
        assert trial.config["fixed"] is value
        study.tell(trial, 0.1)
    study.queue(trial.config)
    assert study.ask().config == trial.config


@pytest.mark.parametrize("value", [[64, 64], {"a": 1}, np.arange(3), math.nan], ids=repr)
def test_a_constant_that_cannot_be_compared_is_refused_where_it_is_made(value: Any) -> None:
    with pytest.raises(SpaceError, match="`value` of a constant must .*, got"):
        Constant(value)


def test_names_may_be_in_any_script() -> None:
    space = Space(
        {"学习率": Float(0, 1), "η": Float(0, 1), "taux d'été": Float(0, 1), "💥": Float(0, 1)}
    )
    trial = Study(space, method="random").ask()
    assert tuple(trial.config) == space.names
    assert json.loads(json.dumps(trial.config)) == trial.config


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "A space needs at least one parameter to search, got none."),
        ({"k": Constant(1)}, "at least one parameter to search, got only constants."),
        ({"": Float(0, 1)}, "A parameter's name must be printable text, got ''."),
        ({"a\nb": Float(0, 1)}, r"A parameter's name must be printable text, got 'a\nb'."),
        ({1: Float(0, 1)}, "A parameter's name must be printable text, got 1."),
        (
            {"é": Float(0, 1), "e\u0301": Float(0, 1)},
            "The names 'é' and 'e\u0301' are the same text in Unicode.",
        ),
        (
            {"x": (0, 1)},
            "`x` must be one of Float, Integer, Categorical, Ordinal, Constant, got (0, 1).",
        ),
        ({"x": Float}, "`x` must be one of Float, Integer, Categorical, Ordinal, Constant, got"),
        (
            [Float(0, 1)],
            "`parameters` must be a dict of parameters by name, such as {'lr': Float(1e-",
        ),
        (None, "log=True)}, got None."),
    ],
)
def test_a_space_that_cannot_be_is_refused(parameters: Any, message: str) -> None:
    with pytest.raises(SpaceError) as caught:
        Space(parameters)
    assert message in str(caught.value)


def test_a_space_is_a_value_and_its_order_counts() -> None:
    x, y = Float(0, 1), Float(0, 2)
    assert Space({"x": x, "y": y}) == Space({"x": x, "y": y})
    assert hash(Space({"x": x, "y": y})) == hash(Space({"x": x, "y": y}))
    assert Space({"x": x, "y": y}) != Space({"y": y, "x": x})
    assert Space({"x": x}) != Space({"x": y})
    assert eval(repr(mixed())) == mixed()


def test_a_space_does_not_change_with_the_dict_it_was_made_of() -> None:
    parameters: dict[str, Any] = {"x": Float(0, 1)}
    space = Space(parameters)
    parameters["y"] = Float(0, 1)
    assert list(space.parameters) == ["x"]


def test_a_config_cannot_be_changed() -> None:
    config: Any = Config(x=1, y=2)
    changes: list[Callable[[], object]] = [
        lambda: config.pop("x"),
        lambda: config.update(x=3),
        lambda: config.__setitem__("x", 3),
        lambda: config.__delitem__("x"),
        lambda: config.setdefault("z", 3),
        lambda: config.clear(),
        lambda: config.popitem(),
        lambda: config.__ior__({"x": 3}),
    ]
    for change in changes:
        with pytest.raises(TypeError, match=r"cannot be changed. Change a copy: `dict"):
            change()
    assert config == {"x": 1, "y": 2}


def test_a_config_is_a_dict_in_every_other_way() -> None:
    config = Config(x=1, y="a")
    assert pickle.loads(pickle.dumps(config)) == config == {"x": 1, "y": "a"}
    assert type(pickle.loads(pickle.dumps(config))) is Config
    assert json.dumps(config) == '{"x": 1, "y": "a"}'
    assert {**config, "x": 2} == {"x": 2, "y": "a"}
    assert dict(**config) == config | {} == config


def test_a_space_by_keywords_is_the_one_of_a_dict() -> None:
    lr, kind = Float(0, 1), Categorical(["a", "b"])
    assert Space(lr=lr, kind=kind) == Space({"lr": lr, "kind": kind})
    assert Space({"weight-decay": lr}, kind=kind).names == ("weight-decay", "kind")
    assert Space(parameters=lr).names == ("parameters",)
    assert Space(parameters={"x": lr}) == Space({"x": lr})  # type: ignore[arg-type]  # by its name
    with pytest.raises(SpaceError, match="`lr` is given twice"):
        Space({"lr": lr}, lr=lr)
    with pytest.raises(SpaceError, match="at least one parameter"):
        Space()
    with pytest.raises(SpaceError, match="must be a dict of parameters by name"):
        Space([lr])  # type: ignore[arg-type]  # wrong on purpose
