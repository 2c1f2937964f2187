"""W&B sweeps as study files."""

import math
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from priorband.errors import ExtraError, FormatError
from priorband.init_study.draft import Draft, study_file_text
from priorband.init_study.sweep_distributions import sweep_entry
from priorband.init_study.sweep_yaml import sweep_draft

pytest.importorskip("yaml")

SWEEP = """
program: train.py
project: mine
method: bayes
metric: {name: val_acc, goal: maximize, target: 0.99}
early_terminate: {type: hyperband, min_iter: 3}
parameters:
  lr: {distribution: log_uniform_values, min: 1e-5, max: 1e-1}
  batch_size: {values: [16, 32, 64]}
  optimizer: {values: [sgd, adam]}
  epochs: {value: 30}
  classes: {value: 10}
  head:
    parameters:
      dropout: {min: 0.0, max: 0.5}
"""


def drafted(folder: Path, text: str) -> Draft:
    """The draft for a sweep of this text."""
    path = folder / "sweep.yaml"
    path.write_text(text)
    return sweep_draft(path, folder)


def test_a_sweep_becomes_a_whole_study_file(tmp_path: Path) -> None:
    draft = drafted(tmp_path, SWEEP)
    assert tomllib.loads(study_file_text(draft)) == {
        "command": ["{python}", "train.py", "{args}", "--epochs", "{epochs}"],
        "budget": 12,
        "workers": 1,
        "fidelity": {"name": "epochs", "min": 3, "max": 30},
        "metric": {"name": "val_acc", "goal": "maximize"},
        "space": {
            "lr": {"float": [1e-5, 0.1], "log": True},
            "batch_size": {"ordinal": [16, 32, 64]},
            "optimizer": {"choices": ["sgd", "adam"]},
            "classes": {"constant": 10},
            "head.dropout": {"float": [0.0, 0.5]},
        },
    }


def test_what_has_no_equivalent_is_named(tmp_path: Path) -> None:
    draft = drafted(tmp_path, SWEEP)
    assert draft.losses == (
        'The method (bayes) is not taken over: the default method is priorband; method = "bo" is '
        "Bayesian optimisation.",
        "`target` of the metric has no equivalent: a study runs until its budget is spent.",
        "Without equivalent in a study file: project.",
    )
    assert draft.to_do == ("let the script print val_acc (see `metric` below).",)


