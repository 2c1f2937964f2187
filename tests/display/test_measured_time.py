"""The time left of a stored study, from its records and its running trials."""

from pathlib import Path

import pytest

import priorband as pb
from priorband.display.measured_time import MeasuredTrials, TimeLeft, running_trials
from priorband.display.polling import StudyWatcher
from priorband.durable.messages import Assignment, Report
from priorband.storage.journal import Beat, Row

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


def claimed(study: pb.DurableStudy, word: str, report: Report | None = None) -> Assignment:
    answer = study.turn(report, word)
    assert isinstance(answer, Assignment)
    return answer


def retimed(rows: list[Row], second: float) -> list[Row]:
    """The rows, as if one came every so many seconds."""
    return [row._replace(at=second * row.seq) for row in rows]


def test_trials_are_measured_from_their_records_once(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        report = None
        for number in range(6):
            claim = claimed(study, f"{number}", report)
            report = Report(claim.trial.id, 1, 0.5)
        rows = retimed([*study.journal.read(0)], 10.0)
        measured = MeasuredTrials()
        measured.read(rows[:5], study.state.history)
        measured.read(rows[5:], study.state.history)
        whole = MeasuredTrials()
        whole.read(rows, study.state.history)
    assert len(measured.durations) == len(whole.durations) == 5
    one, other = measured.durations.model(9), whole.durations.model(9)
    assert one and other and one.by_root == other.by_root and len(one.by_root) == 5


def test_a_study_without_workers_or_results_has_no_estimate(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(4)
        left = TimeLeft(MeasuredTrials())
        assert left.estimate(study, [], study.journal.now(), 0) is None
        claimed(study, "a")
        left = TimeLeft(MeasuredTrials())
        assert left.estimate(study, study.journal.leases(), study.journal.now(), 1) is None


def test_reported_steps_are_enough_for_an_estimate(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS, method="random") as study:
        study.limit(4)
        first = claimed(study, "a")
        study.journal.beat(study.worker, [Beat(first.trial.id, 1, 3.0, 0.25)], 60)
        study.refresh()
        [opened] = study.ledger.running.values()
        leases, now = study.journal.leases(), opened.since + 30.0
        [running] = running_trials(study, leases, now)
        assert (running.units, running.seconds, running.done) == (9, 30.0, 3.0)
        left = TimeLeft(MeasuredTrials())
        assert left.estimate(study, leases, now, 1) == pytest.approx(60 + 3 * 90)
        again = left.estimate(study, leases, now + 10, 1)  # kept, less the time that has passed
        assert again == pytest.approx(50 + 3 * 90)


def test_a_promotion_without_a_checkpoint_says_that_promotions_start_from_scratch(
    tmp_path: Path,
) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS, method="asha") as study:
        report = None
        for number in range(6):
            claim = claimed(study, f"{number}", report)
            report = Report(claim.trial.id, 1, 0.5)
        measured = MeasuredTrials()
        measured.read(study.journal.read(0), study.state.history)
        assert any(trial.parent is not None for trial in study.state.history.trials)
    assert measured.from_scratch


@pytest.mark.parametrize("limits", [{"trainings": 4}, {"trials": 30}, {"trainings": 4, "hours": 1}])
def test_the_overview_has_the_time_left(tmp_path: Path, limits: dict[str, float]) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(limits)
        first = claimed(study, "a")
        claimed(study, "b", Report(first.trial.id, 1, 0.5))
        left = StudyWatcher(study).read().seconds_left
    assert left is not None and left >= 0
