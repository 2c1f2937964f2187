"""Run cases and store their results. An interrupted run continues where it stopped."""

import csv
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Protocol, final

from priorband.benchmarks.catalogue import catalogue_entry, require_benchmark
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.cases import RULES, Case
from priorband.experiments.prior_centres import (
    PAPER_CENTRES_FILE,
    paper_centres,
    published_centres,
)
from priorband.experiments.process_pool import run_in_processes
from priorband.experiments.result_store import ResultStore
from priorband.experiments.rules import Centres
from priorband.values import frozen

TIMES_FILE = "times.csv"
CODE = "1"
"""The version of the runs' decisions and records, which must increase when either changes.

Tests compare the results of a small grid with the digest for this version.
"""


class ProgressListener(Protocol):
    """An object that is notified of the progress of runs."""

    def begin(self, todo: Sequence[Case], done: int) -> None:
        """Called at the start, with the runs to do and the number of runs done before."""

    def case_done(self, case: Case, seconds: float) -> None:
        """Called after each run, with its CPU time in seconds."""

    def end(self) -> None:
        """Called when all runs are done."""


@final
@frozen
class Folders:
    """The folders of an experiment: its results, the benchmarks' data, the paper's results."""

    results: Path
    data: Path | None = None
    paper: Path | None = None


def run_cases(
    cases: Iterable[Case],
    folders: Folders,
    processes: int = 1,
    listener: ProgressListener | None = None,
) -> Path:
    """Run the cases that are not done yet, and return the path of the results' archive."""
    by_budget = sorted(cases, key=lambda case: case.budget)
    wanted = sorted({case.key: case for case in by_budget}.values(), key=lambda case: case.seed)
    store = ResultStore(folders.results)
    with store.write_lock():
        for name in _benchmark_names(wanted):
            require_benchmark(name, folders.data)
        store.add_inputs(input_digests(wanted, folders))
        centres = case_centres(wanted, folders)
        todo = [case for case in wanted if not store.has(case)]
        if listener is not None:
            listener.begin(todo, len(wanted) - len(todo))
        with open(
            folders.results / TIMES_FILE,
            "a",
            encoding="utf-8",
            errors="backslashreplace",
            newline="",
        ) as file:
            times = csv.writer(file)
            for finished in run_in_processes(todo, processes, folders.data, centres):
                store.add(finished.record)
                times.writerow([*finished.record.case.key, f"{finished.seconds:.3f}"])
                file.flush()
                if listener is not None:
                    listener.case_done(finished.record.case, finished.seconds)
        if listener is not None:
            listener.end()
        return store.pack()


def input_digests(cases: Sequence[Case], folders: Folders) -> dict[str, str]:
    """Digests of what results depend on besides the cases: code, data and the authors' priors."""
    digests = {"code": CODE}
    for name in _benchmark_names(cases):
        if not catalogue_entry(name).missing(folders.data):
            digests[f"data of {name}"] = catalogue_entry(name).digest(folders.data)
            if catalogue_entry(name).package == "xgboost":
                digests[f"reader of {name}"] = "xgboost"  # an earlier reader rounded otherwise
    priors = folders.paper / PAPER_CENTRES_FILE if folders.paper is not None else None
    if priors is not None and priors.is_file() and any(case.rules != "paper" for case in cases):
        digests["authors' priors"] = blake2b(priors.read_bytes(), digest_size=8).hexdigest()
    return digests


def case_centres(cases: Sequence[Case], folders: Folders) -> Centres:
    """The centres of the paper's priors of some cases, searched or read from files."""
    by_rules = {
        rules: [
            catalogue_entry(name)
            for name in _benchmark_names(
                case for case in cases if case.rules == rules and case.prior in QUALITIES
            )
        ]
        for rules in RULES
    }
    centres = dict(paper_centres(by_rules["paper"], folders.data, folders.results))
    for rules in ("authors", "published"):
        if by_rules[rules]:
            centres |= published_centres(rules, by_rules[rules], folders.paper)
    return centres


def _benchmark_names(cases: Iterable[Case]) -> list[str]:
    return list(dict.fromkeys(case.benchmark for case in cases))
