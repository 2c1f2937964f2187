"""Scripts that other processes cannot import, or would run again: each is told what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import priorband as pb
def train(trial):
    return trial.config["x"]
def start():
    pb.tune(train, pb.Space({{"x": pb.Float(0, 1)}}), pb.Fidelity("epochs", 1, 9), study="study",
            budget=pb.Budget(trials=1), show="quiet"{more})
{call}
"""


def ran(folder: Path, call: str, more: str = "", stdin: bool = False) -> tuple[int, str]:
    """Run a script: its exit code, and the message of the error that ended it."""
    text = SCRIPT.format(call=call, more=more)
    script = folder / "train.py"
    script.write_text(text)
    done = subprocess.run(
        [sys.executable, "-" if stdin else str(script)],
        input=text if stdin else "",
        capture_output=True,
        text=True,
        cwd=folder,
    )
    return done.returncode, done.stderr.rpartition("priorband.errors.")[2]


@pytest.mark.parametrize("more", ["", ", workers=2"])
def test_a_script_without_a_guard_is_refused_with_its_line(tmp_path: Path, more: str) -> None:
    code, said = ran(tmp_path, "with open('x', 'w'):\n    start()", more)
    assert code == 1
    assert said == (
        f"MethodError: {tmp_path}/train.py, line 9, starts tuning when the script is imported, and "
        "worker and trial processes import the script to find the objective. Put what starts it "
        "under a guard:\n"
        "    if __name__ == '__main__':\n"
        "        pb.tune(...)\n"
        "Or let trials run in this process, with workers=1 and start='same-process'.\n"
    )
    assert not (tmp_path / "study").exists()


def test_a_script_from_standard_input_is_refused(tmp_path: Path) -> None:
    code, said = ran(tmp_path, "start()", stdin=True)
    assert code == 1
    assert said == (
        "MethodError: The script comes from <stdin>, where worker and trial processes cannot "
        "import it. Save it as a file, such as train.py, and run `python train.py`; or let trials "
        "run in this process, with workers=1 and start='same-process'.\n"
    )
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("more", ["", ", workers=2"])
def test_a_guard_that_does_not_hold_is_no_trouble_of_storage(tmp_path: Path, more: str) -> None:
    code, said = ran(tmp_path, "if train:\n    start()", more)
    assert code == 1
    assert said.startswith("MethodError: ")
    assert "could not start (exit code 1): its own message is printed above." in said
    assert said.endswith("put what starts tuning under `if __name__ == '__main__':`.\n")


@pytest.mark.parametrize(
    "call", ["if __name__ == '__main__':\n    start()", "if '__main__' == __name__: start()"]
)
def test_a_script_with_a_guard_runs(tmp_path: Path, call: str) -> None:
    assert ran(tmp_path, call)[0] == 0


def test_trials_in_the_scripts_own_process_need_no_guard(tmp_path: Path) -> None:
    assert ran(tmp_path, "start()", ", start='same-process'")[0] == 0
    assert ran(tmp_path, "start()", ", start='same-process'", stdin=True)[0] == 0
