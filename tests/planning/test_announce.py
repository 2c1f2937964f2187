"""The plan in three lines when a study starts: for people, for programs, or not at all."""

import json
from pathlib import Path
from typing import Any

import pytest

import priorband as pb
from priorband.planning.announce import AT_START, announce, start_plan

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


def value(trial: pb.Attempt) -> float:
    return float((trial.config["x"] - 0.3) ** 2 + 1 / trial.fidelity)


def tuned(where: Path, **options: Any) -> pb.Tuned:
    given: dict[str, Any] = {"budget": 3, "seed": 0, "start": "same-process"} | options
    return pb.tune(value, SPACE, EPOCHS, study=where, **given)


def test_a_study_begins_with_its_plan_in_three_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tuned(tmp_path, show="plain")
    assert capsys.readouterr().out.splitlines()[:3] == [
        "Plan: 14 trials, 4 of them promotions, 3.3 trainings, brackets 9→3→1.",
        "The first promotion comes after 18 epochs, the first full result after 9 epochs.",
        "If promotions resume from checkpoints, the study ends after 30 epochs; workers are idle "
        "0 % of the time.",
    ]
    tuned(tmp_path, show="plain", budget=4)
    assert "Plan:" not in capsys.readouterr().out


def test_warnings_come_with_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tuned(tmp_path, show="plain", budget=1.5)
    fourth = capsys.readouterr().out.splitlines()[3]
    assert fourth.startswith("Warning: The budget ends before the first promotion")


def test_lines_that_are_wider_than_the_terminal_are_broken_between_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(2)
        announce(study, 1, "live")
    assert capsys.readouterr().out.splitlines() == [
        "Plan: 10 trials, 2 trainings, brackets 9.",
        "No trial is promoted; the first full result comes after 9",
        "  epochs.",
        "The study ends after 18 epochs; workers are idle 0 % of the",
        "  time.",
        "Warning: The budget ends before the first promotion: it",
        "  allows 10 trials, and with 3 rungs a bracket starts with",
        "  9. Use budget=3.",
    ]


def test_programs_get_one_object_and_quiet_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tuned(tmp_path / "a", show="json")
    first, *others = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["event"] == "plan" and first["trials"]["typical"] == 14
    assert all(other["event"] != "plan" for other in others)
    tuned(tmp_path / "b", show="quiet")
    assert capsys.readouterr().out == ""


def test_a_huge_study_is_planned_in_part(tmp_path: Path) -> None:
    steps = pb.Fidelity("steps", 100, 1_000_000)
    with pb.open_study(tmp_path, SPACE, steps) as study:
        study.limit(100)
        planned = start_plan(study, 4)
    assert planned is not None and planned.capped and len(planned.jobs) == AT_START
    assert planned.warnings[0].startswith(
        f"No trial is promoted among the first {AT_START:,}: with 9 rungs, a bracket starts with "
        "6,561 trials. Use low="
    )


def test_without_a_number_of_trials_there_is_no_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(hours=1))
        announce(study, 4, "plain")
    assert capsys.readouterr().out == ""
