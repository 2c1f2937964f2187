"""The paper's own results, and the centres of priors."""

import csv
import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from real_data import paper_folder

from priorband.benchmarks.catalogue import catalogue_entries, catalogue_entry
from priorband.benchmarks.hartmann import Hartmann
from priorband.benchmarks.priors import GENERATION_SEED, QUALITIES, unperturbed_centres
from priorband.errors import DataError, FormatError
from priorband.experiments import prior_centres
from priorband.experiments.cases import Case
from priorband.experiments.paper_results import (
    LAST_BUDGET,
    TABLES_FILE,
    TRACES_FILE,
    PaperCell,
    PaperCellKey,
    authors_traces,
    paper_cells,
)
from priorband.experiments.prior_centres import paper_centres, published_centres
from priorband.experiments.report.full_report import TOPICS
from priorband.experiments.runner import Folders, case_centres
from priorband.plots.drawing.style import display_name

HEAD = "table,horizon,prior,benchmark,algorithm,mean,std,workers,seeds,bold,note"
ROW = "some,5x,near_optimum,PD1-WMT,ASHA(+ESP),0.5,0.25,4,10,0,"
NAME = "hartmann3-good"
CENTRES = {quality: dict(centre) for quality, centre in unperturbed_centres(Hartmann(3)).items()}


# Tables


def test_every_cell_of_the_real_tables_is_read() -> None:
    paper = paper_folder()
    with open(paper / TABLES_FILE, encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    cells = paper_cells(paper)
    assert len(rows) == 924
    for row in rows:
        place = PaperCellKey(
            row["benchmark"],
            {"near_optimum": "near-optimum"}.get(row["prior"], row["prior"]),
            row["algorithm"],
            {"1x": 1.0, "5x": 5.0, "10x": 10.0, "12x": 12.0, "20x": 20.0}[row["horizon"]],
            int(row["workers"]),
        )
        assert cells[place] == PaperCell(float(row["mean"]), float(row["std"]), int(row["seeds"]))


def test_each_table_has_the_expected_number_of_cells() -> None:
    """Two of the parallel tables repeat 84 cells: PriorBand and ASHA are in several."""
    cells = paper_cells(paper_folder())
    found = Counter((place.workers, place.horizon) for place in cells)
    assert found == {
        **{(1, horizon): 12 * 3 * 3 for horizon in (5.0, 12.0)},  # RS, HB, PriorBand
        **{(1, horizon): 12 * 3 * 4 for horizon in (10.0, 20.0)},  # BO, piBO, BOHB, PriorBand+BO
        **{(4, horizon): 7 * 3 * 8 for horizon in (1.0, 5.0)},
    }
    assert {place.prior for place in cells} == set(QUALITIES)


def test_our_topics_find_every_printed_cell_by_our_names() -> None:
    known = {one.paper_name for one in catalogue_entries().values() if one.paper_name}
    wanted = {
        PaperCellKey(benchmark, prior, display_name(method), horizon, topic.workers)
        for topic in TOPICS
        for benchmark in known
        for prior in QUALITIES
        for method in topic.methods
        for horizon in topic.horizons
    }
    assert set(paper_cells(paper_folder())) <= wanted


def test_without_a_folder_there_are_no_results(tmp_path: Path) -> None:
    for paper in (None, tmp_path):
        assert (paper_cells(paper), authors_traces(paper)) == ({}, {})


def test_a_cell_is_read_under_our_names_of_priors(tmp_path: Path) -> None:
    (tmp_path / TABLES_FILE).write_text(f"{HEAD}\n{ROW}\n")
    place = PaperCellKey("PD1-WMT", "near-optimum", "ASHA(+ESP)", 5.0, 4)
    assert paper_cells(tmp_path) == {place: PaperCell(0.5, 0.25, 10)}


@pytest.mark.parametrize(
    "content",
    [
        ROW.encode(),
        f"{HEAD}\nsome\n".encode(),
        f"{HEAD}\n{ROW.replace('0.25', 'much')}\n".encode(),
        f"{HEAD}\n{ROW.replace('5x', 'five')}\n".encode(),
        f"{HEAD}\n{ROW[: ROW.index(',10')]}\n".encode(),
        f"{HEAD}\n".encode() + b"\xff\xfe\n",
    ],
    ids=["no head", "short", "no number", "no horizon", "cut off", "no text"],
)
def test_a_damaged_table_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / TABLES_FILE).write_bytes(content + b"\n" + ROW.encode() + b"\n")
    with pytest.raises(DataError, match=r"tables\.csv does not have the expected content"):
        paper_cells(tmp_path)


# Traces


def test_the_authors_traces_have_fifty_seeds_and_never_rise() -> None:
    traces = authors_traces(paper_folder())
    assert {rows.shape for rows in traces.values()} == {(50, LAST_BUDGET)}
    assert {prior for _, prior, _ in traces} == set(QUALITIES)
    for rows in traces.values():
        known = np.nan_to_num(rows, nan=np.inf)
        assert (known[:, 1:] <= known[:, :-1]).all()


def test_the_traces_of_random_search_are_the_printed_cells() -> None:
    """It has full trainings only, so its lowest loss is the one in the tables."""
    paper = paper_folder()
    traces, cells = authors_traces(paper), paper_cells(paper)
    for (benchmark, prior, algorithm), rows in traces.items():
        if algorithm == "RS" and benchmark != "PD1-ImageNet":
            for horizon in (5, 12):
                printed = cells[PaperCellKey(benchmark, prior, "RS", float(horizon), 1)]
                assert rows[:, horizon - 1].mean() == pytest.approx(printed.mean, abs=6e-4)
                assert rows[:, horizon - 1].std(ddof=1) == pytest.approx(printed.sd, abs=6e-4)


