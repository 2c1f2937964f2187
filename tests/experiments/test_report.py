"""The report from end to end: from runs to a self-contained page."""

import csv
import json
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_data import data_folder, paper_folder

from experiments.html_pages import Page, check_needs_nothing
from priorband.benchmarks.catalogue import catalogue_entry
from priorband.errors import DataError, ExtraError, FormatError
from priorband.experiments.cases import CaseGrid
from priorband.experiments.report import fidelity_correlation
from priorband.experiments.report.blocks import ReportTable
from priorband.experiments.report.costs import cost_section
from priorband.experiments.report.fidelity_correlation import (
    correlation_section,
    fidelity_correlations,
)
from priorband.experiments.report.full_report import write_report
from priorband.experiments.runner import TIMES_FILE, Folders, run_cases

NAME = "hartmann3-good"


def quiet(said: str) -> None:
    pass


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


# Hartmann, one and four workers


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report on a small grid."""
    results = tmp_path_factory.mktemp("story")
    priors = ("good", "bad")
    grids = [
        CaseGrid("paper", (NAME,), priors, ("random", "hyperband", "priorband"), range(3), 1, 6.0),
        CaseGrid("paper", (NAME,), priors, ("asha",), range(2), 4, 1.0),
    ]
    folders = Folders(results)
    run_cases((case for grid in grids for case in grid.cases()), folders, 1)
    page = write_report(folders, (), quiet)
    assert page == results / "report" / "report.html"
    return page.parent


def test_a_report_has_its_files(story: Path) -> None:
    assert {path.name for path in story.iterdir()} == {
        *("report.html", "report.md", "files.txt"),
        *("single-paper-5x.csv", "parallel-paper-1x.csv"),
        *("ranks-single-paper.csv", "ranks-single-paper.svg"),
        *("regret-single-paper-good.svg", "regret-single-paper-bad.svg"),
        *("priors.svg", "chances-hartmann.svg", "correlations.csv", "correlations.svg"),
        "costs.csv",
    }


def test_a_report_has_its_sections_on_the_page_and_in_markdown(story: Path) -> None:
    page = (story / "report.html").read_text()
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles == [
        "About this report",
        "One worker: RS, HB and PriorBand, under the paper&#x27;s text",
        "Four workers, under the paper&#x27;s text",
        "Priors: their quality, and how much PriorBand draws from them",
        "How well low fidelities rank configurations",
        "CPU time",
    ]
    text = (story / "report.md").read_text()
    found = re.findall("^## (.*)$", text, re.MULTILINE)
    assert found == [title.replace("&#x27;", "'") for title in titles]
    for figure in re.findall(r"\]\((.*?)\)", text):
        assert (story / figure).is_file()


def test_the_page_is_self_contained(story: Path) -> None:
    page = Page((story / "report.html").read_text())
    check_needs_nothing(page)
    assert page.tags["svg"] == page.tags["figure"] == len(list(story.glob("*.svg")))
    assert page.tags["table"] == len(list(story.glob("*.csv")))


def test_no_cell_says_nan(story: Path) -> None:
    for path in story.iterdir():
        if path.suffix != ".svg":
            shown = re.sub("<svg.*?</svg>", "", path.read_text(), flags=re.DOTALL)
            assert not re.search(r"\bnan\b|\binf\b|None", shown)


def test_a_grid_of_two_priors_is_not_ranked_as_all_three(story: Path) -> None:
    groups = {row["group"] for row in rows(story / "ranks-single-paper.csv")}
    assert {"good and bad priors", "good prior", "bad prior"} <= groups
    assert not {"all three priors", "near-optimum prior"} & groups


def test_ranks_of_a_cell_add_up(story: Path) -> None:
    sums: dict[str, float] = defaultdict(float)
    for row in rows(story / "ranks-single-paper.csv"):
        sums[row["group"]] += float(row["mean_rank"])
    assert list(sums.values()) == pytest.approx([1 + 2 + 3] * len(sums), abs=1e-5)


def test_a_benchmark_is_ranked_in_the_class_of_its_correlation_over_200_repeats(
    story: Path,
) -> None:
    [(kind, repeats)] = [(r["class"], r["repeats"]) for r in rows(story / "correlations.csv")]
    assert repeats == "200"
    groups = {row["group"] for row in rows(story / "ranks-single-paper.csv")}
    assert {g.split()[0] for g in groups if "correlation" in g} == {kind}


def test_several_workers_have_a_table_of_their_own(story: Path) -> None:
    found = rows(story / "parallel-paper-1x.csv")
    assert {(row["workers"], row["method"], row["seeds"]) for row in found} == {("4", "asha", "2")}
    assert "Loss at 1 full training for each of 4 workers" in (story / "report.md").read_text()


def test_the_cpu_time_of_runs_is_listed_by_method(story: Path) -> None:
    found = {(row["method"], row["workers"]): row["runs"] for row in rows(story / "costs.csv")}
    assert found == {
        **{("random", "1"): "3", ("hyperband", "1"): "3"},
        **{("priorband", "1"): "6", ("asha", "4"): "2"},
    }


# Folders


def small(folder: Path, *methods: str, seeds: int = 2) -> Path:
    grid = CaseGrid("paper", (NAME,), ("good",), methods, range(seeds), 1, 1.0)
    run_cases(grid.cases(), Folders(folder), 1)
    return folder


def test_results_of_several_folders_are_shown_together(tmp_path: Path) -> None:
    one, other = small(tmp_path / "one", "random"), small(tmp_path / "other", "hyperband")
    said: list[str] = []
    write_report(Folders(one), [other], said.append)
    assert said[0] == "4 runs on 1 benchmark."
    found = rows(one / "report" / "single-paper-1x.csv")
    assert {row["method"] for row in found} == {"random", "hyperband"}
    assert {row["runs"] for row in rows(one / "report" / "costs.csv")} == {"2"}
    assert not (other / "report").exists()


def test_a_method_alone_below_the_papers_horizons_still_has_its_table(tmp_path: Path) -> None:
    folders = Folders(small(tmp_path, "random", seeds=1))
    longer = CaseGrid("paper", (NAME,), ("good",), ("asha",), range(1), 4, 6.0)
    run_cases(longer.cases(), folders, 1)
    page = write_report(folders, (), quiet)
    [row] = [r for r in rows(page.parent / "single-paper-1x.csv") if r["prior"] == "good"]
    assert (row["method"], row["seeds"], row["sd"]) == ("random", "1", "")
    assert "nan" not in (page.parent / "report.md").read_text()


def test_a_method_that_ran_with_several_numbers_of_workers_has_a_table_for_each(
    tmp_path: Path,
) -> None:
    grids = [
        CaseGrid("paper", (NAME,), ("good",), ("priorband",), range(2), workers, budget)
        for workers, budget in ((1, 3.0), (2, 1.0))
    ]
    run_cases((case for grid in grids for case in grid.cases()), Folders(tmp_path), 1)
    folder = write_report(Folders(tmp_path), (), quiet).parent
    assert [row["workers"] for row in rows(folder / "other-2-paper-1x.csv")] == ["2"]
    assert [row["workers"] for row in rows(folder / "single-paper-3x.csv")] == ["1"]


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There are no results in .*none\. Create some with"):
        write_report(Folders(tmp_path / "none"), (), quiet)
    assert not (tmp_path / "none").exists()
    with pytest.raises(DataError, match=r"no results in .*other"):
        write_report(Folders(small(tmp_path / "one", "random")), [tmp_path / "other"], quiet)


def test_the_users_own_table_is_reported_with_any_file_name(tmp_path: Path) -> None:
    path = tmp_path / "o'<b>&\"|*,.csv"
    lines = [f"{x / 10},{epoch},{abs(x - 3) + 1 / epoch}" for x in range(11) for epoch in (1, 3, 9)]
    path.write_text("\n".join(["x,epoch,loss", *lines]) + "\n")
    grid = CaseGrid(
        "paper", (f"table:{path}",), ("good",), ("random", "priorband"), range(2), 1, 1.0
    )
    folders = Folders(tmp_path / "results")
    run_cases(grid.cases(), folders, 1)
    page = write_report(folders, (), quiet)
    folder = page.parent
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    shutil.rmtree(folder)
    write_report(folders, (), quiet)
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before
    parsed = Page(page.read_text())
    check_needs_nothing(parsed)
    title = "o'<b>&\"|*,.csv (nearest row)"
    assert parsed.words.count(title) >= 4
    assert {row["benchmark"] for row in rows(folder / "single-paper-1x.csv")} == {title}
    path.unlink()
    write_report(folders, (), quiet)  # the runs are still there


# The paper's benchmarks


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Reported runs of the paper's first table: two seeds on a real task and on a stand-in."""
    data, paper = data_folder(), paper_folder()
    pytest.importorskip("onnxruntime")
    folders = Folders(tmp_path_factory.mktemp("first"), data, paper)
    names = ("lcbench-126026", "pd1-wmt-standin")
    methods = ("random", "hyperband", "priorband")
    run_cases(
        CaseGrid("published", names, ("good",), methods, range(2), 1, 20.0).cases(), folders, 1
    )
    kept = {
        name: {
            **{"data": catalogue_entry(name).digest(data), "low": 1, "repeats": 4},
            **{"fidelities": [1, 10, 52], "means": [0.2, mean, 1.0], "deviations": [0.1, 0.1, 0.0]},
        }
        for name, mean in zip(names, (0.5, 0.9), strict=True)
    }
    (folders.results / fidelity_correlation.CORRELATIONS_FILE).write_text(json.dumps(kept))
    write_report(folders, (), quiet)
    return folders


