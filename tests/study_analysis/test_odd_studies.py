"""Every analysis copes with every study, and all results are plain JSON."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysed_studies import EPOCHS, SPACE, busy, in_memory, work
from stored_studies import CONDITIONAL, fill

import priorband as pb
from priorband import study_analysis
from priorband.study import BaseStudy
from priorband.study_analysis import StudyData, as_json, study_data
from priorband.study_analysis.json_form import as_json as plain_json

ONE = pb.Space(x=pb.Float(0, 1))


def _one_trial() -> BaseStudy:
    study = in_memory()
    study.tell(study.ask(), 0.5)
    return study


def _asked_only() -> BaseStudy:
    study = in_memory()
    study.ask()
    return study


def _all_failed() -> BaseStudy:
    study = pb.Study(ONE, EPOCHS, "priorband")
    for _ in range(40):
        study.fail(study.ask(), "no", kind="diverged")
    return study


def _one_rung() -> BaseStudy:
    study = pb.Study(ONE, method="random+prior(50%)", prior={"x": 0.3})
    for count in range(40):
        study.tell(study.ask(), count % 3)
    return study


def _imported_only() -> BaseStudy:
    study = pb.Study(ONE, EPOCHS, "asha")
    for count in range(30):
        study.add({"x": count / 30}, count, 1 + count % 27)
    return study


def _equal_losses() -> BaseStudy:
    study = pb.Study(pb.Space(x=pb.Categorical(["only"])), EPOCHS, "asha", maximize=True)
    for _ in range(60):
        study.tell(study.ask(), 1e308)
    return study


def _working(method: str, maximize: bool = False) -> BaseStudy:
    study = in_memory(method, maximize=maximize)
    for _ in work(study, 60, workers=4):
        pass
    return study


STUDIES: dict[str, Callable[[], BaseStudy]] = {
    "no trials": in_memory,
    "asked only": _asked_only,
    "one trial": _one_trial,
    "all failed": _all_failed,
    "one rung": _one_rung,
    "imported only": _imported_only,
    "equal losses": _equal_losses,
    "maximised": lambda: _working("asha+esp", maximize=True),
    "busy": lambda: busy(in_memory()),
    "guardband": lambda: _working("guardband"),
    "grid": lambda: _working("grid"),
}
ANALYSES: dict[str, Callable[[StudyData], Any]] = {
    "incumbent": study_analysis.incumbent_over_budget,
    "curves": study_analysis.learning_curves,
    "thinned curves": lambda data: study_analysis.learning_curves(data, most_points=10),
    "flow": study_analysis.rung_flow,
    "chances": study_analysis.chances_over_budget,
    "agreement": study_analysis.rung_agreement,
    "importance": study_analysis.parameter_importance,
    "timeline": study_analysis.worker_timeline,
    "ancestry": study_analysis.ancestry,
    "columns": study_analysis.config_columns,
    "compare": lambda data: study_analysis.compare_incumbents([data, data]),
}


@pytest.mark.parametrize("name", STUDIES)
def test_every_analysis_copes_with_every_study(name: str) -> None:
    data = study_data(STUDIES[name]())
    for analysis in ANALYSES.values():
        result = as_json(analysis(data))
        assert isinstance(result, dict)
        assert json.loads(json.dumps(result, allow_nan=False)) == result


@pytest.mark.parametrize("space", [SPACE, CONDITIONAL], ids=["flat", "conditional"])
def test_every_analysis_copes_with_a_stored_study(tmp_path: Path, space: pb.Space) -> None:
    with pb.open_study(tmp_path / "s", space, pb.Fidelity("epochs", 1, 9)) as study:
        if space is CONDITIONAL:
            fill(study, 40)
        else:
            busy(study, 40)
        data = study_data(study)
        for analysis in ANALYSES.values():
            json.dumps(as_json(analysis(data)), allow_nan=False)
        points = study_analysis.study_points(study)
        assert len(study_analysis.learning_curves(data, points).step) > 0


def test_what_is_not_finite_is_null_and_an_array_is_a_list() -> None:
    rows = np.array([[1.0, math.nan], [math.inf, 2.0]])
    assert plain_json(rows) == [[1.0, None], [None, 2.0]]
    assert plain_json({"a": (np.int64(1), np.float64("nan"), True, None, "x")}) == {
        "a": [1, None, True, None, "x"]
    }
    assert plain_json(np.array([True, False])) == [True, False]
    with pytest.raises(TypeError, match="not a result"):
        plain_json(object())
    with pytest.raises(TypeError, match="not a result"):
        plain_json({1, 2})
