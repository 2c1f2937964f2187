"""The report's sections on guardband."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from priorband.analysis.scale import CAP, RegretScale
from priorband.benchmarks.catalogue import catalogue_entry
from priorband.errors import FormatError
from priorband.experiments.cases import PRIORS, Case, CaseGrid
from priorband.experiments.regret_scales import SCALES_FILE, regret_scales
from priorband.experiments.report.full_report import write_report
from priorband.experiments.report.regret_points import RegretPoints
from priorband.experiments.report.results import Results
from priorband.experiments.run_record import COLUMNS, RunRecord
from priorband.experiments.runner import Folders, run_cases

NAMES = ("hartmann3-good", "hartmann6-terrible")


def record(
    method: str, prior: str, seed: int, losses: list[float], budget: float = 2.0
) -> RunRecord:
    """A run of full trainings with some losses."""
    n = len(losses)
    columns = {name: np.zeros(n, dtype=kind) for name, kind in COLUMNS.items()}
    columns["loss"] = columns["full"] = np.array(losses)
    columns["cost"], columns["parent"] = np.ones(n), np.full(n, -1, dtype=np.int32)
    columns["ended"] = np.arange(n, dtype=np.int32)
    case = Case("paper", NAMES[0], prior, method, 1, seed, budget)
    return RunRecord(case, columns, np.zeros((n, 1)))


def points(*records: RunRecord, horizons: tuple[float, ...] = (1.0, 2.0)) -> RegretPoints:
    return RegretPoints(Results(records), dict.fromkeys(NAMES, RegretScale(0.0, 2.0)), horizons)


def test_regret_is_that_of_the_incumbent_at_the_horizon() -> None:
    found = points(record("guardband", "bad", 7, [4.0, 1.0]))
    assert found.scores("guardband", "bad", 1.0, NAMES) == {NAMES[0]: {("bad", 7): 200.0}}
    assert found.scores("guardband", "bad", 2.0, NAMES) == {NAMES[0]: {("bad", 7): 50.0}}
    assert found.scores("guardband", "good", 2.0, NAMES) == {}


def test_a_run_without_a_success_has_the_highest_regret() -> None:
    found = points(record("guardband", "bad", 7, [math.nan, 1.0]))
    assert found.scores("guardband", "bad", 1.0, NAMES) == {NAMES[0]: {("bad", 7): CAP}}


def test_a_run_counts_only_up_to_its_budget() -> None:
    found = points(
        record("guardband", "bad", 7, [1.0]),
        record("guardband", "bad", 8, [1.0], budget=50.0),
        horizons=(50.0,),
    )
    assert found.scores("guardband", "bad", 50.0, NAMES) == {NAMES[0]: {("bad", 8): 50.0}}


def test_one_run_without_a_prior_is_paired_with_those_of_each_prior() -> None:
    found = points(
        record("hyperband", "none", 7, [2.0, 2.0]),
        record("guardband", "bad", 7, [3.0, 3.0]),
        record("guardband", "flat", 7, [2.0, 2.0]),
    )
    comparison = found.compared("guardband", "hyperband", "all", 2.0, NAMES)
    assert comparison is not None
    assert (comparison.ours, comparison.theirs, comparison.benchmarks) == (125.0, 100.0, 1)


def test_regrets_and_ranks_are_means_over_the_runs_that_all_methods_have() -> None:
    found = points(
        *(record("hyperband", "none", seed, [2.0, 2.0]) for seed in (1, 2, 3)),
        record("guardband", "bad", 1, [1.0, 1.0]),
        record("guardband", "bad", 2, [2.0, 2.0]),
    )
    methods = ("hyperband", "guardband")
    regret, rank, number = found.mean_regret_and_rank(methods, "bad", 2.0, NAMES)
    assert (regret, number) == ({"hyperband": 100.0, "guardband": 75.0}, 1)
    assert rank == {"hyperband": 1.75, "guardband": 1.25}  # 2 and 1.5; 1 and 1.5


def test_scales_are_stored_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    entry = catalogue_entry(NAMES[0])
    scales = regret_scales([entry], None, tmp_path)
    stored = json.loads((tmp_path / SCALES_FILE).read_text())
    assert stored[NAMES[0]][1:] == [scales[NAMES[0]].best, scales[NAMES[0]].median]
    stored[NAMES[0]][2] = 7.0
    (tmp_path / SCALES_FILE).write_text(json.dumps(stored))
    assert regret_scales([entry], None, tmp_path)[NAMES[0]].median == 7.0
    (tmp_path / SCALES_FILE).write_text("[]")
    with pytest.raises(FormatError, match="is damaged"):
        regret_scales([entry], None, tmp_path)


def test_the_report_has_the_experiment_apart_from_the_papers(tmp_path: Path) -> None:
    methods = ("hyperband", "priorband", "guardband", "guardband(no-guard)")
    grids = [
        CaseGrid("paper", NAMES, PRIORS, methods, range(1000, 1002), 1, 2.0),
        CaseGrid("paper", NAMES[:1], ("bad",), ("hyperband", "priorband"), range(2), 1, 2.0),
    ]
    run_cases((case for grid in grids for case in grid.cases()), Folders(tmp_path), 1)
    folder = write_report(Folders(tmp_path), (), lambda text: None).parent
    text = (folder / "report.md").read_text(encoding="utf-8")
    titles = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert "Beyond the paper, confirmation seeds: verdict on the default rule" in titles
    assert "Beyond the paper, confirmation seeds: ablations" in titles
    assert "Where our methods lose, confirmation seeds" in titles
    assert not [title for title in titles if "development seeds" in title]
    with open(folder / "single-paper-2x.csv", encoding="utf-8", newline="") as lines:
        assert {row["seeds"] for row in csv.DictReader(lines)} == {"2"}  # not those from 1000 on
    with open(folder / "beyond-confirmation-verdict.csv", encoding="utf-8", newline="") as lines:
        verdicts = {(r["method"], r["verdict"]) for r in csv.DictReader(lines)}
    assert ("guardband+bo", "not run") in verdicts
    assert ("guardband+bo", "holds") not in verdicts
