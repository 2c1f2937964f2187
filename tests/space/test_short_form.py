"""The short form: a categorical with the parameters that each choice brings along."""

import pickle
from typing import Any

import pytest

import priorband as pb
from priorband import Categorical, Float, Integer, Space
from priorband.errors import SpaceError

lib: Any = pb  # a person in a hurry has no type checker


def test_the_short_form_is_the_long_one() -> None:
    short = Space(
        {
            "lr": Float(0, 1),
            "optimizer": Categorical(
                {
                    "sgd": {
                        "momentum": Float(0, 0.99),
                        "schedule": Categorical({"cosine": {"period": Integer(1, 9)}, "none": {}}),
                    },
                    "adam": {"beta_1": Float(0.5, 0.999, when={"lr": pb.at_least(0.5)})},
                    "none": {},
                },
                prior="adam",
            ),
            "last": Float(0, 1),
        }
    )
    long = Space(
        {
            "lr": Float(0, 1),
            "optimizer": Categorical(["sgd", "adam", "none"], prior="adam"),
            "momentum": Float(0, 0.99, when={"optimizer": "sgd"}),
            "schedule": Categorical(["cosine", "none"], when={"optimizer": "sgd"}),
            "period": Integer(1, 9, when={"schedule": "cosine"}),
            "beta_1": Float(0.5, 0.999, when={"optimizer": "adam", "lr": pb.at_least(0.5)}),
            "last": Float(0, 1),
        }
    )
    assert short == long
    assert short.names == long.names
    assert eval(repr(short), {**vars(pb)}) == long


def test_a_categorical_of_branches_is_valid_by_itself() -> None:
    parameter = Categorical({"sgd": {"momentum": Float(0, 1)}, "adam": {}}, prior="adam")
    assert parameter.choices[1] == "adam"
    assert (parameter.size, parameter.encode("adam"), parameter.decode(0)) == (2, 1.0, "sgd")
    assert eval(repr(parameter)) == parameter
    assert pickle.loads(pickle.dumps(parameter)) == parameter
    assert parameter != Categorical({"sgd": {}, "adam": {}}, prior="adam")
    assert parameter != Categorical(["sgd", "adam"], prior="adam")
    assert Categorical({"sgd": {}, "adam": {}}) == Categorical(["sgd", "adam"])
    assert len({parameter, Categorical(["sgd", "adam"], prior="adam")}) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Space(
                {"o": Categorical({"sgd": {"m": Float(0, 1)}, "rms": {"m": Float(0, 0.9)}})}
            ),
            "Two parameters are called `m`: one under o = 'sgd' and one under o = 'rms'. If they "
            "are the same, declare one beside `o` with when={'o': ['sgd', 'rms']}. Otherwise "
            "rename one of them.",
        ),
        (
            lambda: Space({"m": Float(0, 1), "o": Categorical({"sgd": {"m": Float(0, 1)}})}),
            "Two parameters are called `m`: one under no choice and one under o = 'sgd'. Rename "
            "one of them.",
        ),
        (
            lambda: Space({"o": Categorical({"sgd": {"m": Float(0, 1, when={"o": "sgd"})}})}),
            "Parameter `m` is declared under o = 'sgd' and has another condition on `o` in its "
            "`when`. Drop that one.",
        ),
        (
            lambda: lib.Categorical({"sgd": Float(0, 1), "adam": {}}),
            "The choice 'sgd' must come with a dict of parameters, {} for none, got "
            "Float(low=0.0, high=1.0, log=False, prior=None, confidence='medium'). For choices "
            "alone, give a list.",
        ),
        (
            lambda: lib.Categorical({"sgd": 0, "adam": 0}),
            "The choice 'sgd' must come with a dict of parameters, {} for none, got 0. For choices "
            "alone, give a list.",
        ),
        (
            lambda: Space({"o": Categorical({"sgd": {"m": 3}, "adam": {}})}),
            "Parameter `m` must be one of Float, Integer, Categorical, Ordinal, Constant, got 3. "
            "For a fixed value, write Constant(3).",
        ),
        (
            lambda: lib.Ordinal({"S": {}, "L": {}}),
            "`choices` must be an ordered list of values, got {'S': {}, 'L': {}}. Only Categorical "
            "takes a dict; use `when` for parameters that depend on an ordinal.",
        ),
    ],
)
def test_a_short_form_that_does_not_work_is_refused_with_the_way_out(
    make: Any, message: str
) -> None:
    with pytest.raises(SpaceError) as caught:
        make()
    assert str(caught.value) == message
