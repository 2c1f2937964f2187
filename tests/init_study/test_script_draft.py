"""From a script's options to a study file: roles, command, fidelity, metric."""

import tomllib
from typing import Any

from script_texts import ARGPARSE, draft_of

from priorband.init_study.draft import study_file_text


def written(text: str) -> dict[str, Any]:
    """The study file of a script, as a parser reads it."""
    return tomllib.loads(study_file_text(draft_of(text)))


def test_an_argparse_script_becomes_a_whole_study_file() -> None:
    assert written(ARGPARSE) == {
        "command": [
            *("python", "train.py", "{args}", "DATA", "--epochs", "{epochs}", "--seed", "{seed}"),
            *("--output-dir", "{checkpoint_dir}", "--resume", "{resume_from?}"),
        ],
        "budget": 12,
        "workers": 1,
        "fidelity": {"name": "epochs", "min": 3, "max": 90},
        "metric": {"name": "val_loss", "goal": "minimize"},
        "space": {
            "lr": {"float": [1e-5, 0.1], "log": True, "prior": 1e-3},
            "weight-decay": {"float": [1e-6, 0.1], "log": True},
            "optimizer": {"choices": ["sgd", "adam"], "prior": "adam"},
            "width": {"ordinal": [32, 64, 128], "prior": 64},
            "batch-size": {"ordinal": [32, 64, 128, 256, 512], "prior": 128},
        },
    }


def test_what_is_left_out_is_listed_with_its_reason() -> None:
    reasons = dict(draft_of(ARGPARSE).left_out)
    assert reasons == {
        "data": "where data is read or results go",
        "--nesterov": "a flag, which takes no value",
        "--betas": "it takes several values",
        "--gamma": "it has no `type=`, so the script would get text instead of a number",
        "--device": "how and where it runs",
    }
    assert "#   --betas: it takes several values" in study_file_text(draft_of(ARGPARSE))


def test_a_required_argument_is_something_to_do() -> None:
    [to_do] = draft_of(ARGPARSE).to_do
    assert to_do.startswith('the script requires data: replace "DATA" in `command`')


def test_each_parameter_says_why() -> None:
    text = study_file_text(draft_of(ARGPARSE))
    assert "# default of --lr; a range of a hundred times both ways\nlr = " in text
    assert "# choices and default of --optimizer\noptimizer = " in text
    assert max(map(len, text.splitlines())) <= 80
