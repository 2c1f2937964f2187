"""A report as HTML, Markdown and CSV."""

import csv
import io
import re
from pathlib import Path

from experiments.html_pages import ODD, Page, check_needs_nothing
from priorband.experiments.report.blocks import Cell, Figure, ReportTable, Section
from priorband.experiments.report.pages import as_csv, as_html, as_markdown, write_pages


def odd_section() -> Section:
    table = ReportTable("t", ODD, [ODD], [[Cell(ODD, ODD, True)]], [ODD, "b"], [[ODD, 'a,"b"\nc']])
    return Section(ODD, [ODD], [table, Figure("f", ODD, "<svg></svg>")])


def test_a_page_shows_special_characters() -> None:
    page = Page(as_html(ODD, [odd_section()]))
    check_needs_nothing(page)
    assert page.words.count(ODD) == 10


def test_markdown_escapes_special_characters() -> None:
    text = as_markdown(ODD, [odd_section()])
    for sign in "<>&|*_`~$":
        wrong = [
            line
            for line in text.splitlines()
            if re.search(rf"(?<!\\){re.escape(sign)}", _bare(line))
        ]
        assert wrong == []


def _bare(line: str) -> str:
    """A line without our own markup."""
    if line.startswith("|"):
        line = line[1:-1]
    return line.replace("**", "").removeprefix("*").removesuffix("*")


def test_csv_cells_are_quoted_if_necessary() -> None:
    table = odd_section().blocks[0]
    assert isinstance(table, ReportTable)
    assert list(csv.reader(io.StringIO(as_csv(table)))) == [[ODD, "b"], [ODD, 'a,"b"\nc']]


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        write_pages(folder, ODD, [odd_section()])
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0] == written[1]
    assert set(written[0]) == {"report.html", "report.md", "t.csv", "f.svg", "files.txt"}


def test_files_of_an_earlier_report_are_removed(tmp_path: Path) -> None:
    write_pages(tmp_path, ODD, [odd_section()])
    (tmp_path / "notes.txt").write_text("mine")
    write_pages(tmp_path, ODD, [])
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"report.html", "report.md", "files.txt", "notes.txt"}


def test_nothing_outside_the_reports_folder_is_removed(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    write_pages(tmp_path / "report", ODD, [])
    (tmp_path / "report" / "files.txt").write_text("../mine.txt\n")
    write_pages(tmp_path / "report", ODD, [])
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_file_name_that_is_not_text_is_escaped(tmp_path: Path) -> None:
    page = write_pages(tmp_path, "runs\udc80.csv", [])
    assert "<h1>runs\\udc80.csv</h1>" in page.read_text()
