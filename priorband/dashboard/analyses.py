"""The analyses that the page can ask for, by name. Each returns plain data.

To add one: write a function of a `StudyData` in `priorband.study_analysis`, and name it here. The
page gets it with `source.analysis(study, name)`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from priorband.study_analysis import StudyData, as_json, incumbent_over_budget, rung_flow

Analysis = Callable[[StudyData, Mapping[str, str]], Any]
"""From a study and the options of the request to a result that `as_json` takes."""

ANALYSES: dict[str, Analysis] = {
    "incumbent": lambda data, options: incumbent_over_budget(data),
    "rung-flow": lambda data, options: rung_flow(data),
}
OPTIONS = ("trial", "rung", "to_rung")
"""The options that an analysis may read; others do not make it compute again."""


def analysis_data(name: str, data: StudyData, options: Mapping[str, str]) -> Any:
    """The result of an analysis as plain data."""
    return as_json(ANALYSES[name](data, options))
