"""Keyword arguments of other libraries get the argument that does the same here."""

import inspect
from typing import Any

import pytest

import priorband as pb
from priorband.keywords import _ELSEWHERE, _PROPOSALS

lib: Any = pb
SPACE = pb.Space({"x": pb.Float(0, 1)})


def said(call: Any, **options: Any) -> str:
    with pytest.raises(TypeError) as caught:
        call(None, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"n_trials": 100},
            "`tune` takes no argument `n_trials`. Write budget=12 for 12 full trainings, or "
            "budget=pb.Budget(trials=100), or budget=pb.Budget(hours=8).",
        ),
        ({"num_samples": 10}, "budget=pb.Budget(trials=100)"),
        ({"timeout": 600}, "budget=pb.Budget(hours=8)"),
        ({"n_jobs": 2}, "Write workers=4 to run 4 trials at the same time."),
        ({"max_concurrent": 2}, "Write workers=4"),
        ({"direction": "maximize"}, "write maximize=True if higher values are better."),
        ({"mode": "max"}, "write maximize=True"),
        ({"metric": "acc"}, "returns its loss, or a dict with 'loss' and other metrics."),
        ({"storage": "sqlite:///x"}, "Write study='runs/resnet'"),
        ({"pruner": None}, "Write method='asha'"),
        ({"random_state": 1}, "Write seed=0."),
        ({"verbose": 1}, "Write show='quiet'"),
        ({"buget": 1}, "Did you mean `budget`?"),
        ({"maximise": True}, "write maximize=True"),
        ({"callbacks": []}, "`tune` takes no argument `callbacks`. It takes objective, space,"),
    ],
)
def test_tune_proposes_its_own_argument(options: dict[str, Any], message: str) -> None:
    assert message in said(lib.tune, **options)


def test_what_only_tune_takes_is_said_to_be_for_tune() -> None:
    assert said(lib.Study, n_trials=3).startswith(
        "`Study` takes no argument `n_trials`. In `pb.tune` it is called `budget`. Write"
    )
    assert (
        said(lib.Study, random_state=3) == "`Study` takes no argument `random_state`. Write seed=0."
    )
    assert "The first argument is the study's folder" in said(lib.open_study, storage="x")
    assert "In `pb.tune` it is called `workers`." in said(lib.open_study, n_jobs=2)


def test_every_proposal_is_of_an_argument_that_exists() -> None:
    names = {*inspect.signature(pb.tune).parameters, *inspect.signature(pb.open_study).parameters}
    assert set(_PROPOSALS) == set(_ELSEWHERE) <= names
    for ours, others in _ELSEWHERE.items():
        taken = set(others.split()) & set(inspect.signature(pb.tune).parameters)
        assert taken <= ({"study"} if ours == "where" else set())


def test_functions_keep_their_signatures_and_say_what_is_missing() -> None:
    assert list(inspect.signature(pb.Study).parameters)[:2] == ["space", "fidelity"]
    assert inspect.signature(pb.tune).parameters["workers"].default == 1
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'objective'"):
        lib.tune()