def test_the_first_table_is_shown_cell_by_cell(first: Folders) -> None:
    folder = first.results / "report"
    found = rows(folder / "first-table-lcbench.csv")
    assert [(row["horizon"], row["method"], row["prior"]) for row in found] == [
        (horizon, method, prior)
        for horizon in ("5", "12")
        for method, prior in (("random", "any"), ("hyperband", "any"), ("priorband", "good"))
    ]
    printed = {(row["horizon"], row["method"]): row["printed_mean"] for row in found}
    assert [printed["12", m] for m in ("random", "hyperband", "priorband")] == [
        *("0.048", "0.044", "0.043")
    ]
    assert all(row["published_mean"] and not row["paper_mean"] for row in found)
    text = (folder / "report.md").read_text()
    assert "## The first table, cell by cell" in text
    assert re.search(r"LCBench under the published rules: \d of 6 printed cells within one", text)
    assert "## Against the authors' traces" in text


def test_the_tables_and_the_first_table_have_the_same_numbers(first: Folders) -> None:
    folder = first.results / "report"
    cells = {
        (row["benchmark"], row["method"]): row["mean"]
        for row in rows(folder / "single-published-12x.csv")
        if row["prior"] == "good"
    }
    assert len(cells) == 6
    for name in ("first-table-lcbench.csv", "first-table-pd1-stand-in.csv"):
        for row in rows(folder / name):
            if row["horizon"] == "12":
                assert row["published_mean"] == cells.pop((row["benchmark"], row["method"]))
    assert cells == {}


