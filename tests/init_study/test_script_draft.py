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
            *("{python}", "train.py", "{args}", "{nesterov?}", "DATA", "--epochs", "{epochs}"),
            *("--seed", "{seed}", "--output-dir", "{checkpoint_dir}"),
            *("--resume", "{resume_from?}"),
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
            "nesterov": {"choices": ["--nesterov", ""], "prior": ""},
        },
    }


def test_what_is_left_out_is_listed_with_its_reason() -> None:
    reasons = dict(draft_of(ARGPARSE).left_out)
    assert reasons == {
        "data": "where data is read or results go",
        "--amp": "how and where it runs",
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


SUBCOMMANDS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--dropout", type=float, default=0.1)
commands = parser.add_subparsers()
train = commands.add_parser("train")
group = train.add_argument_group("optimisation")
group.add_argument("--lr", type=float, default=0.1)
train.add_argument("--epochs", type=int, default=3)
test = commands.add_parser("test")
test.add_argument("--width", type=int, default=3)
test.add_argument("--depth", type=int, default=3)
test.add_argument("--rank", type=int, default=3)
"""


def test_options_of_all_subcommands_come_before_the_one_that_trains() -> None:
    draft = draft_of(SUBCOMMANDS)
    assert draft.command == (
        *("{python}", "train.py", "--dropout", "{dropout}", "train", "{args}"),
        *("--epochs", "{epochs}"),
    )
    assert [made.name for made in draft.entries] == ["dropout", "lr"]


CHECKPOINTS = """
import argparse, torch
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--save-dir", default="runs")
parser.add_argument("--resume", default=None)
args = parser.parse_args()
state = torch.load(args.resume)
torch.save(state, args.save_dir + "/last.pt")
"""


def test_a_file_to_resume_from_is_named_if_the_script_writes_one_only() -> None:
    command = draft_of(CHECKPOINTS).command
    assert command[-2:] == ("--resume", "{resume_from?}/last.pt")
    two = draft_of(CHECKPOINTS + 'torch.save(state, args.save_dir + "/best.pt")\n')
    assert "--resume" not in two.command
    assert (
        'write "--resume", "{resume_from?}/last.pt" in the command'
        in dict(two.left_out)["--resume"]
    )
    unsaved = draft_of(CHECKPOINTS.replace("--save-dir", "--colour"))
    assert "nothing to resume from" in dict(unsaved.left_out)["--resume"]


def test_a_script_without_epochs_is_told_what_to_add() -> None:
    draft = draft_of(CHECKPOINTS)
    assert draft.fidelity.value is None
    assert "every trial is a full training" in draft.fidelity.why
    text = study_file_text(draft)
    assert "fidelity" not in tomllib.loads(text) and '# fidelity = { name = "epochs"' not in text


BOOSTING = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--n-leaf-nodes", type=int, default=31)
parser.add_argument("--n-trees", type=int, default=10)
parser.add_argument("--learning-rate", type=float, default=.1)
parser.add_argument("--problem", default="classification", choices=["classification", "regression"])
parser.add_argument("--n-features", type=int, default=20)
parser.add_argument("--n-bags", type=int, default=255)
args = parser.parse_args()
print("score: {:.4f}".format(1))
print("score duration: {:.3f}s,".format(1))
"""


def test_whole_numbers_without_a_rule_are_written_as_comments() -> None:
    text = study_file_text(draft_of(BOOSTING))
    assert "\n# n-bags = { integer = [63, 1020], log = true, prior = 255 }\n" in text
    study = tomllib.loads(text)
    assert [*study["space"]] == ["n-leaf-nodes", "learning-rate"]
    assert study["fidelity"] == {"name": "n_trees", "min": 1, "max": 10}
    assert study["metric"] == {"name": "score", "goal": "maximize"}


MADE_DATA = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--n-trees", type=int, default=10)
parser.add_argument("--learning-rate", type=float, default=0.1)
parser.add_argument("--missing-fraction", type=float, default=0)
parser.add_argument("--n-samples-max", type=int, default=int(1e6))
parser.add_argument("--n-features", type=int, default=20)
args = parser.parse_args()
print("score: {:.4f}".format(1))
"""


def test_how_much_data_is_missing_is_no_hyperparameter() -> None:
    draft = draft_of(MADE_DATA)
    assert [made.name for made in draft.searched] == ["learning-rate"]
    assert dict(draft.left_out)["--missing-fraction"] == "what the task is"
    text = study_file_text(draft)
    assert 'to the command, with its\n# value as the next string: "--name", "value".' in text


def test_a_script_without_checkpoints_starts_over() -> None:
    [note] = draft_of(MADE_DATA).notes
    assert note.endswith("so a longer training of a configuration starts over.")
    assert draft_of(MADE_DATA, fixed=("--n-trees=3",)).notes == ()


def test_words_for_the_script_end_the_command_and_are_not_searched() -> None:
    draft = draft_of(MADE_DATA, fixed=("--n-samples-max", "1000", "--learning-rate={x}"))
    assert draft.command[-3:] == ("--n-samples-max", "1000", "--learning-rate={{x}}")
    assert draft.entries == () and "--n-samples-max" not in dict(draft.left_out)
    fixed = draft_of(ARGPARSE, fixed=("--lr", "0.1", "--epochs", "3", "--output-dir", "x"))
    assert fixed.fidelity.value is None and "--resume" in dict(fixed.left_out)
    assert fixed.command[-6:] == ("--lr", "0.1", "--epochs", "3", "--output-dir", "x")
