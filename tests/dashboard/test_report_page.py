"""The report: one file whose policy allows what is in it and nothing else, with all data."""

import base64
import gzip
import hashlib
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from stored_studies import EPOCHS, SPACE, fill, tell_some
from test_binary_columns import read

import priorband as pb
from priorband.cli.entry_point import main
from priorband.dashboard import report_data as report_data_module
from priorband.dashboard.analyses import ANALYSES
from priorband.dashboard.report_data import detailed_trials
from priorband.dashboard.report_page import embedded, report_page
from priorband.errors import ArgumentError, FormatError
from priorband.study_analysis import study_data

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 \u202e &amp; ]]>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "runs"
    with pb.open_study(folder / "one", SPACE, EPOCHS) as study:
        fill(study, 24)
        study.note(HOSTILE)
    with pb.open_study(folder / "two", SPACE, EPOCHS) as study:
        study.fail(study.ask(), HOSTILE)
        tell_some(study, 3)
    return folder


@pytest.fixture(scope="module")
def page(runs: Path) -> str:
    return report_page([str(runs)])


def data_of(page: str) -> Any:
    block = re.search(r'<script id="report-data" type="application/json">(.*?)</script>', page)
    assert block is not None
    return json.loads(block[1])


def test_the_policy_allows_the_scripts_and_styles_of_the_file_by_their_hashes(page: str) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    stated = unescape(policy[1])
    assert "unsafe" not in stated and "default-src 'none'" in stated
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in [*scripts, style]
    ]
    assert len(scripts) == 2 and re.findall(r"'sha256-[^']*'", stated) == hashes


def test_nothing_is_asked_of_any_host(page: str) -> None:
    head = page[: page.index("<style>")]
    assert re.findall(r'(?:src|href)="(\w+:)?', head) == ["data:"]
    assert not re.search(r"<(img|iframe|object|embed)\b", page.partition('<div id="app">')[2][:200])


def test_hostile_texts_cannot_leave_the_data(page: str) -> None:
    assert page.count("</script>") == 3  # the early script, the data and the page's own
    studies = {one["summary"]["name"]: one for one in data_of(page)["studies"]}
    assert studies["one"]["notes"][0]["text"] == HOSTILE
    assert HOSTILE in studies["two"]["trials"]["0"]["failure"]["reason"]
    assert json.loads(embedded([HOSTILE])) == [HOSTILE]
    assert not set("<>&\u2028") & set(embedded([HOSTILE]))


def test_the_data_is_that_of_the_studies(page: str, runs: Path) -> None:
    stored = data_of(page)
    assert len(stored["compared"]["result"]["names"]) == 2
    for one in stored["studies"]:
        with pb.open_study(runs / one["summary"]["name"], read_only=True) as study:
            data = study_data(study)
        header, columns = read(gzip.decompress(base64.b64decode(one["table"])))
        assert header["about"]["rows"] == len(data.trials) == len(one["trials"])
        values = [None if value != value else value for value in columns["value"]]
        expected = [None if value != value else value for value in data.values.tolist()]
        assert values == expected
        assert one["analyses"].keys() == ANALYSES.keys()
        assert "result" in one["analyses"]["incumbent"][""]
        assert {"", "rung=0", "rung=2"} <= one["analyses"]["importance"].keys()
        assert {"", "trial=0"} <= one["analyses"]["ancestry"].keys()


def test_a_long_study_has_the_details_of_some_trials(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pb.open_study(runs / "one", read_only=True) as study:
        data = study_data(study)
        assert study.best is not None
        best = study.best.trial.id
    assert detailed_trials(data) == list(range(len(data.trials)))
    monkeypatch.setattr(report_data_module, "ALL_DETAILS", 5)
    monkeypatch.setattr(report_data_module, "SOME_DETAILS", 7)
    some = detailed_trials(data)
    assert len(some) == 7 and best in some and some == sorted(set(some))


def test_the_command_replaces_the_file_or_leaves_it(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    out.write_text("before")
    assert main(["report", str(runs / "nowhere"), "-o", str(out)]) != 0
    assert out.read_text() == "before"
    assert main(["report", str(runs / "one"), str(runs / "two"), "-o", str(out)]) == 0
    assert len(data_of(out.read_text("utf-8"))["studies"]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert f"Wrote {out}" in capsys.readouterr().out


def test_a_folder_without_studies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="There is no study in"):
        report_page([str(tmp_path)])
    with pytest.raises(FormatError, match="no such folder"):
        report_page([str(tmp_path / "nowhere")])
