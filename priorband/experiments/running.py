"""Run a grid: what is done stays done, however often it is cut off."""

import csv
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Protocol, final

from priorband.benchmarks.catalogue import catalogue_entry, require_benchmark
from priorband.experiments.cases import NO_PRIOR, Case
from priorband.experiments.centres import PUBLISHED, paper_centres, published_centres
from priorband.experiments.processes import worked
from priorband.experiments.rules import Centres
from priorband.experiments.store import Store
from priorband.values import frozen

TIMES = "times.csv"
CODE = "1"
"""A number that is raised with every change of what runs decide or record.

The tests hold the results of a small grid to it.
"""


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
    longest = sorted(cases, key=lambda case: case.budget)
    wanted = sorted({case.key: case for case in longest}.values(), key=lambda case: case.seed)
    store = Store(places.results)
    with store.writing():
        for name in _names(wanted):
            require_benchmark(name, places.data)
        store.about(made_of(wanted, places))
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


def made_of(cases: Sequence[Case], places: Places) -> dict[str, str]:
    """What decides the results of cases besides their names: code, data, the authors' priors."""
    found = {"code": CODE}
    for name in _names(cases):
        if not catalogue_entry(name).missing(places.data):
            found[f"data of {name}"] = catalogue_entry(name).digest(places.data)
    told = places.paper / PUBLISHED if places.paper is not None else None
    if told is not None and told.is_file() and any(case.rules != "paper" for case in cases):
        found["authors' priors"] = blake2b(told.read_bytes(), digest_size=8).hexdigest()
    return found


def all_centres(cases: Sequence[Case], places: Places) -> Centres:
    """The centres of all priors that cases name."""
    informed = [case for case in cases if case.prior != NO_PRIOR]
    by_text = [catalogue_entry(name) for name in _names(c for c in informed if c.rules == "paper")]
    found = dict(paper_centres(by_text, places.data, places.results))
    for rules in ("authors", "published"):
        told = [catalogue_entry(name) for name in _names(c for c in informed if c.rules == rules)]
        if told:
            found |= published_centres(rules, told, places.paper)
    return found


def _names(cases: Iterable[Case]) -> list[str]:
    return list(dict.fromkeys(case.benchmark for case in cases))
