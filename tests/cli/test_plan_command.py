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