def trace_file(folder: Path, text: str) -> Path:
    path = folder / TRACES_FILE
    path.parent.mkdir()
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(text)
    return path


BUDGETS = ",".join(f"b{k}" for k in range(1, LAST_BUDGET + 1))
TRACE = "PD1-WMT,near_optimum,HB,0,," + ",".join(["0.5"] * (LAST_BUDGET - 1))


def test_a_budget_without_a_result_is_nan(tmp_path: Path) -> None:
    trace_file(tmp_path, f"benchmark,prior,algorithm,seed,{BUDGETS}\n{TRACE}\n{TRACE}\n")
    [(key, rows)] = authors_traces(tmp_path).items()
    assert key == ("PD1-WMT", "near-optimum", "HB")
    assert np.isnan(rows[:, 0]).all() and (rows[:, 1:] == 0.5).all() and rows.shape == (2, 24)


@pytest.mark.parametrize(
    "rows", ["PD1-WMT\n", f"{TRACE},1\nPD1-WMT,good,HB,0,much\n"], ids=["short", "no number"]
)
def test_damaged_traces_are_named(tmp_path: Path, rows: str) -> None:
    trace_file(tmp_path, f"benchmark,prior,algorithm,seed,{BUDGETS}\n{rows}")
    with pytest.raises(DataError, match=r"by_integer_budget\.csv\.gz does not have"):
        authors_traces(tmp_path)


@pytest.mark.parametrize("spoiled", [lambda b: b[:-12], lambda b: b"text", lambda b: b[:40]])
def test_traces_in_a_damaged_archive_are_named(tmp_path: Path, spoiled: object) -> None:
    assert callable(spoiled)
    path = trace_file(tmp_path, f"benchmark,prior,algorithm,seed,{BUDGETS}\n{TRACE}\n")
    path.write_bytes(spoiled(path.read_bytes()))
    with pytest.raises(DataError, match=r"by_integer_budget\.csv\.gz does not have"):
        authors_traces(tmp_path)


# Centres


def test_centres_are_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = paper_centres([catalogue_entry(NAME)], None, tmp_path / "new")
    assert first == {f"paper/{NAME}": CENTRES}

    def never(benchmark: object) -> None:
        raise AssertionError("searched again")

    monkeypatch.setattr(prior_centres, "unperturbed_centres", never)
    assert paper_centres([catalogue_entry(NAME)], None, tmp_path / "new") == first
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["priors.json"]


def test_centres_of_more_benchmarks_are_added_to_the_file(tmp_path: Path) -> None:
    paper_centres([catalogue_entry(NAME)], None, tmp_path)
    both = paper_centres([catalogue_entry("hartmann6-bad")], None, tmp_path)
    assert set(both) == {f"paper/{NAME}", "paper/hartmann6-bad"}
    assert paper_centres([], None, tmp_path) == both


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"seed": 133077}',
        '{"seed": 133077, "centres": []}',
        '{"seed": 133077, "centres": {"paper/hartmann3-good": 5}}',
        json.dumps({"seed": GENERATION_SEED + 1, "centres": {}}),
        '{"seed": 133077, "centres": {"paper/hart',
    ],
)
def test_a_damaged_file_of_centres_or_one_of_another_seed_is_named(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / "priors.json").write_text(content)
    with pytest.raises(FormatError, match=r"priors\.json is damaged: delete it"):
        paper_centres([catalogue_entry(NAME)], None, tmp_path)
    assert (tmp_path / "priors.json").read_text() == content


@pytest.mark.parametrize("rules", ["authors", "published"])
def test_the_authors_centres_stand_for_the_real_benchmark_and_its_stand_in(rules: str) -> None:
    wanted = [one for one in catalogue_entries().values() if one.paper_name]
    found = published_centres(rules, wanted, paper_folder())
    assert set(found) == {f"{rules}/{one.name}" for one in wanted}
    assert {tuple(by_quality) for by_quality in found.values()} == {QUALITIES}
    told = json.loads((paper_folder() / "priors.json").read_text())["benchmarks"]
    near = told["PD1-WMT"]["priors"]["near_optimum"]["config"]
    assert found[f"{rules}/pd1-wmt"]["near-optimum"] == near
    assert found[f"{rules}/pd1-wmt-standin"] == found[f"{rules}/pd1-wmt"]


def test_without_the_authors_centres_the_message_says_how_to_set_them(tmp_path: Path) -> None:
    for paper in (None, tmp_path):
        with pytest.raises(DataError, match="Set it with --paper or PRIORBAND_PAPER"):
            published_centres("published", [catalogue_entry("pd1-wmt")], paper)


def test_a_benchmark_that_the_authors_did_not_run_is_refused_at_once() -> None:
    wanted = [catalogue_entry("pd1-wmt"), catalogue_entry(NAME), catalogue_entry("hartmann6-bad")]
    with pytest.raises(DataError, match="have no priors for hartmann3-good, hartmann6-bad: "):
        published_centres("authors", wanted, paper_folder())


@pytest.mark.parametrize("content", ["", "{}", '{"benchmarks": {"PD1-WMT": {"priors": {}}}}'])
def test_a_damaged_file_of_the_authors_centres_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "priors.json").write_text(content)
    with pytest.raises(DataError, match=r"priors\.json does not have the expected content"):
        published_centres("published", [catalogue_entry("pd1-wmt")], tmp_path)


@pytest.mark.parametrize("rules", ["authors", "published"])
def test_cases_find_their_authors_centres(rules: str, tmp_path: Path) -> None:
    case = Case(rules, "pd1-wmt", "bad", "priorband", 1, 0, 1.0)
    found = case_centres([case], Folders(tmp_path, None, paper_folder()))
    assert list(found) == [f"{rules}/pd1-wmt"]
