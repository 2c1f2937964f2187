"""A command as an objective: what the script gets, what it reports, and how it ends."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from single_trial import trial_end

from priorband.workers.command_objective import CommandObjective


def script(folder: Path, code: str, *words: str, **options: Any) -> CommandObjective:
    """An objective that runs a few lines of Python, after these imports."""
    text = f"import json, os, signal, sys, time\nENV = os.environ\n{code}\n"
    (folder / "train.py").write_text(text)
    command = ("{python}", "-S", "train.py", *words)  # -S: starts faster
    return CommandObjective(command, "val_loss", str(folder), "epochs", **options)


def ended(folder: Path, code: str, *words: str, **options: Any) -> dict[str, Any]:
    """The record of how a trial with such a script ended, in the worker's own process."""
    objective = script(folder, code, *words)
    return trial_end(folder / "s", objective, start="same-process", **options)


REPORT = "open(ENV['PRIORBAND_REPORT'], 'a').write(json.dumps({0}) + '\\n')"


def test_the_last_printed_value_is_the_result(tmp_path: Path) -> None:
    end = ended(tmp_path, "for e in (1, 2): print(f'epoch {e} val_loss={1 / e}')")
    assert end["loss"] == 0.5 and end["metrics"] == {"val_loss": 0.5}
    curve = (tmp_path / "s" / "trials" / "0" / "curve-1.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in curve] == [
        {"step": 1, "loss": 1.0},
        {"step": 2, "loss": 0.5},
    ]


def test_what_is_reported_counts_more_than_what_is_printed(tmp_path: Path) -> None:
    data = {"val_loss": 0.125, "loss": 3, "cost": 2}
    end = ended(tmp_path, f"{REPORT.format(data)}\nprint('val_loss=9')")
    assert end["loss"] == 0.125 and end["cost"] == 2
    assert end["metrics"] == {"val_loss": 0.125, "script_loss": 3}


def test_a_script_gets_its_trial_as_words_and_in_the_environment(tmp_path: Path) -> None:
    code = (
        "json.dump([sys.argv[1:], dict(ENV), os.getcwd()], open('seen', 'w')); print('val_loss=1')"
    )
    ended(tmp_path, code, "--x", "{x}", "{epochs}", "{trial}", "--from", "{resume_from?}", "{args}")
    words, environment, folder = json.loads((tmp_path / "seen").read_text())
    config = json.loads(environment["PRIORBAND_CONFIG"])
    assert words == ["--x", repr(config["x"]), "9", "0"] and config["epochs"] == 9
    assert folder == str(tmp_path) and environment["PRIORBAND_TRIAL"] == "0"
    assert environment["PRIORBAND_FIDELITY"] == "9" and environment["PRIORBAND_START"] == "0"
    assert environment["PRIORBAND_RESUME_FROM"] == "" and environment["PRIORBAND_SEED"].isdigit()
    assert os.path.isabs(environment["PRIORBAND_CHECKPOINT_DIR"])


@pytest.mark.parametrize(
    ("code", "kind", "reason"),
    [
        (
            "print('first', file=sys.stderr); raise ValueError('bad lr')",
            "raised",
            "the script ended with exit code 1: ValueError: bad lr",
        ),
        ("sys.exit(3)", "raised", "the script ended with exit code 3, and it printed nothing"),
        ("print('oh no'); sys.exit(3)", "raised", "the script ended with exit code 3: oh no"),
        ("raise MemoryError('x')", "memory", "the script ended with exit code 1: MemoryError: x"),
        ("os.kill(os.getpid(), 9)", "memory", "the script was killed, probably as memory ran out"),
        (
            "os.kill(os.getpid(), 6)",
            "crashed",
            "the script died of SIGABRT, and it printed nothing",
        ),
        ("print('epoch 1 val_loss=nan')", "diverged", "the loss was nan at step 1"),
        ("print('val_loss=inf')", "diverged", "the loss was inf"),
        (
            "pass",
            "invalid",
            "the script ended with exit code 0, but did not report `val_loss`. Call "
            "priorband.report_metric(val_loss=0.31) in it, or print val_loss=0.31.",
        ),
        (
            REPORT.format({"loss": 1}),
            "invalid",
            "the script ended with exit code 0, but did not report `val_loss`. It reported `loss`: "
            "is that meant by `metric`? Call priorband.report_metric(val_loss=0.31) in it, or "
            "print val_loss=0.31.",
        ),
        (
            "print('lr=0.1, score: 0.9')",
            "invalid",
            "the script ended with exit code 0, but did not report `val_loss`. It reported `lr`, "
            "`score`: is one of them meant by `metric`? Call priorband.report_metric(val_loss=0.31)"
            " in it, or print val_loss=0.31.",
        ),
        (
            "print('lr=0.1, val_los=0.9')",
            "invalid",
            "the script ended with exit code 0, but did not report `val_loss`. It reported "
            "`val_los`: is that meant by `metric`? Call priorband.report_metric(val_loss=0.31) in "
            "it, or print val_loss=0.31.",
        ),
    ],
)
def test_a_failure_says_what_the_script_said(
    code: str, kind: str, reason: str, tmp_path: Path
) -> None:
    end = ended(tmp_path, code)
    assert (end["kind"], end["reason"]) == (kind, reason)


