"""The analyses that the page can ask for, by name.

To add one: write a function of a `StudyData` in `priorband.study_analysis`, and name it here. The
page gets it with `useAnalysis(name, options)`.

With the option `filter`, an analysis sees the results of those trials only that pass it: the others
count as if they had not ended.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from priorband.dashboard.binary_columns import TableColumn, packed_columns
from priorband.dashboard.filters import Mask
from priorband.dashboard.study_plan import study_plan
from priorband.display.trial_details import require_trial
from priorband.durable.study import DurableStudy
from priorband.errors import ArgumentError
from priorband.study_analysis import (
    StudyData,
    ancestry,
    as_json,
    chances_over_budget,
    incumbent_over_budget,
    learning_curves,
    parameter_importance,
    prior_changes,
    prior_report,
    results_over_budget,
    rung_agreement,
    rung_flow,
    study_points,
    worker_timeline,
)
from priorband.study_analysis.trial_columns import NONE, RUNNING
from priorband.values import field_names, replaced

Options = Mapping[str, str]
Analysis = Callable[[StudyData, DurableStudy, Options], Any]
"""From a study and the options of the request to a result that `as_json` takes."""

MOST_CURVE_POINTS = 40_000
OPTIONS = ("filter", "trial", "rung")
"""The options that an analysis may have; others are ignored."""


def analysis_result(
    name: str, data: StudyData, study: DurableStudy, options: Options, passes: Mask | None
) -> Any:
    """The result of an analysis; `passes` says which trials pass the filter."""
    if passes is not None:
        data = filtered_data(data, passes)
    return ANALYSES[name](data, study, options)


def packed_result(result: Any) -> bytes:
    """A result as columns: its arrays of numbers as blocks, all else in what `about` says."""
    fields = (
        dict(result)
        if isinstance(result, Mapping)
        else {name: getattr(result, name) for name in field_names(result)}
    )
    arrays = {name: one for name, one in fields.items() if _is_column(one)}
    about = {name: as_json(one) for name, one in fields.items() if name not in arrays}
    return packed_columns([_column(name, one) for name, one in arrays.items()], about)


def _is_column(field: Any) -> bool:
    return isinstance(field, np.ndarray) and field.ndim == 1 and field.dtype.kind in "fiub"


def _column(name: str, array: "np.ndarray[Any, Any]") -> TableColumn:
    kind = "f8" if array.dtype.kind == "f" else "i4"
    return TableColumn(name, name, "analysis", kind, array)


def filtered_data(data: StudyData, passes: Mask) -> StudyData:
    """A study in which the trials that do not pass have no results."""
    trials = data.trials
    changed = replaced(
        trials,
        status=np.where(passes, trials.status, RUNNING),
        loss=np.where(passes, trials.loss, np.nan),
        failure=np.where(passes, trials.failure, NONE),
        order=trials.order[passes[trials.order]],
    )
    return replaced(data, trials=changed)


def _curves(data: StudyData, study: DurableStudy, options: Options) -> Any:
    del options
    return learning_curves(data, study_points(study), most_points=MOST_CURVE_POINTS)


def _importance(data: StudyData, study: DurableStudy, options: Options) -> Any:
    del study
    return parameter_importance(data, _whole(options, "rung"))


def _ancestry(data: StudyData, study: DurableStudy, options: Options) -> Any:
    number = _whole(options, "trial")
    if number is not None:
        require_trial(study, number)
    return ancestry(data, number)


def _plan(data: StudyData, study: DurableStudy, options: Options) -> Any:
    del options
    return study_plan(data, study)


def _of_data(function: Callable[[StudyData], Any]) -> Analysis:
    return lambda data, study, options: function(data)


ANALYSES: dict[str, Analysis] = {
    "ancestry": _ancestry,
    "chances": _of_data(chances_over_budget),
    "curves": _curves,
    "importance": _importance,
    "incumbent": _of_data(incumbent_over_budget),
    "plan": _plan,
    "prior-changes": _of_data(prior_changes),
    "prior-report": _of_data(prior_report),
    "results": _of_data(results_over_budget),
    "rung-agreement": _of_data(rung_agreement),
    "rung-flow": _of_data(rung_flow),
    "timeline": _of_data(worker_timeline),
}


def _whole(options: Options, name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 9:
        raise ArgumentError(f"`{name}` must be a whole number, got {text[:40]!r}.")
    return int(text)
