"""Tuning in one call, with real processes."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from amounts import slow
from objectives import EPOCHS, GATE, SPACE, counted, raises, value
from servers import fresh_url
from stored_studies import CONDITIONAL
from waiting import wait_until

import priorband as pb
from priorband.errors import ArgumentError
from priorband.repair.check import check
from priorband.storage.json_text import from_json
from priorband.workers import open_with_retry


@pytest.mark.parametrize("workers", [pytest.param(1, marks=slow), 2])
def test_promoted_trials_run_the_missing_epochs_only(tmp_path: Path, workers: int) -> None:
    promoted, budget = False, 2
    while not promoted:  # if a worker is slow, the other one may begin the next bracket
        budget += 1
        where = tmp_path / "s"
        tuned = pb.tune(
            counted, SPACE, EPOCHS, budget=budget, workers=workers, study=where, show="quiet"
        )
        with pb.open_study(tmp_path / "s") as study:
            promoted = any(trial.parent is not None for trial in study.state.history.trials)
    with pb.open_study(tmp_path / "s") as study:
        told = [from_json(row.body) for row in study.journal.read(0) if row.kind == "told"]
        epochs = sum(len(one["metrics"]["ran"]) for one in told)
        history = study.state.history
        assert epochs == history.spent == study.spending().trainings * EPOCHS.high
        assert tuned.spending.trainings >= budget
        assert study.replay().exact


def test_without_checkpoints_a_promotion_costs_the_whole(tmp_path: Path) -> None:
    pb.tune(value, SPACE, EPOCHS, budget=3, study=tmp_path, start="same-process", show="quiet")
    with pb.open_study(tmp_path) as study:
        trials = study.state.history.trials
        assert any(trial.parent is not None for trial in trials)
        assert study.ledger.units == sum(trial.fidelity for trial in trials)


def test_running_again_resumes_or_says_that_the_budget_is_spent(tmp_path: Path) -> None:
    options = {"study": tmp_path, "show": "quiet", "start": "same-process"}
    first = pb.tune(value, SPACE, EPOCHS, budget=2, **options)  # type: ignore[arg-type]  # mixed
    again = pb.tune(value, SPACE, EPOCHS, budget=2, **options)  # type: ignore[arg-type]  # mixed
    assert (again.best, again.spending.trials) == (first.best, first.spending.trials)
    assert "budget of 2 trainings" in again.reason
    more = pb.tune(value, budget=4, **options)  # type: ignore[arg-type]  # mixed
    assert more.spending.trials > first.spending.trials


@pytest.mark.parametrize("storage", ["sqlite", "postgres"])
def test_a_conditional_study_is_killed_and_resumed(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, storage: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the checkpoints of a study in a database are here
    where, folder = str(tmp_path / "study"), tmp_path / "study"
    if storage == "postgres":
        where = fresh_url(request.getfixturevalue("postgres"))
        folder = tmp_path / f"priorband-{where.partition('#')[2]}"
    script = (
        "import sys; sys.path[:0] = sys.argv[2:]\n"
        "import objectives as o, priorband as pb, stored_studies as s\n"
        "if __name__ == '__main__':\n"
        "    pb.tune(o.waits, s.CONDITIONAL, o.EPOCHS, budget=4, study=sys.argv[1],\n"
        "            method='hyperband+prior', show='quiet')\n"
    )
    (tmp_path / "go.py").write_text(script)
    here = Path(__file__).parent
    command = [sys.executable, str(tmp_path / "go.py"), where, str(here), str(here.parent)]
    with subprocess.Popen(command, env=os.environ | {GATE: str(tmp_path)}) as tuning:
        try:
            wait_until(lambda: list(folder.glob("trials/0/1.step-*")), "a step that is saved")
        finally:
            tuning.kill()
    tuned = pb.tune(
        value, CONDITIONAL, EPOCHS, budget=4, workers=2, study=where, show="quiet", lease=1
    )
    assert tuned.best is not None and CONDITIONAL.check(tuned.best.config) == tuned.best.config
    with pb.open_study(where, CONDITIONAL) as study:
        assert study.replay().exact
        adopted = [row.trial for row in study.journal.read(0) if row.kind == "adopted"]
        first = study.state.history.outcome(0)
        assert 0 in adopted and first is not None and not first.failed
        assert len({tuple(trial.config) for trial in study.state.history.trials}) > 2
    assert check(where).sound


def test_an_objective_that_always_fails_stops_early(tmp_path: Path) -> None:
    with pytest.raises(pb.errors.HaltedError, match="all failed in the same way"):
        pb.tune(raises, SPACE, EPOCHS, budget=9, study=tmp_path, show="quiet", start="same-process")
    with pb.open_study(tmp_path) as study:
        assert study.ledger.failures == {"raised": 3}
        assert "no such thing" in study.state.history.observations[0].reason


def test_accuracy_is_maximised_at_the_edge(tmp_path: Path) -> None:
    tuned = pb.tune(
        lambda trial: -value(trial),
        SPACE,
        EPOCHS,
        budget=2,
        study=tmp_path,
        maximize=True,
        show="quiet",
        start="same-process",
    )
    assert tuned.best is not None and tuned.value == -tuned.best.loss < 0


def test_an_objective_that_no_process_can_be_sent_is_refused_at_once(tmp_path: Path) -> None:
    lock = threading.Lock()
    with pytest.raises(pb.errors.MethodError, match="start='same-process'"):
        pb.tune(lambda trial: lock, SPACE, EPOCHS, budget=2, study=tmp_path / "s")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("fresh", [True, False])
def test_the_old_name_of_start_is_refused_with_the_new_one(tmp_path: Path, fresh: bool) -> None:
    start = "warm" if fresh else "same-process"
    with pytest.raises(pb.errors.ArgumentError, match=f"write start='{start}'"):
        pb.tune(value, SPACE, EPOCHS, budget=2, study=tmp_path / "s", fresh_process=fresh)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("wrong", [{"budget": -1}, {"retries": {"tired": 2}}, {"show": "loudly"}])
def test_a_wrong_option_leaves_no_study_behind(tmp_path: Path, wrong: dict[str, object]) -> None:
    options: dict[str, object] = {"budget": 2, "study": tmp_path / "s"} | wrong
    with pytest.raises(pb.PriorbandError):
        pb.tune(value, SPACE, EPOCHS, **options)  # type: ignore[arg-type]  # mixed
    assert not (tmp_path / "s").exists()


def test_a_file_in_place_of_the_folder_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(open_with_retry, "PAUSE", 1e6)  # whoever waits once waits too long
    with pytest.raises(ArgumentError, match="`study` must be a folder, but .*file is a file"):
        pb.tune(value, SPACE, EPOCHS, budget=2, study=tmp_path / "file", show="quiet")


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": "a"},
        {"budget": -1},
        {"budget": {"epochs": 1}},
        {"workers": 0},
        {"lease": 0},
        {"keep": "some"},
        {"study": "mysql://host/x"},
        {"study": ""},
        {"study": 3},
        {"folder": 3},
        {"retries": 2},
        {"maximize": "yes"},
        {"show": "loud"},
        {"grace": -1},
        {"trial_seconds": 0},
        {"wait": "no"},
        {"gpus_per_trial": -1},
    ],
    ids=repr,
)
def test_a_wrong_argument_is_named_and_leaves_nothing_behind(
    wrong: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {"budget": 2, "study": "new"} | wrong
    with pytest.raises(pb.errors.ArgumentError, match=f"`{next(iter(wrong))}`"):
        pb.tune(value, SPACE, EPOCHS, **given)
    assert list(tmp_path.iterdir()) == []
