"""Learning curves are joined along promotions, and say what objectives reported."""

from pathlib import Path
from typing import Any

import pytest

import priorband as pb
from priorband.errors import TrialError

SPACE = pb.Space(x=pb.Float(0, 1))
EPOCHS = pb.Fidelity("epochs", 1, 9)


def test_in_memory_the_results_of_the_rungs_are_the_points() -> None:
    study = pb.Study(SPACE, EPOCHS, "sh", maximize=True)
    for number in range(13):
        study.tell(study.ask(), number)
    curves = study.curves()
    points = [(point.step, point.value) for point in curves[12]]
    assert points == [(1, 6), (3, 11), (9, 12)]
    assert len(curves) == 13 and "13 trials" in repr(curves)
    with pytest.raises(TrialError, match="There is no trial 99"):
        curves[99]
    frame = curves.to_frame()
    assert list(frame.columns) == ["trial", "step", "value"]
    assert list(frame[frame["trial"] == 12]["step"]) == [1, 3, 9]


def report_and_save(trial: pb.Attempt) -> float:
    for step in trial.steps():
        trial.report(step, loss=trial.config["x"] + 1 / step, lr=0.1)
    (trial.checkpoint_dir / "model").write_text("weights")
    return float(trial.config["x"] + 1 / trial.fidelity)


def tuned(folder: Path, **options: Any) -> pb.Tuned:
    return pb.tune(
        report_and_save,
        SPACE,
        EPOCHS,
        method="sh",
        budget=3,
        study=folder,
        show="quiet",
        start="same-process",
        **options,
    )


def test_a_stored_study_has_what_objectives_reported(tmp_path: Path) -> None:
    result = tuned(tmp_path)
    promoted = [trial for trial in result.trials() if trial.parent is not None]
    curves = result.curves()
    assert promoted and {trial.fidelity for trial in promoted} == {3, 9}
    for trial in promoted:
        assert curves[trial.id].steps == tuple(range(1, int(trial.fidelity) + 1))
        assert curves[trial.id].points[0].metrics == {"lr": 0.1}
        assert curves[trial.id].values[-1] == pytest.approx(trial.value)


def test_the_best_checkpoint_is_named_and_there(tmp_path: Path) -> None:
    result = tuned(tmp_path)
    assert result.checkpoint is not None
    assert (result.checkpoint / "model").read_text() == "weights"
    assert result.best is not None
    best = result.trials()[result.best.trial.id]
    assert best.checkpoint == result.checkpoint and best.worker and best.seconds is not None
    assert str(result.checkpoint) in result._repr_html_()


def test_lines_that_were_cut_off_are_left_out(tmp_path: Path) -> None:
    result = tuned(tmp_path)
    with open(tmp_path / "trials" / "0" / "curve-1.jsonl", "a") as file:
        file.write('[1]\n{"step": "x"}\n{"step": 0.5, "value": 7}\n{"step": 2, "lo')
    assert [*result.curves()[0].values] == [7.0, result.trials()[0].value]


def test_a_result_does_not_show_the_password_of_its_study() -> None:
    import pickle

    from priorband.workers.tuned import StudySource

    source = StudySource({"where": "postgresql://me:secret@host/db#s", "space": SPACE})
    assert "secret" not in repr(source) and b"secret" not in pickle.dumps(source)