def test_the_script_of_a_sweep_is_read_for_its_metric_and_options(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import wandb\nprint('val_acc:', 1 - wandb.config.lr)\n")
    draft = drafted(tmp_path, SWEEP)
    assert draft.metric.why == "metric of the sweep, printed in line 2"
    [to_do] = draft.to_do
    assert to_do.startswith("train.py has no options that could be read.")


def test_macros_of_a_command_become_placeholders(tmp_path: Path) -> None:
    command = "command: ['${env}', python3, '${program}', '--a={b}', '${args_no_hyphens}', '${x}']"
    draft = drafted(tmp_path, f"{SWEEP}{command}\n")
    words = ("python3", "train.py", "--a={{b}}", "{overrides}", "epochs={epochs}")
    assert draft.command == words
    assert "`${x}` in the command has no equivalent and was dropped." in draft.losses


def test_the_program_is_found_from_where_the_study_file_is(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    (tmp_path / "sweeps").mkdir()
    assert drafted(tmp_path / "sweeps", SWEEP).command[1] == "../train.py"


def test_without_a_length_there_is_no_fidelity(tmp_path: Path) -> None:
    draft = drafted(tmp_path, SWEEP.replace("epochs: {value: 30}", "x: {value: 30}"))
    assert draft.fidelity.value is None
    assert "`early_terminate` (hyperband) has no equivalent" in draft.fidelity.why


@pytest.mark.parametrize(
    ("stated", "definition"),
    [
        ({"min": 1, "max": 4}, {"integer": [1, 4]}),
        ({"min": 0.5, "max": 4}, {"float": [0.5, 4.0]}),
        ({"min": "1e-3", "max": 0.1}, {"float": [1e-3, 0.1]}),
        (
            {"distribution": "log_uniform", "min": math.log(1e-4), "max": math.log(0.1)},
            {"float": [1e-4, 0.1], "log": True},
        ),
        (
            {"distribution": "inv_log_uniform", "min": math.log(10), "max": math.log(1000)},
            {"float": [0.001, 0.1], "log": True},
        ),
        (
            {"distribution": "inv_log_uniform_values", "min": 0.001, "max": 0.1},
            {"float": [0.001, 0.1], "log": True},
        ),
        ({"distribution": "q_uniform", "min": 0, "max": 9}, {"integer": [0, 9]}),
        (
            {"distribution": "q_uniform", "min": 8, "max": 64, "q": 8},
            {"integer": [8, 64], "step": 8},
        ),
        (
            {"distribution": "q_uniform", "min": 0, "max": 0.5, "q": 0.1},
            {"float": [0.0, 0.5], "step": 0.1},
        ),
        (
            {"distribution": "q_log_uniform_values", "min": 16, "max": 256},
            {"integer": [16, 256], "log": True},
        ),
        (
            {"distribution": "normal", "mu": 1, "sigma": 0.5},
            {"float": [-0.5, 2.5], "prior": {"normal": 1.0, "sigma": 0.1667}},
        ),
        (
            {"distribution": "q_normal", "mu": 10, "sigma": 2},
            {"integer": [4, 16], "prior": {"normal": 10, "sigma": 0.1667}},
        ),
        (
            {"distribution": "log_normal", "mu": 0, "sigma": 1},
            {
                "float": [0.04979, 20.09],
                "log": True,
                "prior": {"normal": 1.0, "sigma": 0.1667},
            },
        ),
        (
            {"distribution": "beta", "a": 2, "b": 5},
            {"float": [0.0, 1.0], "prior": {"beta": [2.0, 5.0]}},
        ),
        ({"values": ["a"]}, {"constant": "a"}),
        ({"values": [3, 1, 2]}, {"choices": [3, 1, 2]}),
        ({"values": [None, [1, 2]]}, {"choices": ["null", [1, 2]]}),
        (
            {"values": ["a", "b"], "probabilities": [0.2, 0.8]},
            {"choices": ["a", "b"], "weights": [0.2, 0.8]},
        ),
        ({"value": 3}, {"constant": 3}),
    ],
)
def test_each_distribution_has_its_parameter(
    stated: dict[str, Any], definition: dict[str, Any]
) -> None:
    assert sweep_entry("x", stated)[0].definition == definition


def test_a_step_on_a_log_scale_is_lost() -> None:
    stated = {"distribution": "q_log_uniform_values", "min": 16, "max": 256, "q": 16}
    assert "its step of 16" in sweep_entry("x", stated)[1]


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"distribution": "gamma"}, "has the distribution 'gamma', which is not known"),
        ({"min": 1}, "`max` is missing"),
        ({"min": 2, "max": 1}, "`min` must be a number below `max`, got 2 and 1"),
        ({"distribution": "log_uniform_values", "min": 0, "max": 1}, "`min` must be above 0"),
    ],
)
def test_a_parameter_that_cannot_be_read_is_named(stated: dict[str, Any], said: str) -> None:
    with pytest.raises(FormatError, match="Parameter `x`") as raised:
        sweep_entry("x", stated)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1", "has no `parameters`, so it is not a W&B sweep"),
        ("- 1", "must hold a mapping"),
        ("a: [", "is not YAML that can be read"),
        ("parameters: {lr: 3}", "Parameter `lr` of the sweep must be a mapping"),
        ("parameters: !!python/object/apply:os.system [exit]", "is not YAML that can be read"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FormatError) as raised:
        drafted(tmp_path, text)
    assert said in str(raised.value)


def test_the_extra_is_named_if_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ExtraError, match=r"pip install 'priorband\[yaml\]'"):
        drafted(tmp_path, SWEEP)
