"""Metrics in what a script prints, and in the file that it reports to."""

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

import priorband as pb
from priorband.workers.metric_reports import REPORT
from priorband.workers.script_metrics import PrintedMetric, ReportedPoint, ReportFile


@pytest.mark.parametrize(
    ("line", "value", "step"),
    [
        ("val_loss=0.31", 0.31, None),
        ("val_loss = -1.5e-3", -0.0015, None),
        ("val_loss: .5", 0.5, None),
        ("val_loss=1", 1, None),
        ("epoch 3: loss=9 val_loss=0.31 lr=1", 0.31, 3),
        ("Epoch 12/27 - loss: 0.2 - val_loss: 0.31", 0.31, 12),
        ("epochs=4 val_loss=0.31", 0.31, 4),
        ("{'epoch': 2, 'val_loss': 0.31}", 0.31, 2),
        ('{"step": 2.5, "val_loss": 0.31}', 0.31, 2.5),
        ("val_loss=0.5 val_loss=0.25", 0.25, None),
        ("val_loss=inf", math.inf, None),
    ],
)
def test_the_usual_forms_are_found(line: str, value: float, step: float | None) -> None:
    assert PrintedMetric("val_loss", fidelity="epochs").find(line) == ReportedPoint(
        {"val_loss": value}, step
    )


@pytest.mark.parametrize(
    "line",
    [
        "",
        "loss=1",
        "best_val_loss=1",
        "val_loss_ema=1",
        "val_loss=high",
        "val_loss",
        "val_loss=1.2.3",
    ],
)
def test_other_lines_are_not(line: str) -> None:
    assert PrintedMetric("val_loss").find(line) is None


def test_a_metric_that_is_not_a_number_any_more_is_found() -> None:
    found = PrintedMetric("val/loss").find("val/loss=nan")
    assert found and math.isnan(found.metrics["val/loss"])


def test_a_pattern_may_say_where_value_and_step_are() -> None:
    one = PrintedMetric("loss", r"validation error is ([\d.]+) %")
    assert one.find("the validation error is 2.5 %") == ReportedPoint({"loss": 2.5})
    both = PrintedMetric("loss", r"\[(?P<step>\d+)\] (?P<value>\S+)")
    assert both.find("[7] 0.5") == ReportedPoint({"loss": 0.5}, 7)
    assert both.find("[7] high") is None


def test_reports_are_read_as_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "report.jsonl"
    reports = ReportFile(place)
    assert [*reports.new_points()] == []
    monkeypatch.setenv(REPORT, str(place))
    pb.report_metric(val_loss=0.5, step=1)
    pb.report_metric(val_loss=float("nan"))
    assert reports.new_points().__next__() == ReportedPoint({"val_loss": 0.5}, 1)
    pb.report_metric(accuracy=1)
    with open(place, "a") as file:
        file.write('no json\n[1]\n{"text": "x"}\n{"val_loss": 2')
    assert [*reports.new_points()] == [ReportedPoint({"accuracy": 1})]
    assert reports.rejected == '{"text": "x"}'
    with open(place, "a") as file:
        file.write("}\n")
    assert [*reports.new_points()] == [ReportedPoint({"val_loss": 2})]


def test_numbers_of_numpy_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    monkeypatch.setenv(REPORT, str(tmp_path / "r"))
    pb.report_metric(a=np.float32(0.5), b=np.int64(3), step=np.int32(2))
    assert json.loads((tmp_path / "r").read_text()) == {"a": 0.5, "b": 3, "step": 2}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "needs a number with its name"),
        ({"loss": "0.3"}, "needs a number for `loss`, got '0.3'"),
        ({"loss": None}, "needs a number for `loss`, got None"),
        ({"loss": 1, "step": "x"}, "needs a number for `step`, got 'x'"),
    ],
)
def test_what_is_no_number_is_an_error_also_outside_of_a_study(
    given: dict[str, Any], message: str
) -> None:
    assert REPORT not in os.environ
    with pytest.raises(TypeError, match=message):
        pb.report_metric(**given)
