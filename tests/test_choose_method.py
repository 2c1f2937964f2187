"""`method="auto"`: one row for each case, and a study that has the chosen method's own name."""

import warnings
from pathlib import Path
from typing import Any

import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from priorband import Fidelity, Float, Optimizer, Space, Study, open_study, optimizer, plan, tune
from priorband import choose_method as module
from priorband.choose_method import TABLE, Auto, KnownAtStart, choose_method
from priorband.errors import MethodError, SingleRungWarning
from priorband.method_names import method_name
from priorband.study_file.read import read_study_file

SPACE = Space({"x": Float(0.0, 1.0, prior=0.3)})
FOUR = Fidelity("epochs", 1, 27)
FACTS = st.builds(
    KnownAtStart,
    parameters=st.none() | st.integers(1, 40),
    trainings=st.none() | st.floats(0.1, 1e4),
    workers=st.none() | st.integers(1, 64),
)


def name_of(method: Optimizer) -> str | None:
    return method_name(method)


@given(FACTS)
@settings(max_examples=examples(200))
def test_exactly_one_row_applies(facts: KnownAtStart) -> None:
    assert sum(row.applies(facts) for row in TABLE) == 1


@given(FACTS, st.integers(1, 6), st.none() | st.just(0.3))
@settings(max_examples=examples(40), deadline=None)
def test_what_is_chosen_runs_on_that_problem(
    facts: KnownAtStart, rungs: int, prior: float | None
) -> None:
    names = [f"x{i}" for i in range(facts.parameters or 1)]
    space = Space({name: Float(0.0, 1.0, prior=prior) for name in names})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        epochs = Fidelity("epochs", 1, 3 ** (rungs - 1))
        study = Study(space, epochs, choose_method(facts).method)
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, trial.config["x0"])


@pytest.mark.parametrize(
    ("trainings", "workers", "method"),
    [
        (None, None, "guardband"),
        (5, 1, "guardband"),
        (12, 1, "guardband+bo"),
        (12, 4, "guardband+bo"),
        (12, 8, "guardband"),
        (1000, 1, "guardband"),
    ],
)
def test_a_plan_uses_what_is_known(
    trainings: float | None, workers: int | None, method: str
) -> None:
    assert Auto(trainings, None, workers).choice(SPACE, FOUR).method == method
    if trainings is not None and workers is not None:
        assert plan(FOUR, "auto", trainings, workers, space=SPACE).method == method


def test_a_budget_of_trials_is_converted_to_full_trainings() -> None:
    assert Auto(trials=57).choice(SPACE, FOUR).method == "guardband"
    assert Auto(trials=300).choice(SPACE, FOUR).method == "guardband+bo"


def train(trial: Any) -> float:
    return float(trial.config["x"] + 1 / trial.fidelity)


def tuned(where: Path, **options: Any) -> str | None:
    tune(train, SPACE, FOUR, study=where, start="same-process", **options)
    with open_study(where, read_only=True) as study:
        return name_of(study.problem.optimizer)


def test_tune_stores_the_chosen_method_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tuned(tmp_path / "s", method="auto", budget=2, show="plain") == "guardband"
    assert "Method: guardband, because the budget" in capsys.readouterr().out
    assert tuned(tmp_path / "s", method="auto", budget=12.5, show="plain") == "guardband"
    assert "Method:" not in capsys.readouterr().out
    assert tuned(tmp_path / "b", method="auto", budget=2, workers=1, show="quiet") == "guardband"
    assert capsys.readouterr().out == ""


def test_auto_continues_a_study_with_any_method(tmp_path: Path) -> None:
    assert tuned(tmp_path / "s", method="hyperband", budget=1, show="quiet") == "hyperband"
    assert tuned(tmp_path / "s", method="auto", budget=2, show="quiet") == "hyperband"


@pytest.mark.parametrize(("default", "method"), [("priorband",) * 2, ("auto", "guardband")])
def test_the_default_is_set_in_one_place(
    default: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DEFAULT_METHOD", default)
    assert tuned(tmp_path / "tuned", budget=1, show="quiet") == method
    assert name_of(Study(SPACE, FOUR).optimizer) == method
    assert plan(FOUR, budget=5, workers=1).method == method
    with open_study(tmp_path / "opened", SPACE, FOUR) as study:
        assert name_of(study.problem.optimizer) == method
    assert tuned(tmp_path / "tuned", budget=2, show="quiet") == method


def test_the_default_reaches_tune_with_what_it_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DEFAULT_METHOD", "auto")
    assert tuned(tmp_path / "s", budget=12, show="quiet") == "guardband+bo"


def test_a_study_file_may_say_auto(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text('command = ["train", "{args}"]\nmethod = "auto"\n[space]\nx = {float=[0,1]}\n')
    assert read_study_file(file).method == "auto"


@pytest.mark.parametrize("name", ["Auto", "autoo"])
def test_a_misspelt_auto_is_corrected(name: str) -> None:
    with pytest.raises(MethodError, match="Did you mean 'auto'"):
        Study(SPACE, FOUR, name)


def test_auto_is_no_method_by_itself() -> None:
    with pytest.raises(MethodError, match="chosen when a study begins"):
        optimizer("auto")
