"""The time that trials spend outside the objective: recorded, summed and shown."""

import time
from pathlib import Path

from objectives import EPOCHS, SPACE
from single_trial import trial_end

import priorband as pb
from priorband.display.overview import study_overview
from priorband.display.summary import startup_text
from priorband.durable.messages import Report
from priorband.values import replaced


def naps(trial: pb.Attempt) -> float:
    time.sleep(0.05)
    return 0.5


def test_a_trial_records_what_it_spends_outside_its_objective(tmp_path: Path) -> None:
    ended = trial_end(tmp_path, naps, start="same-process")
    assert ended["startup"] >= 0 and ended["seconds"] >= 0.05
    with pb.open_study(tmp_path) as study:
        assert (study.ledger.startup, study.ledger.trained) == (
            ended["startup"],
            ended["seconds"],
        )


def test_results_that_do_not_say_how_long_they_took_are_left_out(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=9))
        for details in ({}, {"seconds": 5.0}, {"seconds": 3.0, "startup": "a while"}):
            trial = study.ask()
            study.turn(Report(trial.id, 1, 0.5, details=details), "")
        assert study.ledger.startup == study.ledger.trained == 0
        assert startup_text(study_overview(study, [], study.journal.now())) == ""
        trial = study.ask()
        study.turn(Report(trial.id, 1, 0.5, details={"seconds": 97.0, "startup": 3.0}), "")
        overview = study_overview(study, [], study.journal.now())
    assert startup_text(overview) == "start-up 3 % of worker time"


def test_a_large_share_comes_with_what_to_do(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        overview = study_overview(study, [], study.journal.now())
    much = replaced(overview, startup=40.0, startup_share=0.4)
    assert startup_text(much).startswith("start-up 40 % of worker time: use start='warm'")
    little = replaced(overview, startup=4.0, startup_share=0.4)
    assert startup_text(little) == "start-up 40 % of worker time"