def test_traces_are_compared_at_every_budget(first: Folders) -> None:
    found = rows(first.results / "report" / "traces.csv")
    assert len(found) == 2 * 3 * 20
    assert {row["benchmark"] for row in found} == {"LC-126026", "PD1-WMT (stand-in)"}


def test_a_stand_in_says_so_wherever_it_appears(first: Folders) -> None:
    seen = 0
    for path in (first.results / "report").iterdir():
        text = path.read_text()
        seen += len(re.findall("WMT", text))
        assert not re.search(r"(?i)wmt(?! \(stand-in\)|-standin)", text), path.name
    assert seen > 30
    assert "not those surrogates" in (first.results / "report" / "report.md").read_text()


def test_stored_correlations_are_not_measured_again(first: Folders) -> None:
    found = {row["benchmark"]: row for row in rows(first.results / "report" / "correlations.csv")}
    assert [(row["class"], row["paper_class"]) for row in found.values()] == [
        *(("low", "low"), ("high", "high"))
    ]
    assert [row["repeats"] for row in found.values()] == ["4", "4"]
    text = (first.results / "report" / "report.md").read_text()
    assert "2 of these benchmarks have a class in the paper, 2 the same as here." in text
    assert (
        "high correlation, good prior"
        in (first.results / "report" / "ranks-single-published.csv").read_text()
    )


