"""Study files on the command line: a study without a line of Python, or with some."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import WORKERS, priorband, run_here, started
from waiting import LONGEST, wait_until

import priorband as pb

ROOT = Path(__file__).parents[2]
SCRIPT = """
import os, sys
x, epochs = float(sys.argv[1]), int(sys.argv[2])
print(f"val_loss={(x - 0.3) ** 2 + 1 / epochs}")
"""
FILE = """\
command = ["{python}", "-S", "train.py", "{x}", "{epochs}"]
budget = { trials = 3 }
start = "same-process"
show = "plain"
fidelity = { name = "epochs", min = 1, max = 9 }
metric = { name = "val_loss" }

[space]
x = { float = [0, 1], prior = 0.4 }
"""

Ended = subprocess.CompletedProcess[str]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A study file with its script."""
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "study.toml").write_text(FILE)
    return tmp_path / "study.toml"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command does in this process."""
    return lambda *words: run_here(words, monkeypatch, capsys)


def trials(where: Path) -> int:
    with pb.open_study(where, read_only=True) as study:
        return len(study.state.history)


def test_a_study_is_run_resumed_and_read_by_its_file(file: Path, here: Any) -> None:
    done: Ended = here("run", file)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "The budget of 3 trials is spent." in done.stdout
    assert trials(file.parent / "runs" / "study") == 3
    assert here("run", file, "--trials", 4).returncode == 0
    assert trials(file.parent / "runs" / "study") == 4
    best: Ended = here("best", file, "--json")
    assert json.loads(best.stdout)["config"].keys() == {"x"}
    for words in (["status"], ["export"], ["replay"], ["journal", "check"]):
        assert here(*words, file).returncode == 0
    assert here("worker", file, "--quiet").returncode == 0


def test_options_override_the_file(file: Path, here: Any) -> None:
    words = ("--budget", 20, "--trials", 2, "--method", "random", "--seed", 5, "--maximize")
    done: Ended = here("run", file, *words, "--quiet")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    with pb.open_study(file.parent / "runs" / "study", read_only=True) as study:
        assert study.budget.limits == {"trials": 2, "trainings": 20}
        assert study.problem.optimizer == pb.optimizer("random")
        assert study.problem.seed == 5 and study.maximize
        assert study.problem.fidelity.high == 9


def test_a_changed_file_is_compared_with_its_study(file: Path, here: Any) -> None:
    assert here("run", file, "--trials", 1).returncode == 0
    text = FILE.replace("[0, 1]", "[0, 2]").replace("max = 9", "max = 27")
    file.write_text(text)
    for command in ("run", "worker"):
        done: Ended = here(command, file)
        assert done.returncode == 1
        assert "`x`: high is 1.0 in the study, 2.0 here" in done.stderr
        assert "fidelity `epochs`: high is 9 in the study, 27 here" in done.stderr
        assert f"Undo the change in {file}, or set `study` in it to another place." in done.stderr
    assert here("status", file).returncode == 0


def test_mistakes_end_the_command_before_anything_is_made(file: Path, here: Any) -> None:
    file.write_text(FILE.replace("{x}", "{lr}").replace("budget", "bugdet"))
    done: Ended = here("run", file)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"priorband: {file}:1:43: {{lr}} is neither a parameter nor")
    assert f"{file}:2:1: A study file has no key `bugdet`. Did you mean `budget`?" in done.stderr
    assert not (file.parent / "runs").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("budget = { trials = 3 }\n", "", "Or write budget = 12 in "),
        ("{python}", "pythn", "There is no program `pythn` on the PATH."),
        ('["{python}", "-S", "train.py", ', '["./train", ', "There is no program `./train` in "),
    ],
)
def test_what_cannot_run_is_not_begun(old: str, new: str, said: str, file: Path, here: Any) -> None:
    file.write_text(FILE.replace(old, new))
    done: Ended = here("run", file)
    assert done.returncode == 1 and said in done.stderr
    assert not (file.parent / "runs").exists()


def test_a_script_that_always_fails_halts_the_study_and_shows_what_it_said(
    file: Path, here: Any
) -> None:
    (file.parent / "train.py").write_text("print('starting')\nraise ValueError('bad x')\n")
    done: Ended = here("run", file, "--trials", 20)
    assert done.returncode == 3
    assert "ended with exit code 1: ValueError: bad x" in done.stdout
    log = file.parent / "runs" / "study" / "trials" / "0" / "log-1.txt"
    assert f"log: {log}" in done.stdout or "log: runs/study/trials/0/log-1.txt" in done.stdout
    assert "line 2, in <module>" in log.read_text()
    assert "exit code 1: ValueError: bad x" in here("status", file).stdout


def test_an_objective_may_be_a_function_in_a_file(tmp_path: Path, here: Any) -> None:
    for name, objective in (("a", "objectives:value"), ("b", "sub/own.py:train")):
        (tmp_path / "sub").mkdir(exist_ok=True)
        (tmp_path / "sub" / "own.py").write_text("def train(trial): return trial.config['x']\n")
        lines = FILE.partition("\n")[2].replace('name = "val_loss"', 'goal = "minimize"')
        (tmp_path / f"{name}.toml").write_text(f'objective = "{objective}"\n{lines}')
        done: Ended = here("run", tmp_path / f"{name}.toml", "--quiet")
        assert done.returncode == 0, done.stderr
        assert trials(tmp_path / "runs" / name) == 3
    (tmp_path / "sub" / "own.py").unlink()
    done = here("run", tmp_path / "b.toml")
    assert done.returncode == 1 and "b.toml:1:13: There is no file" in done.stderr


def test_a_worker_needs_a_study_and_a_study_needs_an_objective(file: Path, here: Any) -> None:
    done: Ended = here("worker", file)
    assert done.returncode == 1
    assert f"There is no study in {file.parent}/runs/study, and `worker` adds" in done.stderr
    assert f"To create it: priorband run {file}" in done.stderr
    done = here("run", file.parent / "s")
    assert done.returncode == 2
    assert "--objective is missing: the function to tune" in done.stderr
    done = here("status", file.parent / "none.toml")
    assert done.returncode == 1 and "none.toml cannot be read: No such file" in done.stderr


def test_no_password_of_a_file_is_shown(file: Path, here: Any) -> None:
    file.write_text(f'study = "postgresql://ann:secret@127.0.0.1:1/none#s"\n{FILE}')
    done: Ended = here("status", file)
    assert done.returncode == 4 and "ann:***@" in done.stderr and "secret" not in done.stderr


def test_what_the_command_does_not_use_is_said(file: Path, here: Any) -> None:
    file.write_text(FILE + 'optimizer = { choices = ["sgd", "adam"] }\n')
    said = (
        f"Note: {file}, line 10: the command does not use `optimizer`: add {{optimizer}} to it.\n"
    )
    assert here("run", file).stderr == said
    assert here("run", file, "--quiet").stderr == ""


def test_the_schema_is_printed(here: Any) -> None:
    done: Ended = here("schema")
    assert json.loads(done.stdout) == json.loads(
        (ROOT / "docs" / "study-file.schema.json").read_text()
    )


def test_the_example_runs(tmp_path: Path, here: Any) -> None:
    folder = Path(shutil.copytree(ROOT / "examples", tmp_path / "examples"))
    done: Ended = here("run", folder / "study.toml", "--trials", 1, "--same-process", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    best: Ended = here("best", folder / "study.toml", "--json")
    assert json.loads(best.stdout)["value"] < 0.2


@pytest.mark.slow
def test_the_example_resumes_what_it_has_saved(tmp_path: Path, here: Any) -> None:
    folder = Path(shutil.copytree(ROOT / "examples", tmp_path / "examples"))
    words = ("--trials", 11, "--budget", 20, "--same-process", "--quiet")
    done: Ended = here("run", folder / "study.toml", *words)
    assert done.returncode == 0, done.stderr
    with pb.open_study(folder / "runs" / "train_script", read_only=True) as study:
        promoted = [t for t in study.state.history.trials if t.parent is not None]
        curve = study.checkpoints.root / "trials" / str(promoted[0].id) / "curve-1.jsonl"  # type: ignore[union-attr]  # it has some
        parent = study.state.history.trial(promoted[0].parent or 0).fidelity
    first = json.loads(curve.read_text().splitlines()[0])
    assert first["step"] == parent + 1  # it has resumed its parent's checkpoint


STOPPABLE = """
import os, pathlib, signal, sys, time
out, start = pathlib.Path(os.environ["PRIORBAND_CHECKPOINT_DIR"]), os.environ["PRIORBAND_START"]
if start != "0":
    print("val_loss=" + start)
    sys.exit()
