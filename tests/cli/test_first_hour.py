"""The first hour of a new user: a fresh environment, a script that nobody here wrote, the README.

The script is scikit-learn's own benchmark of gradient boosting, which makes its data itself. It is
part of a source distribution on PyPI: that of scikit-tree, which has a copy of scikit-learn. Both
the environment and the script are made with pip, so these tests need a network, or a pip cache.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import final

import pytest
from commands import environment
from waiting import wait_until

import priorband as pb
from priorband.durable.study import DurableStudy
from priorband.values import frozen

ROOT = Path(__file__).parents[2]
SCRIPT = "bench_hist_gradient_boosting.py"
SOURCE = "scikit-tree==0.7.2"
NEEDED = ("scikit-learn", "matplotlib")
"""What the script imports."""
SMALL = ("--", "--n-samples-max", "1000")
"""Otherwise the script makes two million rows of data."""
LONGEST = 900.0  # seconds; trainings take a few of them each, on machines that may be busy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="it kills all processes of a run"),
]

Ended = subprocess.CompletedProcess[str]


@final
@frozen
class User:
    """Somebody with a script in a folder, and an environment in which priorband is installed."""

    folder: Path
    programs: Path

    def types(self, *words: str) -> Ended:
        """Type a command; what it prints, and its exit code."""
        return subprocess.run(
            self.command(*words),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            env=environment(),
        )

    def command(self, *words: str) -> list[str]:
        """A command of the environment."""
        return [str(self.programs / words[0]), *words[1:]]

    def study(self) -> DurableStudy:
        """The study, to be read only."""
        return pb.open_study(self.folder / "runs" / "study", read_only=True)

    def edit(self, old: str, new: str) -> None:
        """Change the study file."""
        file = self.folder / "study.toml"
        text = file.read_text()
        assert text.count(old) == 1, text
        file.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script, from a source distribution.

    pip unpacks it, finds nothing in it that it could build, and ends with an error; with
    `--no-clean` it leaves what it has unpacked.
    """
    folder = tmp_path_factory.mktemp("download")
    command = [sys.executable, "-m", "pip", "download", "--no-clean", "--no-deps"]
    command += ["--no-binary", ":all:", "--no-build-isolation", "-d", str(folder), SOURCE]
    said = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"TMPDIR": str(folder)}
    )
    found = sorted(folder.rglob(SCRIPT))
    if not found:
        pytest.skip(f"pip cannot download {SOURCE}: {said.stderr[-300:]}")
    return found[0]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment, with priorband and what the script imports."""
    source, place = (tmp_path_factory.mktemp(name) for name in ("source", "environment"))
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    pip = [str(place / "bin" / "pip"), "install", "-q"]
    installed = subprocess.run([*pip, *NEEDED], capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"pip cannot install {', '.join(NEEDED)}: {installed.stderr[-300:]}")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(
        ROOT / "priorband", source / "priorband", ignore=shutil.ignore_patterns("__pycache__")
    )
    installed = subprocess.run([*pip, "."], cwd=source, capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr  # as the README says: pip install .
    return place / "bin"


@pytest.fixture
def user(tmp_path: Path, script: Path, programs: Path) -> User:
    """A new user in a folder with the script."""
    shutil.copy(script, tmp_path)
    return User(tmp_path, programs)


def test_four_commands_lead_from_the_script_to_the_best_configuration(user: User) -> None:
    said = [
        user.types("priorband", "init", SCRIPT, *SMALL),
        user.types("priorband", "plan", "study.toml"),
        user.types("priorband", "run", "study.toml", "--budget", "3"),
        user.types("priorband", "best", "study.toml"),
    ]
    assert [(one.returncode, one.stderr) for one in said] == [(0, "")] * 4
    init, plan, run, best = (one.stdout for one in said)
    assert "Searched:  3 parameters: n-leaf-nodes, learning-rate, max-bins\n" in init
    assert "Metric:    score, maximize\n" in init and "priorband run study.toml" in init
    assert "n_trees 1 to 10, budget 12 trainings, 1 worker" in plan
    assert "The budget of 3 trainings is spent." in run and "failed" not in run
    with user.study() as study:
        found = study.best
    assert found is not None and best.startswith(f"{-found.loss:.5g} at n_trees={found.fidelity} ")
    words = [word for name, value in found.config.items() for word in (f"--{name}", str(value))]
    again = user.types("python", SCRIPT, *words, "--n-trees", str(found.fidelity), *SMALL[1:])
    assert f"score: {-found.loss:.4f}\n" in again.stdout


def test_a_wrong_line_in_the_study_file_is_shown_with_what_was_meant(user: User) -> None:
    assert user.types("priorband", "init", SCRIPT, *SMALL).returncode == 0
    user.edit("{ integer = [7, 120]", "{ integr = [7, 120]")
    for command in ("run", "plan"):
        said = user.types("priorband", command, "study.toml")
        head, line, carets = said.stderr.splitlines()
        number = (user.folder / "study.toml").read_text().split("\n").index(line[7:]) + 1
        assert said.returncode == 1 and said.stdout == ""
        assert head.startswith(f"priorband: study.toml:{number}:18: `n-leaf-nodes` has no key")
        assert head.endswith("Did you mean `integer`?")
        assert line[carets.index("^") : carets.rindex("^") + 1] == "integr"
    assert not (user.folder / "runs").exists()
    user.edit("{ integr =", "{ integer =")
    assert user.types("priorband", "plan", "study.toml").returncode == 0


def test_a_script_that_fails_says_why_where_and_what_to_do(user: User) -> None:
    made = user.types("priorband", "init", SCRIPT, *SMALL, "--xgboost")  # which is not installed
    assert made.returncode == 0, made.stderr
    failed = user.types("priorband", "run", "study.toml")
    why = "ModuleNotFoundError: No module named 'xgboost'"
    said = failed.stdout.splitlines()
    assert failed.returncode == 3
    first = next(number for number, line in enumerate(said) if "failed: trial 0, raised:" in line)
    assert said[first].endswith(f"the script ended with exit code 1: {why}")
    *printed, last, log, advice = said[first + 1 : first + 8]
    assert all(line.startswith("    | ") for line in printed) and last == f"    | {why}"
    assert log == "    log: runs/study/trials/0/log-1.txt"
    assert "line 158, in one_run" in (user.folder / log.split()[1]).read_text()
    assert advice.startswith("    Fix the script or its `command` and run the same again.")
    assert "The first 3 trials all failed in the same way (raised)." in failed.stderr
    best = user.types("priorband", "best", "study.toml")
    assert best.returncode == 1 and "`priorband status` shows why." in best.stderr
    user.edit(', "--xgboost"', "")
    again = user.types("priorband", "retry", "study.toml", "--failed")
    assert again.returncode == 0, again.stderr
    done = user.types("priorband", "run", "study.toml", "--trials", "6")
    assert done.returncode == 0, done.stderr
    assert "Resuming: " in done.stdout
    with user.study() as study:
        assert study.state.history.finished == 3


def test_a_run_that_is_killed_goes_on_and_computes_nothing_again(user: User) -> None:
    assert user.types("priorband", "init", SCRIPT, *SMALL).returncode == 0
    words = ("priorband", "run", "study.toml", "--workers", "2")
    out = user.folder / "out.txt"
    with open(out, "w") as file:
        run = subprocess.Popen(
            user.command(*words), cwd=user.folder, stdout=file, stderr=file, env=environment()
        )
        try:
            wait_until(lambda: len(results(user)) >= 2, "two results")
        finally:
            kill_all(run)
    before = results(user)
    with user.study() as study:
        begun = len(study.state.history)
    assert begun > len(before) >= 2
    resumed = user.types(*words, "--trials", str(begun + 2))
    assert (resumed.returncode, resumed.stderr) == (0, ""), resumed.stdout
    assert f"Resuming: {begun} trials, " in resumed.stdout
    assert f"The budget of {begun + 2} trials is spent." in resumed.stdout
    after = results(user)
    assert len(after) == begun + 2 and {number: after[number] for number in before} == before
    trials = user.folder / "runs" / "study" / "trials"
    assert not [number for number in before if (trials / str(number) / "log-2.txt").exists()]


def results(user: User) -> dict[int, float]:
    """The results that are recorded, by trial."""
    try:
        with user.study() as study:
            return {one.trial.id: one.loss for one in study.state.history.observations}
    except pb.PriorbandError:  # there is no study yet
        return {}


def kill_all(process: "subprocess.Popen[bytes]") -> None:
    """`kill -9` a process and all that it has started."""
    pids = [process.pid, *below(process.pid)]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def below(pid: int) -> Iterator[int]:
    """The processes that a process has started, and those that these have started."""
    listed = Path("/proc", str(pid), "task", str(pid), "children")
    with suppress(OSError):
        for child in listed.read_text().split():
            yield int(child)
            yield from below(int(child))
