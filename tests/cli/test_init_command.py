"""`priorband init`: what it writes, what it says, what it refuses."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from priorband.cli.entry_point import main

SCRIPT = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=27)
args = parser.parse_args()
print(f"val_loss={args.lr}")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a script."""
    (tmp_path / "train.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_says_what_was_written_and_what_to_type_next(folder: Path, capsys: Any) -> None:
    assert main(["init", "train.py"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Wrote study.toml.",
        "  Searched:  1 parameter: lr",
        "  Fidelity:  epochs from 1 to 27",
        "  Metric:    val_loss, minimize",
        "Check the ranges, then type:",
        "  priorband run study.toml",
    ]
    study = tomllib.loads((folder / "study.toml").read_text())
    assert study["command"] == ["{python}", "train.py", "{args}", "--epochs", "{epochs}"]


def test_a_file_is_only_replaced_with_force(folder: Path, capsys: Any) -> None:
    (folder / "study.toml").write_text("mine")
    assert main(["init", "train.py"]) == 1
    assert "study.toml exists. Pass --force to replace it" in capsys.readouterr().err
    assert (folder / "study.toml").read_text() == "mine"
    assert main(["init", "train.py", "--force"]) == 0
    assert "val_loss" in (folder / "study.toml").read_text()


def test_paths_with_spaces_and_in_other_folders(folder: Path, capsys: Any) -> None:
    (folder / "my code").mkdir()
    (folder / "train.py").rename(folder / "my code" / "train it.py")
    assert main(["init", "my code/train it.py", "-o", "my study.toml"]) == 0
    assert "  priorband run 'my study.toml'" in capsys.readouterr().out
    study = tomllib.loads((folder / "my study.toml").read_text())
    assert study["command"][:2] == ["{python}", "my code/train it.py"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.py"], "There is no file none.py."),
        (["."], ". is a folder. Name the script that trains, such as train.py."),
        (["train.py", "-o", "."], ". is a folder. Name a file, such as -o study.toml."),
        (["broken.py"], "broken.py, line 1: this is not Python source that can be read"),
        (["bare.py"], "No options were found in bare.py, so there is nothing to tune"),
        (["data.py"], "None of the options of data.py is known as a hyperparameter"),
    ],
)
def test_what_cannot_be_read_is_told(
    words: list[str], said: str, folder: Path, capsys: Any
) -> None:
    (folder / "broken.py").write_text("def (:")
    (folder / "bare.py").write_text("print('hello')")
    (folder / "data.py").write_text("import argparse\nargparse.ArgumentParser().add_argument('-d')")
    assert main(["init", *words]) == 1
    assert said in capsys.readouterr().err
    assert not (folder / "study.toml").exists()


COMPUTED = """
import argparse
parser = argparse.ArgumentParser()
for name, default in (("lr", 0.1), ("momentum", 0.9)):
    parser.add_argument(f"--{name}", type=float, default=default)
parser.add_argument("--nesterov", action=argparse.BooleanOptionalAction, default=True)
parser.add_argument("--epochs", type=int, default=9)
args = parser.parse_args()
open("trained", "w").close()
print(f"val_loss={args.lr}")
"""


def test_a_script_is_run_up_to_its_parser_only_with_consent(folder: Path, capsys: Any) -> None:
    (folder / "train.py").write_text(COMPUTED)
    assert main(["init", "train.py"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1 parameter: nesterov" in said and "pass --yes to allow it" in said
    assert main(["init", "train.py", "--yes", "--force"]) == 0
    assert "3 parameters: lr, momentum, nesterov" in capsys.readouterr().out
    assert not (folder / "trained").exists()
    study = tomllib.loads((folder / "study.toml").read_text())
    assert study["command"][2:] == ["{args}", "{nesterov}", "--epochs", "{epochs}"]
    assert study["space"]["nesterov"]["choices"] == ["--nesterov", "--no-nesterov"]


@pytest.mark.parametrize(("answer", "count"), [("y", 3), ("", 1)])
def test_it_asks_on_a_terminal(
    folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, answer: str, count: int
) -> None:
    (folder / "train.py").write_text(COMPUTED)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    asked = list[str]()

    def answered(question: str) -> str:
        asked.append(question)
        return answer

    monkeypatch.setattr("builtins.input", answered)
    assert main(["init", "train.py"]) == 0
    assert asked == ["Run it now? [y/N] "]
    said = capsys.readouterr().out
    assert "line 5: the name of an option is computed" in said
    assert f"Searched:  {count} parameter" in said


def test_a_script_that_fails_before_it_parses_is_read_without_running(
    folder: Path, capsys: Any
) -> None:
    (folder / "train.py").write_text(
        COMPUTED.replace("import argparse", "import argparse, nowhere")
    )
    assert main(["init", "train.py", "--yes"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "ended before it read its options (exit code 1)" in said
    assert "No module named 'nowhere'" in said


def test_a_script_that_argparse_does_not_stop_is_never_run(folder: Path, capsys: Any) -> None:
    (folder / "train.py").write_text("open('trained', 'w').close()\n")
    assert main(["init", "train.py", "--yes"]) == 1
    assert "No options were found" in capsys.readouterr().err
    assert not (folder / "trained").exists()


def test_options_after_two_hyphens_are_for_the_script(folder: Path, capsys: Any) -> None:
    assert main(["init", "train.py", "-o", "a.toml", "--", "--epochs", "3"]) == 0
    study = tomllib.loads((folder / "a.toml").read_text())
    assert study["command"] == ["{python}", "train.py", "{args}", "--epochs", "3"]
    assert "fidelity" not in study
    assert main(["init", "train.py", "--", "--epoch", "3"]) == 1
    said = capsys.readouterr().err
    assert "The script has no option --epoch. Did you mean '--epochs'?" in said
    with pytest.raises(SystemExit):
        main(["init", "train.py", "--epochs", "3"])
    assert "write it after --: -- --epochs" in capsys.readouterr().err
