"""What a report has of each study: the answers that the dashboard would give, asked beforehand.

In a long study, the pages of some trials only have everything: those that led to the best ones, the
best of each rung, and some that failed. The others show what is in the table of trials. Learning
curves, results and chances are thinned as in the dashboard, and the charts say so.
"""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from priorband.dashboard.access import Access
from priorband.dashboard.analyses import ANALYSES
from priorband.dashboard.answers import Question, Reply
from priorband.dashboard.feed import StudyFeed
from priorband.dashboard.routes import Routes
from priorband.dashboard.studies import Studies
from priorband.errors import PriorbandError
from priorband.study_analysis import StudyData, ancestry, incumbent_over_budget
from priorband.study_analysis.trial_columns import FAILED, SUCCEEDED

ALL_DETAILS = 300
"""A study with at most this many trials has the details of all of them."""
SOME_DETAILS = 60
"""How many trials of a longer one have them."""


def report_data(studies: Studies) -> dict[str, Any]:
    """Everything that a report shows, as plain data.

    Raises:
        PriorbandError: if a study cannot be read.
    """
    routes = Routes(studies, Access(token="", port=0))
    feeds = studies.feeds()
    return {
        "version": version("priorband"),
        "studies": [_study(routes, feed) for feed in feeds],
        "compared": _answered(
            routes, "/api/compare", {}, {"studies": ",".join(feed.place.id for feed in feeds)}
        ),
    }


def _study(routes: Routes, feed: StudyFeed) -> dict[str, Any]:
    data, path = feed.data(), {"study": feed.place.id}
    prefix = "/api/studies/{study}"
    summary = _content(_reply(routes, prefix, path))
    problem = summary.pop("problem")
    table = _reply(routes, f"{prefix}/trials", path).body
    details = {
        str(number): _content(
            _reply(routes, f"{prefix}/trials/{{trial:int}}", {**path, "trial": str(number)})
        )
        for number in detailed_trials(data)
    }
    return {
        "summary": summary,
        "problem": problem,
        "table": base64.b64encode(gzip.compress(table, 9, mtime=0)).decode(),
        "trials": details,
        "notes": _content(_reply(routes, f"{prefix}/notes", path)),
        "analyses": {
            name: {
                _key(options): _answered(
                    routes, f"{prefix}/analysis/{{name}}", {**path, "name": name}, options
                )
                for options in _options(name, data)
            }
            for name in ANALYSES
        },
    }


def detailed_trials(data: StudyData) -> list[int]:
    """The trials whose pages have everything."""
    trials = data.trials
    if len(trials) <= ALL_DETAILS:
        return list(range(len(trials)))
    history = incumbent_over_budget(data)
    wanted = [*reversed(ancestry(data).trial.tolist())]
    wanted += [
        *reversed(history.full.trial.tolist()),
        *reversed(history.any_fidelity.trial.tolist()),
    ]
    for rung in reversed(range(data.ladder.top + 1)):
        here = np.flatnonzero((trials.rung == rung) & (trials.status == SUCCEEDED))
        wanted += here[np.argsort(trials.loss[here], kind="stable")][:8].tolist()
    wanted += np.flatnonzero(trials.status == FAILED)[-8:].tolist()
    return sorted([*dict.fromkeys(wanted)][:SOME_DETAILS])


def _options(name: str, data: StudyData) -> Iterator[Mapping[str, str]]:
    """The choices of an analysis that the report has the results of."""
    yield {}
    if name == "importance":
        yield from ({"rung": str(rung)} for rung in range(data.ladder.top + 1))
    if name == "ancestry":
        yield from ({"trial": str(number)} for number in detailed_trials(data))


def _key(options: Mapping[str, str]) -> str:
    return "&".join(f"{name}={value}" for name, value in options.items())


def _reply(
    routes: Routes, route: str, path: Mapping[str, str], query: Mapping[str, str] | None = None
) -> Reply:
    return routes.reading()[route](Question(path, query or {}))


def _content(reply: Reply) -> Any:
    return json.loads(reply.body)


def _answered(
    routes: Routes, route: str, path: Mapping[str, str], query: Mapping[str, str]
) -> dict[str, Any]:
    """A result, or why there is none."""
    try:
        found = _content(_reply(routes, route, path, query))
    except PriorbandError as error:
        return {"error": str(error)}
    refused = isinstance(found, dict) and isinstance(found.get("error"), str)
    return found if refused else {"result": found}
