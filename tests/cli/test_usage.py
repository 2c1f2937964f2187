"""Words that do not fit, places that do not answer, and how a program ends."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import environment, priorband, started
from waiting import LONGEST

import priorband as pb
from priorband.cli.entry_point import main

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4)})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["statsu", "s"], "priorband: There is no command 'statsu'. Did you mean status?"),
        (["run", "s", "--objectiv", "a:b"], "There is no option --objectiv. Did you mean --obj"),
        (["run", "s", "--worker=2"], "There is no option --worker. Did you mean --workers?"),
        (["status", "s", "--wach"], "Did you mean --watch?"),
        (["--verison"], "Did you mean --version?"),
        (
            ["journal", "chek", "s"],
            "priorband journal: There is no command 'chek'. Did you mean check?",
        ),
        (["journal", "check", "s", "--quik"], "There is no option --quik."),
        (["export", "s", "--csv", "--json"], "not allowed with"),
        (
            ["run", "s", "--objective", "a:b", "--keep", "al"],
            "--keep must be one of promotable, all, got 'al'",
        ),
        (["qqq\x1b[2J"], "There is no command 'qqq\\x1b[2J'."),
        (["status"], "STUDY is missing: a folder, such as runs/resnet"),
        (["status", "one", "two"], "There are too many arguments: 'two'"),
        ([], "COMMAND is missing, one of init, run, worker"),
        (["qqqqq"], "There is no command 'qqqqq'.\n"),
    ],
)
def test_wrong_usage_ends_with_two_and_a_suggestion(
    words: list[str], said: str, capsys: Any
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    out, err = capsys.readouterr()
    assert ended.value.code == 2 and out == "" and said in err and "\x1b" not in err
    assert "--help` to see what is available." in err


def test_the_version_is_that_of_the_library(capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"priorband {pb.__version__}\n"


def test_the_version_costs_no_more_than_the_library() -> None:
    for module, heavy in (("cli", {"argparse"}), ("cli.entry_point", {"rich", "scipy", "psycopg"})):
        script = f"import sys, priorband.{module}; print(*sys.modules)"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        loaded = {*done.stdout.split()}
        assert "priorband.cli" in loaded and not loaded & {*heavy, "priorband.repair.check"}


def test_every_command_has_help(capsys: Any) -> None:
    commands = ["run", "worker", "status", "best", "replay", "methods", "retry", "export"]
    for words in [[], *([name] for name in commands), ["journal", "check"], ["journal", "salvage"]]:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--help"])
        assert ended.value.code == 0
        assert "usage: priorband" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["status", "best", "replay", "export", "retry"])
def test_a_study_that_is_not_there_is_named(command: str, tmp_path: Path, capsys: Any) -> None:
    more = ["--failed"] if command == "retry" else []
    assert main([command, str(tmp_path / "no\x1b[2Jne"), *more]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("priorband: There is no study in ")
    assert "\\x1b" in err and "\x1b" not in err
    assert list(tmp_path.iterdir()) == []


def test_storage_out_of_reach_ends_with_four(capsys: Any) -> None:
    pytest.importorskip("psycopg")
    assert main(["status", "postgresql://me:secret@127.0.0.1:1/none#s"]) == 4
    err = capsys.readouterr().err
    assert err.startswith("priorband: ") and "secret" not in err


def test_other_addresses_are_refused(capsys: Any) -> None:
    assert main(["status", "mysql://host/x"]) == 1
    assert "begins with postgresql://" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, capsys: Any) -> None:
    with pb.open_study(tmp_path / "s", SPACE, pb.Fidelity("epochs", 1, 9)):
        pass
    assert main(["export", str(tmp_path / "s"), "-o", str(tmp_path / "none" / "x.csv")]) == 1
    assert "No such file or directory" in capsys.readouterr().err


def test_a_traceback_is_shown_to_those_who_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("PRIORBAND_DEBUG", "1")
    assert main(["status", str(tmp_path)]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_what_was_not_foreseen_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from priorband.cli import status_commands

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops\x1b[2J")

    monkeypatch.delenv("PRIORBAND_DEBUG", raising=False)
    monkeypatch.setattr(status_commands, "open_for_reading", broken)
    assert main(["status", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert "ZeroDivisionError: oops\\x1b[2J. Set PRIORBAND_DEBUG=1 to see" in err
    assert len(err.splitlines()) == 1


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, pb.Fidelity("epochs", 1, 9)) as study:
        for _ in range(300):
            study.tell(study.ask(), 0.5)
    with started("export", tmp_path) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == "" and process.wait(LONGEST) == 141


def test_a_range_of_one_rung_is_noted_without_a_place_in_our_code(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import priorband as pb\nSPACE = pb.Space({'x': pb.Float(0, 1)})\n"
        "def f(trial):\n    return trial.config['x']\n"
    )
    words = ("--objective", "mine:f", "--trials", 2, "--same-process")
    quiet = priorband("run", "q", *words, "--quiet", cwd=tmp_path)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    done = priorband("run", "s", *words, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("Note: No fidelity was given, so every trial is a full training")
    assert "Warning" not in done.stderr


def test_a_terminal_that_knows_ascii_only_is_enough(tmp_path: Path) -> None:
    space = pb.Space({"größe": pb.Float(0, 1, prior=0.4)})
    with pb.open_study(tmp_path, space, pb.Fidelity("epochs", 1, 9)) as study:
        study.tell(study.ask(), 0.5)
    done = subprocess.run(
        [sys.executable, "-m", "priorband", "best", str(tmp_path)],
        env=environment() | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"0.5 at epochs=9 (trial 0)\ngr\\xf6\\xdfe  0.4\n"
