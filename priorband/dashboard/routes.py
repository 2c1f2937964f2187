"""The routes: each takes a question and returns an answer, and computes nothing itself."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any, final

from priorband.dashboard.access import Access, new_token
from priorband.dashboard.analyses import (
    ANALYSES,
    OPTIONS,
    analysis_result,
    packed_result,
)
from priorband.dashboard.answers import Question, Reply, error_reply, json_reply
from priorband.dashboard.binary_columns import packed_columns
from priorband.dashboard.edits import EDITS, edited
from priorband.dashboard.feed import StudyFeed
from priorband.dashboard.filters import filter_mask
from priorband.dashboard.problem_json import problem_json
from priorband.dashboard.studies import Studies
from priorband.dashboard.trial_files import trial_files
from priorband.display.overview import as_json as overview_json
from priorband.display.trial_details import trial_details
from priorband.display.trial_text import trial_json
from priorband.durable.notes import Note
from priorband.durable.study import DurableStudy
from priorband.errors import ArgumentError, TrialError
from priorband.study_analysis import StudyData, ancestry, as_json, compare_incumbents

Route = Callable[[Question], Reply]
COLUMNS_TYPE = "application/vnd.priorband.columns"
MOST_COMPARED = 12
_NO_STUDY = error_reply("There is no such study.", 404)


@final
class Routes:
    """The answers of one dashboard."""

    def __init__(self, studies: Studies, access: Access) -> None:
        self.studies = studies
        self.access = access
        self.epoch = new_token()[:8]
        """Tells versions of this server from those of one before it."""

    def reading(self) -> dict[str, Route]:
        """The routes that read, by path."""
        return {
            "/api/session": self.session,
            "/api/studies": self.list_studies,
            "/api/compare": self.compare,
            "/api/studies/{study}": self._of_study(self.study),
            "/api/studies/{study}/trials": self._of_study(self.trials),
            "/api/studies/{study}/trials/{trial:int}": self._of_study(self.trial),
            "/api/studies/{study}/trials/{trial:int}/log": self._of_study(self.log),
            "/api/studies/{study}/analysis/{name}": self._of_study(self.analysis),
            "/api/studies/{study}/notes": self._of_study(self.notes),
        }

    def changing(self) -> dict[str, Route]:
        """The routes that change a study, by path."""
        return {"/api/studies/{study}/edit/{name}": self._of_study(self.edit)}

    def session(self, question: Question) -> Reply:
        """What the page needs to know about this server."""
        del question
        edit = self.access.edit_token if self.access.edits else None
        return json_reply({"version": version("priorband"), "edit": edit})

    def list_studies(self, question: Question) -> Reply:
        """All studies, those that were read already with their overview."""
        del question
        return json_reply([study_summary(feed) for feed in self.studies.feeds()])

    def compare(self, question: Question) -> Reply:
        """The best values of several studies over budget: `studies` has their ids."""
        ids = question.query.get("studies", "").split(",")[:MOST_COMPARED]
        feeds = [feed for feed in map(self.studies.feed, ids) if feed is not None]
        if len(feeds) < len(ids):
            return _NO_STUDY
        return json_reply(as_json(compare_incumbents([feed.data() for feed in feeds])))

    def study(self, feed: StudyFeed, question: Question) -> Reply:
        """One study: its overview and what it is about."""
        del question
        feed.look()
        about = feed.study(problem_json)
        return json_reply({**study_summary(feed), "problem": about})

    def trials(self, feed: StudyFeed, question: Question) -> Reply:
        """The rows of the table of trials that have changed since a version."""
        feed.data()
        epoch, _, known = question.query.get("since", "").partition(":")
        since = int(known) if epoch == self.epoch and known.isdecimal() else 0
        table = feed.table
        about = {"version": f"{self.epoch}:{table.version}", "rows": len(table), "full": not since}
        return Reply(packed_columns(table.since(since), about), COLUMNS_TYPE)

    def trial(self, feed: StudyFeed, question: Question) -> Reply:
        """Everything about one trial."""
        number = int(question.path["trial"])

        def details(study: DurableStudy) -> dict[str, Any]:
            data = trial_json(trial_details(study, number))
            why = study.why(number)
            more = {"why": why.data, "why_text": str(why), "files": trial_files(study, number)}
            return {**data, **more, "lineage": as_json(ancestry(feed.data(), number))}

        return json_reply(feed.study(details))

    def log(self, feed: StudyFeed, question: Question) -> Reply:
        """The end of the log of an attempt."""
        number, attempt = int(question.path["trial"]), question.query.get("attempt", "1")
        if not attempt.isdecimal():
            return error_reply("`attempt` must be a whole number.", 400)

        def end(study: DurableStudy) -> str:
            files = study.checkpoints
            return "" if files is None else files.end_of_log(number, int(attempt))

        return Reply(feed.study(end).encode("utf-8", "replace"), "text/plain; charset=utf-8")

    def analysis(self, feed: StudyFeed, question: Question) -> Reply:
        """The result of an analysis, or why this study does not have it: `{"error": ...}`."""
        name = question.path["name"]
        if name not in ANALYSES:
            return error_reply(f"There is no such analysis. Known: {', '.join(ANALYSES)}.", 404)
        options = {key: question.query[key] for key in OPTIONS if key in question.query}
        text = options.get("filter", "")

        def compute(data: StudyData) -> Any:
            passes = filter_mask(text, feed.table.since(0)) if text.strip() else None
            return feed.study(lambda study: analysis_result(name, data, study, options, passes))

        try:
            result = feed.result((name, *sorted(options.items())), compute)
        except (
            ArgumentError,
            TrialError,
        ) as error:  # an answer, which no console shows as an error
            return json_reply({"error": str(error)})
        if question.query.get("form") == "columns":
            return Reply(packed_result(result), COLUMNS_TYPE)
        return json_reply(as_json(result))

    def notes(self, feed: StudyFeed, question: Question) -> Reply:
        """The notes that are kept in a study."""
        del question
        return json_reply([_note_json(note) for note in feed.notes()])

    def edit(self, feed: StudyFeed, question: Question) -> Reply:
        """Change a study, and return its summary."""
        name = question.path["name"]
        if name not in EDITS:
            return error_reply("There is no such change.", 404)
        edited(feed.place.where, name, question.body)
        feed.look(force=True)
        return json_reply(study_summary(feed))

    def _of_study(self, route: Callable[[StudyFeed, Question], Reply]) -> Route:
        def answer(question: Question) -> Reply:
            feed = self.studies.feed(question.path["study"])
            return _NO_STUDY if feed is None else route(feed, question)

        return answer


def _note_json(note: Note) -> dict[str, Any]:
    about = {"number": note.number, "text": note.text, "trial": note.trial}
    return {**about, "at": note.at, "writer": note.writer}


def study_summary(feed: StudyFeed) -> dict[str, Any]:
    """A study as the list shows it."""
    overview = None if feed.overview is None else overview_json(feed.overview)
    return {
        "id": feed.place.id,
        "name": feed.place.name,
        "where": feed.place.shown,
        "error": feed.error,
        "overview": overview,
        "version": feed.table.version,
        "prior_changes": feed.prior_changes,
    }
