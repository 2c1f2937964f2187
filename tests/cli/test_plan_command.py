"""`priorband plan`: what people and scripts read."""

import json
from pathlib import Path

import pytest
from commands import run_here

import priorband as pb
from priorband.planning.plan import plan_json

Fixtures = tuple[pytest.MonkeyPatch, pytest.CaptureFixture[str]]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fixtures:
    return monkeypatch, capsys


def test_a_plan_is_printed_for_people(here: Fixtures) -> None:
    words = ("plan", "--fidelity", "epochs:1:27", "--budget", "6", "--workers", "3")
    done = run_here(words, *here)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout == f"{pb.plan(pb.Fidelity('epochs', 1, 27), budget=6, workers=3)}\n"


def test_a_plan_is_printed_for_programs(here: Fixtures) -> None:
    options = ("--method", "asha", "--seconds-per-unit", "2.5", "--trials", "40", "--json")
    done = run_here(("plan", "--fidelity", "epochs:1:27", *options), *here)
    expected = pb.plan(
        pb.Fidelity("epochs", 1, 27), "asha", pb.Budget(trials=40), seconds_per_unit=2.5
    )
    assert json.loads(done.stdout) == json.loads(json.dumps(plan_json(expected)))


def test_without_a_fidelity_the_command_says_what_it_needs(here: Fixtures) -> None:
    done = run_here(("plan",), *here)
    assert done.returncode == 1 and "needs --fidelity, such as" in done.stderr


def test_the_plan_of_a_study_is_what_is_left_of_it(here: Fixtures, tmp_path: Path) -> None:
    space, epochs = pb.Space({"x": pb.Float(0, 1)}), pb.Fidelity("epochs", 1, 9)
    with pb.open_study(tmp_path, space, epochs, method="hyperband") as study:
        study.limit(4)
        for _ in range(5):
            study.tell(study.ask(), 0.5)
    done = run_here(("plan", tmp_path, "--workers", "1", "--json"), *here)
    left = json.loads(done.stdout)
    whole = pb.plan(epochs, "hyperband", budget=4, workers=1)
    assert left["begun"] == 5 and left["trials"]["typical"] == len(whole.jobs) - 5
    assert left["promotions"]["typical"] == whole.promotions.typical
    assert left["seconds_per_unit"] > 0
    done = run_here(("plan", tmp_path, "--budget", "9"), *here)
    assert done.returncode == 1 and "--budget is for a new study" in done.stderr
    assert "left after 5 trials" in run_here(("plan", tmp_path), *here).stdout


FILE = """\
command = ["{python}", "train.py", "{x}", "{epochs}"]
budget = { trainings = 6, hours = 5 }
workers = 3
method = "hyperband"
seed = 5
fidelity = { name = "epochs", min = 1, max = 27 }

[space]
x = { float = [0, 1] }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A study file."""
    (tmp_path / "study.toml").write_text(FILE)
    return tmp_path / "study.toml"


def test_the_plan_of_a_study_file_is_that_of_what_it_says(here: Fixtures, file: Path) -> None:
    epochs = pb.Fidelity("epochs", 1, 27)
    done = run_here(("plan", file), *here)
    expected = pb.plan(epochs, "hyperband", budget=6, workers=3, seed=5)
    assert (done.stdout, done.stderr) == (f"{expected}\n", "")
    assert [*file.parent.iterdir()] == [file]  # no study was begun
    words = ("--budget", "4", "--workers", "2", "--method", "asha", "--fidelity", "steps:1:9")
    done = run_here(("plan", file, *words), *here)
    expected = pb.plan(pb.Fidelity("steps", 1, 9), "asha", budget=4, workers=2, seed=5)
    assert done.stdout == f"{expected}\n"


def test_a_file_without_a_fidelity_plans_full_trainings(here: Fixtures, file: Path) -> None:
    lines = [line for line in FILE.splitlines() if not line.startswith(("fidelity", "budget"))]
    file.write_text("\n".join(lines).replace(', "{epochs}"', ""))
    said = run_here(("plan", file), *here).stdout
    assert said.startswith("hyperband, full trainings only, budget 12 trainings, 3 workers\n")
    assert "No trial is promoted; the first full result comes after 1 training." in said
    assert "With a fidelity, such as epochs from 1 to 27" in " ".join(said.split())


def test_a_file_whose_study_has_begun_plans_what_is_left(here: Fixtures, file: Path) -> None:
    space, epochs = pb.Space({"x": pb.Float(0, 1)}), pb.Fidelity("epochs", 1, 27)
    with pb.open_study(file.parent / "runs" / "study", space, epochs, method="hyperband") as study:
        study.limit(6)
        study.tell(study.ask(), 0.5)
    left = json.loads(run_here(("plan", file, "--json"), *here).stdout)
    assert (left["begun"], left["workers"]) == (1, 3)
    done = run_here(("plan", file, "--budget", "9"), *here)
    assert done.returncode == 1 and "--budget is for a new study" in done.stderr


def test_mistakes_in_a_file_are_shown_with_their_line(here: Fixtures, file: Path) -> None:
    file.write_text(FILE.replace("workers = 3", "wrokers = 3"))
    done = run_here(("plan", file), *here)
    assert done.returncode == 1 and "study.toml:3:1" in done.stderr, done.stderr