def stop(*_):
    (out / "model").write_text("saved")
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
print("epoch 4 val_loss=1")
pathlib.Path("running").touch()
time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("start", ["cold", "same-process"])
def test_a_script_is_asked_to_stop_and_goes_on_from_its_checkpoint(start: str, file: Path) -> None:
    file.write_text(FILE.replace("same-process", start).replace("trials = 3", "trials = 1"))
    (file.parent / "train.py").write_text(STOPPABLE)
    with started("run", file, cwd=file.parent) as run:
        wait_until((file.parent / "running").exists, "the script")
        run.send_signal(signal.SIGTERM)
        assert run.wait(LONGEST) == 143
        assert run.stdout and "Run the same again to resume" in run.stdout.read()
    done = priorband("run", file)
    assert done.returncode == 0, done.stderr
    with pb.open_study(file.parent / "runs" / "study", read_only=True) as study:
        assert study.best is not None and study.best.loss == 4


@pytest.mark.slow
def test_a_script_that_does_not_stop_is_killed_after_the_grace(file: Path) -> None:
    text = STOPPABLE.replace("sys.exit(75)", "time.sleep(600)")
    (file.parent / "train.py").write_text(
        text.replace(
            'pathlib.Path("running").touch()',
            'pathlib.Path("pid").write_text(str(os.getpid())); pathlib.Path("running").touch()',
        )
    )
    file.write_text(FILE.replace("same-process", "cold").replace("show", "grace = 0.5\nshow"))
    with started("run", file, cwd=WORKERS) as run:
        wait_until((file.parent / "running").exists, "the script")
        run.send_signal(signal.SIGTERM)
        assert run.wait(LONGEST) == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int((file.parent / "pid").read_text()), 0)


OUTLIVES = """
import fcntl, os, pathlib, time
held = open("held", "w")
fcntl.flock(held, fcntl.LOCK_EX)
if not os.fork():
    os.setsid()  # the lock is theirs together
else:
    pathlib.Path("running").touch()
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs guards")
@pytest.mark.parametrize("start", ["cold", "same-process"])
def test_a_script_and_what_it_started_end_with_a_killed_run(start: str, file: Path) -> None:
    file.write_text(FILE.replace("same-process", start))
    (file.parent / "train.py").write_text(OUTLIVES)
    with started("run", file, cwd=file.parent) as run:
        wait_until((file.parent / "running").exists, "the script")
        run.kill()
        run.wait(LONGEST)
        wait_until(lambda: not is_locked(file.parent / "held"), "the script and its child to end")


def is_locked(path: Path) -> bool:
    with open(path) as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
