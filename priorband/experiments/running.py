"""Run a grid: what is done stays done, however often it is cut off."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, final

from priorband.benchmarks.catalogue import entry
from priorband.errors import DataError
from priorband.experiments.cases import NO_PRIOR, Case
from priorband.experiments.centres import paper_centres, published_centres
from priorband.experiments.crew import worked
from priorband.experiments.rules import Centres
from priorband.experiments.store import Store
from priorband.values import frozen

TIMES = "times.csv"


class Watcher(Protocol):
    """Somebody who wants to see how far it is."""

    def begin(self, todo: Sequence[Case], done: int) -> None:
        """These are to be run; so many were done before."""

    def ran(self, case: Case, seconds: float) -> None:
        """One more is done, for so much processor time."""

    def end(self) -> None:
        """All are."""


@final
@frozen
class Places:
    """The folders of an experiment."""

    results: Path
    data: Path | None = None
    paper: Path | None = None


def run_cases(
    cases: Iterable[Case], places: Places, processes: int = 1, watcher: Watcher | None = None
) -> Path:
    """Run what is not done yet, and put all together; the file of the results."""
    wanted = list({case.key: case for case in cases}.values())
    store = Store(places.results)
    with store.writing():
        _check(wanted, places)
        store.about({name: _digest(name, places.data) for name in _names(wanted)})
        centres = all_centres(wanted, places)
        todo = [case for case in wanted if not store.has(case)]
        if watcher is not None:
            watcher.begin(todo, len(wanted) - len(todo))
        with open(
            places.results / TIMES, "a", encoding="utf-8", errors="backslashreplace", newline=""
        ) as file:
            times = csv.writer(file)
            for done in worked(todo, processes, places.data, centres):
                store.add(done.record)
                times.writerow([*done.record.case.key, f"{done.seconds:.3f}"])
                file.flush()
                if watcher is not None:
                    watcher.ran(done.record.case, done.seconds)
        if watcher is not None:
            watcher.end()
        return store.seal()


def all_centres(cases: Sequence[Case], places: Places) -> Centres:
    """The centres of all priors that cases name."""
    informed = [case for case in cases if case.prior != NO_PRIOR]
    by_text = [entry(name) for name in _names(c for c in informed if c.rules == "paper")]
    found = dict(paper_centres(by_text, places.data, places.results))
    for rules in ("authors", "published"):
        told = [entry(name) for name in _names(c for c in informed if c.rules == rules)]
        if told:
            found |= published_centres(rules, told, places.paper)
    return found


def _names(cases: Iterable[Case]) -> list[str]:
    return list(dict.fromkeys(case.benchmark for case in cases))


def _check(cases: Sequence[Case], places: Places) -> None:
    """Refuse at once what would fail in the middle."""
    for name in _names(cases):
        missing = entry(name).missing(places.data)
        if missing:
            raise DataError(f"The benchmark {name} needs {missing}.")


def _digest(name: str, data: Path | None) -> str:
    return entry(name).digest(data)
