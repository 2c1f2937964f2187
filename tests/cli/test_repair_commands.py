"""`priorband retry` and `journal`: what failed is tried again, what is damaged is saved."""

from pathlib import Path
from typing import Any

import pytest
from commands import no_control_codes, priorband

import priorband as pb
from priorband.cli.entry_point import main
from priorband.durable.messages import Assignment, Report

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


@pytest.fixture
def where(tmp_path: Path) -> str:
    """A study with one good trial, two that raised and one that took too long."""
    with pb.open_study(tmp_path / "s", SPACE, EPOCHS) as study:
        study.limit(9)
        for word, kind in enumerate((None, "raised", "timeout", "raised")):
            claim = study.turn(None, f"{word}")
            assert isinstance(claim, Assignment)
            about = (None, kind, "why") if kind else (0.5,)
            study.turn(Report(claim.trial.id, 1, *about), "")
    return str(tmp_path / "s")


def next_configs(where: str, number: int) -> list[float]:
    found = []
    with pb.open_study(where) as study:
        for _ in range(number):
            trial = study.ask()
            found.append(float(trial.config["x"]))
            study.tell(trial, 0.5)
    return found


def configs(where: str, *numbers: int) -> list[float]:
    with pb.open_study(where, read_only=True) as study:
        return [float(study.state.history.trial(number).config["x"]) for number in numbers]


@pytest.mark.parametrize(
    ("words", "trials"),
    [
        (["--failed"], [1, 2, 3]),
        (["--kind", "raised"], [1, 3]),
        (["2"], [2]),
        (["3", "1"], [3, 1]),
    ],
)
def test_failed_trials_are_tried_again(
    where: str, words: list[str], trials: list[int], capsys: Any
) -> None:
    assert main(["retry", where, *words]) == 0
    many = f"{len(trials)} trial{'s' if len(trials) > 1 else ''}"
    assert (
        capsys.readouterr().out == f"Queued to be tried first when the study runs again: {many}.\n"
    )
    assert next_configs(where, len(trials)) == configs(where, *trials)


def test_what_is_in_line_already_is_not_put_there_again(where: str, capsys: Any) -> None:
    main(["retry", where, "--kind", "raised"])
    capsys.readouterr()
    assert main(["retry", where, "--failed"]) == 0
    said = capsys.readouterr().out
    assert (
        "Queued to be tried first when the study runs again: 1 trial." in said
        and "retried already: 2 trials." in said
    )


def test_retrying_with_a_budget_that_is_handed_out_says_so(where: str, capsys: Any) -> None:
    with pb.open_study(where) as study:
        study.limit(1)
    assert main(["retry", where, "1"]) == 0
    assert "The budget is used up (trainings)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "Say which trials to retry"),
        (["1", "--failed"], 2, "Say which trials to retry"),
        (["one"], 2, "TRIAL must be the number of a trial"),
        (["--kind", "raced"], 2, "Did you mean raised?"),
        (["0"], 1, "Trial 0 has not failed"),
        (["99"], 1, "`trial` 99 is not in this study"),
    ],
)
def test_what_cannot_be_retried_is_refused(
    where: str, words: list[str], code: int, said: str
) -> None:
    done = priorband("retry", where, *words)
    assert done.returncode == code and said in done.stderr


def test_a_sound_journal_is_called_so(where: str) -> None:
    done = priorband("journal", "check", where)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{where} is not damaged: 10 records of 4 trials.\n"


def test_a_damaged_journal_is_found_and_saved(where: str, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(f"{where}/study.db") as database:
        database.execute("UPDATE record SET body = '{\x1b[2J' WHERE seq = 4")
    database.close()
    status = priorband("status", where)
    assert status.returncode == 1 and "journal check" in status.stderr
    check = priorband("journal", "check", where)
    assert check.returncode == 1 and "is damaged" in check.stdout and "record 4" in check.stdout
    assert "`priorband journal salvage " in check.stdout and no_control_codes(check.stdout)
    saved = priorband("journal", "salvage", where, tmp_path / "new")
    assert saved.returncode == 0, saved.stderr
    assert "Left out:" in saved.stdout and no_control_codes(saved.stdout)
    again = priorband("journal", "check", tmp_path / "new")
    assert again.returncode == 0, again.stdout
    onto = priorband("journal", "salvage", where, tmp_path / "new")
    assert onto.returncode == 1 and "already" in onto.stderr


def test_nothing_to_retry_is_an_error_that_says_why(tmp_path: Path) -> None:
    with pb.open_study(tmp_path / "s", SPACE, EPOCHS) as study:
        study.tell(study.ask(), 0.5)
    for words, said in (
        (["--failed"], "Nothing to retry: no trial has failed."),
        (["--kind", "raised"], "Nothing to retry: no trial has failed in this way (raised)."),
    ):
        done = priorband("retry", tmp_path / "s", *words)
        assert (done.returncode, done.stdout) == (1, "") and said in done.stderr
