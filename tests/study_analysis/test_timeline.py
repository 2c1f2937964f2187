"""The timeline of workers, by hand and of a stored study."""

from pathlib import Path

import numpy as np
import pytest
from analysed_studies import EPOCHS, SPACE, busy

import priorband as pb
from priorband.study_analysis import study_data, worker_timeline
from priorband.study_analysis.attempts import AttemptColumns
from priorband.values import replaced


def test_by_hand() -> None:
    """Worker 0 has spans 0-10, 12-20 and 18-25, worker 1 one that was lost and one that runs."""
    study = pb.Study(pb.Space(x=pb.Float(0, 1)), method="random")
    for _ in range(5):
        study.ask()
    attempts = AttemptColumns(
        trial=np.array([0, 1, 2, 3, 4]),
        attempt=np.array([1, 1, 1, 1, 2]),
        worker=np.array([0, 1, 0, 0, 1]),
        start=np.array([0.0, 5.0, 12.0, 18.0, 30.0]),
        end=np.array([10.0, 9.0, 20.0, 25.0, np.nan]),
        startup=np.array([1.0, np.nan, 2.0, np.nan, np.nan]),
        ending=np.array([1, 3, 2, 1, 0]),
        failure=np.array([-1, 6, 0, -1, -1]),
        workers=("gpu-1-a", "cpu-2-b"),
        hosts=("gpu", "cpu"),
    )
    spans = worker_timeline(replaced(study_data(study), attempts=attempts, elapsed=33.0))
    assert spans.worker.tolist() == [0, 0, 0, 1, 1]
    assert spans.trial.tolist() == [0, 2, 3, 1, 4]
    assert spans.end.tolist() == [10, 20, 25, 9, 33]
    assert spans.first.tolist() == [0, 5] and spans.last.tolist() == [25, 33]
    assert spans.busy.tolist() == [23, 7]
    assert spans.idle.tolist() == [2, 21]
    assert (spans.busy + spans.idle).tolist() == (spans.last - spans.first).tolist()
    assert spans.lost.tolist() == [0, 1] and spans.trials.tolist() == [3, 2]
    assert spans.startup_seconds.tolist() == [3, 0]
    words = [spans.endings[code] for code in spans.ending]
    assert words == ["succeeded", "failed", "succeeded", "lost", "running"]


def test_a_stored_study_has_a_span_for_each_attempt(tmp_path: Path) -> None:
    with pb.open_study(tmp_path / "s", SPACE, EPOCHS) as study:
        busy(study)
        data = study_data(study)
        spans = worker_timeline(data)
        imported = np.flatnonzero(data.trials.imported).tolist()
        assert sorted(spans.trial.tolist()) == [
            trial.id for trial in study.state.history.trials if trial.id not in imported
        ]
        assert spans.workers == (study.worker,)
        assert spans.busy + spans.idle == pytest.approx(spans.last - spans.first)
        assert (spans.start <= spans.end).all()


def test_a_study_in_memory_has_no_workers() -> None:
    study = pb.Study(SPACE, EPOCHS, "sh")
    study.tell(study.ask(), 0.5)
    spans = worker_timeline(study_data(study))
    assert (spans.workers, len(spans.trial), len(spans.busy)) == ((), 0, 0)