def test_the_last_lines_of_standard_error_are_kept(tmp_path: Path) -> None:
    end = ended(tmp_path, "print('x' * 9, file=sys.stderr); raise ValueError('bad lr')")
    trace = end["traceback"].splitlines()
    assert trace[0] == "x" * 9 and trace[-1] == "ValueError: bad lr"
    assert end["output"] == trace[-5:]
    log = (tmp_path / "s" / "trials" / "0" / "log-1.txt").read_text()
    assert "Fix the script or its `command` and run the same again." in log


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    objective = CommandObjective(("no-such-program",), "loss", str(tmp_path))
    end = trial_end(tmp_path / "s", objective, start="same-process")
    assert end["reason"] == (
        "the program 'no-such-program' cannot be started: No such file or directory"
    )


def test_output_goes_to_the_log_and_nothing_that_was_started_is_left(tmp_path: Path) -> None:
    code = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])\n"
        "open('child', 'w').write(str(child.pid)); print('hello'); print('val_loss=1')"
    )
    end = trial_end(tmp_path / "s", script(tmp_path, code))
    assert end["loss"] == 1
    assert (tmp_path / "s" / "trials" / "0" / "log-1.txt").read_text() == "hello\nval_loss=1\n"
    child = int((tmp_path / "child").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


HANDS_BACK = """
attempt, out = int(ENV['PRIORBAND_ATTEMPT']), ENV['PRIORBAND_CHECKPOINT_DIR']
if attempt == 1:
    open(out + '/model', 'w').write('four epochs')
    print('epoch 4 val_loss=0.5')
    time.sleep(0.3)
    sys.exit(75)
found = open(ENV['PRIORBAND_RESUME_FROM'] + '/model').read()
print(found, ENV['PRIORBAND_START'])
print('val_loss=' + ENV['PRIORBAND_START'])
"""


def test_exit_code_75_hands_the_trial_back_and_its_checkpoint_is_resumed(tmp_path: Path) -> None:
    end = ended(tmp_path, HANDS_BACK)
    assert end["loss"] == 4 and end["attempt"] == 2
    assert "returned" in end["kinds"]


@pytest.mark.parametrize(
    ("code", "attempts", "reason"),
    [
        ("sys.exit(75)", 5, "the script ended with exit code 75, for the 5th time"),
        (
            "print('epoch 4 val_loss=0.5'); sys.exit(75)",
            6,
            "the script ended with exit code 75 at step 4, for the 5th time",
        ),
        (
            "print('epoch', min(2, int(ENV['PRIORBAND_ATTEMPT'])), 'val_loss=1'); sys.exit(75)",
            7,
            "the script ended with exit code 75 at step 2, for the 5th time",
        ),
    ],
)
def test_a_script_that_always_hands_back_fails_in_the_end(
    code: str, attempts: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("priorband.workers.command_objective._LONGEST_PAUSE", 0.0)
    end = ended(tmp_path, code)
    assert (end["kind"], end["attempt"]) == ("raised", attempts)
    assert end["reason"] == f"{reason} in a row without coming further"
    assert end["kinds"].count("returned") == attempts - 1


def test_a_time_limit_ends_a_script(tmp_path: Path) -> None:
    objective = script(tmp_path, "print('started', flush=True); time.sleep(600)")
    end = trial_end(tmp_path / "s", objective, trial_seconds=0.5)
    assert end["kind"] == "timeout"


def test_the_objective_can_be_sent_to_another_process(tmp_path: Path) -> None:
    import pickle

    objective = script(tmp_path, "", grace=3.0)
    assert pickle.loads(pickle.dumps(objective)) == objective
    assert sys.executable not in objective.command
