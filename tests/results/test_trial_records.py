"""Trials as records and frames: the same for studies in memory and in storage."""

import json
import sys
from pathlib import Path

import pytest

import priorband as pb
from priorband.cli.entry_point import main
from priorband.errors import ExtraError
from priorband.results.trial_records import COLUMNS, TrialRecords

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4), "<b>": pb.Categorical(["<i>", "b"])})
EPOCHS = pb.Fidelity("epochs", 1, 9)


def study_in_memory() -> pb.Study:
    study = pb.Study(SPACE, EPOCHS, "sh", seed=1)
    for number in range(12):
        trial = study.ask()
        if number == 2:
            study.fail(trial, "no <room>", kind="memory")
        else:
            study.tell(trial, number / 10, cost=1, auc=number)
    study.ask()
    return study


def test_a_frame_has_the_columns_of_an_export_and_a_row_for_each_trial() -> None:
    frame = study_in_memory().trials().to_frame()
    names = [*COLUMNS, "config.x", "config.<b>", "metrics.auc", "checkpoint"]
    assert list(frame.columns) == names and len(frame) == 13
    assert list(frame["status"][:3]) == ["succeeded", "succeeded", "failed"]
    assert list(frame["kind"].dropna()) == ["memory"]
    assert list(TrialRecords().to_frame().columns) == [*COLUMNS, "checkpoint"]


def test_a_frame_without_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ExtraError, match=r"pip install 'priorband\[pandas\]'"):
        study_in_memory().trials().to_frame()


def test_slices_are_records_too_and_indexes_are_ids() -> None:
    trials = study_in_memory().trials()
    assert trials[-1].id == 12 and trials[-1].status == "running"
    assert isinstance(trials[1:3], TrialRecords) and [t.id for t in trials[1:3]] == [1, 2]
    assert trials[1:3] == [trials[1], trials[2]]
    assert trials[9].parent == 0 and trials[9].slot == (0, 1) and trials[9].config is not None


def test_notebooks_get_tables_in_which_everything_is_escaped() -> None:
    study = study_in_memory()
    shown = [study, study.trials(), study.trials()[2], study.best, study.ask(), study.curves()]
    for item in shown:
        html = item._repr_html_()  # type: ignore[attr-defined]  # what notebooks call
        assert "<b>'" not in html and "<i>" not in html and "<room>" not in html
        assert "<table>" in html
    assert "no &lt;room&gt;" in study.trials()[2]._repr_html_()
    assert "&lt;i&gt;" in study.trials()._repr_html_()


def test_records_of_a_stored_study_are_those_that_export_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = study_in_memory()
    with pb.open_study(tmp_path, SPACE, EPOCHS, "sh", seed=1) as study:
        study.follow(memory.state.history.events)
        records = study.trials()
    main(["export", str(tmp_path), "--json"])
    exported = json.loads(capsys.readouterr().out)
    for record, row in zip(records, exported, strict=True):
        cells = record.cells()
        for name in {*COLUMNS} - {"asked", "ended"}:
            assert cells[name] == row[name], name
        assert (
            record.asked is not None
            and record.asked.isoformat(timespec="microseconds") == row["asked"]
        )
        assert record.config == row["config"]
    known = ("id", "config", "fidelity", "slot", "origin", "parent", "status", "loss", "reason")
    for record, other in zip(records, memory.trials(), strict=True):
        assert [getattr(record, n) for n in known] == [getattr(other, n) for n in known]