def test_a_report_needs_neither_the_data_nor_all_of_the_papers_files(
    first: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "priorband.experiments.report.method_comparison.curves", lambda *a: "<svg></svg>"
    )
    for name in ("results.npz", TIMES_FILE):
        shutil.copy(first.results / name, tmp_path)
    folders = Folders(tmp_path)
    text = write_report(folders, (), quiet).with_name("report.md").read_text()
    assert "under the published rules" in text
    assert "cell by cell" not in text and "low fidelities" not in text and "paper 0." not in text
    shutil.copy(first.results / fidelity_correlation.CORRELATIONS_FILE, tmp_path)
    part = tmp_path / "paper"
    part.mkdir()
    assert first.paper is not None
    shutil.copy(first.paper / "tables.csv", part)
    text = (
        write_report(Folders(tmp_path, first.data, part), (), quiet)
        .with_name("report.md")
        .read_text()
    )
    assert "cell by cell" in text and "traces" not in text


# Parts


def test_incomplete_lines_and_zero_times_are_no_error(tmp_path: Path) -> None:
    whole = "paper,b,none,random,1,0,0.000\n"
    (tmp_path / TIMES_FILE).write_text(f"{whole}{whole}pap{whole}paper,b,none,ra\n{whole[:-7]}x\n")
    section = cost_section([tmp_path, tmp_path / "none"])
    assert section is not None
    [table] = section.blocks
    assert isinstance(table, ReportTable)
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["RS", "paper", "1", "2", "0.000", "–"]
    ]
    assert cost_section([tmp_path / "none"]) is None


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The benchmarks whose correlations are measured, with few repeats."""
    seen: list[str] = []
    real = fidelity_correlation._measured

    def counted(one: object, benchmark: object) -> object:
        seen.append(getattr(one, "name", ""))
        return real(one, benchmark)  # type: ignore[arg-type]  # passed on as they are

    monkeypatch.setattr(fidelity_correlation, "_REPEATS", 3)
    monkeypatch.setattr(fidelity_correlation, "_measured", counted)
    yield seen


def test_correlations_are_measured_once(tmp_path: Path, measuring: list[str]) -> None:
    entries = [catalogue_entry(NAME), catalogue_entry("lcbench-126026")]
    first, again = (fidelity_correlations(entries, Folders(tmp_path)) for _ in range(2))
    assert measuring == [NAME]
    assert first[NAME].curve.means.tolist() == again[NAME].curve.means.tolist()
    assert [path.name for path in tmp_path.iterdir()] == [fidelity_correlation.CORRELATIONS_FILE]
    section = correlation_section(entries, first)
    assert section is not None and "a class in the paper" not in section.paragraphs[0]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"hartmann3-good": []}', '{"hartmann3-good": {"data": "x"}}']
)
def test_a_damaged_file_of_correlations_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / fidelity_correlation.CORRELATIONS_FILE).write_text(content)
    with pytest.raises(FormatError, match=r"correlations\.json is damaged: delete it"):
        fidelity_correlations([catalogue_entry(NAME)], Folders(tmp_path))


def test_a_report_misses_matplotlib_before_it_has_done_anything(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said: list[str] = []
    with pytest.raises(ExtraError, match="Figures need matplotlib"):
        write_report(Folders(tmp_path), say=said.append)
    assert said == []
