"""`priorband bench`: lists, runs, errors and interruptions."""

import csv
import io
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from commands import no_control_codes, priorband, started
from real_data import data_folder
from waiting import LONGEST, wait_until

from priorband.cli import main
from priorband.cli.bench_commands import available_benchmarks
from priorband.experiments.cases import Case
from priorband.experiments.progress import Progress
from priorband.experiments.result_store import LINES_FILE, ResultStore
from priorband.experiments.runner import Folders

NAME = "hartmann3-good"
SMALL = ("--benchmarks", NAME, "--methods", "random", "--seeds", "2", "--budget", "1")
FOLDERS = ("PRIORBAND_DATA", "PRIORBAND_PAPER", "PRIORBAND_JAHS")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folders are set in the environment, and results are in the test's own folder."""
    for name in FOLDERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> int:
    return main(["bench", "run", "--processes", "1", *words])


def test_a_dry_run_prints_the_runs_and_their_cost_and_runs_nothing(
    tmp_path: Path, capsys: Any
) -> None:
    assert run("--preset", "beyond", "--benchmarks", NAME, "--seeds", "2", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "runs to do. They take about" in said
    assert list(tmp_path.iterdir()) == []


def test_another_number_of_seeds_starts_with_the_first_of_the_preset(tmp_path: Path) -> None:
    options = ("--methods", "random", "--budget", "1", "--workers", "1", "--benchmarks", NAME)
    assert run("--preset", "beyond", "--seeds", "2", *options) == 0
    records = ResultStore(tmp_path / "bench-results").records
    assert sorted(record.case.seed for record in records.values()) == [1000, 1001]


# Lists


def listed(capsys: Any, *words: str) -> dict[str, str]:
    assert main(["bench", "list", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return {line.split()[0]: line for line in out.splitlines()}


def test_without_data_the_list_says_what_is_missing_and_how_to_set_it(capsys: Any) -> None:
    found = listed(capsys)
    assert found[NAME].endswith("MFH3 (good correlation): available")
    assert (
        "missing: a folder with lcbench/model.onnx: set it with --data or PRIORBAND_DATA"
        in (found["lcbench-126026"])
    )
    assert "set it with --jahs or PRIORBAND_JAHS" in found["jahs-cifar10"]
    assert "PD1-WMT (stand-in): missing" in found["pd1-wmt-standin"]
    assert [line for line in found.values() if line.endswith(": available")] == [
        line for name, line in found.items() if name.startswith("hartmann")
    ]


def test_the_complete_list_has_the_tasks_that_the_paper_does_not_use(capsys: Any) -> None:
    few, every = listed(capsys), listed(capsys, "--all")
    more = set(every) - set(few)
    assert len(more) == 34 - 5 and all(name.startswith("lcbench-") for name in more)


def test_with_data_the_list_says_what_is_available(capsys: Any) -> None:
    pytest.importorskip("onnxruntime")
    data = data_folder()
    found = listed(capsys, "--data", str(data))
    assert found["lcbench-126026"].endswith("LC-126026: available")
    assert "missing: the file " in found["pd1-wmt"] and str(data) in found["pd1-wmt"]
    assert {one.paper_name for one in available_benchmarks(Folders(Path(), data))} >= {
        "LC-126026",
        "PD1-WMT",
    }


def test_a_stand_in_is_used_only_if_the_real_benchmark_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from priorband.benchmarks.catalogue import CatalogueEntry

    lacking = {"pd1-wmt", "jahs-cifar10"}
    monkeypatch.setattr(
        CatalogueEntry, "missing", lambda self, data: self.name if self.name in lacking else ""
    )
    names = {one.paper_name: one.name for one in available_benchmarks(Folders(Path()))}
    assert names["PD1-WMT"] == "pd1-wmt-standin" and names["PD1-LM1B"] == "pd1-lm1b"
    assert "JAHS-C10" not in names and len(names) == 11


# What is refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--preset", "paper-smal"], "Unknown preset 'paper-smal'. Did you mean 'paper-small'?"),
        ([*SMALL, "--methods", "radnom"], "`method` 'radnom' is not known."),
        ([*SMALL, "--benchmarks", "hartman3-good"], "Did you mean 'hartmann3-good'?"),
        (
            [*SMALL, "--priors", "god"],
            "Unknown prior 'god'. Did you mean 'good'? Known: bad, flat, good",
        ),
        ([*SMALL, "--rules", "papr"], "Unknown rules 'papr'. Did you mean 'paper'?"),
        (["--preset", "paper-small", "--rules", "x"], "Unknown rules 'x'. Known: authors, paper"),
        (["--preset", "paper-small", "--priors", "god"], "Unknown prior 'god'."),
        (["--methods", "random"], "Use --preset, or both --benchmarks and --methods."),
        (["--benchmarks", NAME], "Use --preset, or both --benchmarks and --methods."),
        ([], "Use --preset, or both --benchmarks and --methods."),
        (
            ["--preset", "paper-parallel", "--rules", "published"],
            "the preset paper-parallel has only runs under the rules paper.",
        ),
        (
            ["--preset", "ablations", "--rules", "published", "--benchmarks", NAME],
            "the preset ablations has only runs under the rules paper.",
        ),
        ([*SMALL, "--data", "none"], "--data is 'none', which is not a folder. Set it"),
        ([*SMALL, "--paper", "none"], "--paper is 'none', which is not a folder."),
        ([*SMALL, "--jahs", "none"], "--jahs is 'none', which is not a folder."),
        (
            ["--benchmarks", "lcbench-126026", "--methods", "random"],
            "The benchmark lcbench-126026 needs a folder with lcbench/model.onnx",
        ),
        (
            ["--benchmarks", "table:none.csv", "--methods", "random"],
            "The benchmark table:none.csv needs the file none.csv",
        ),
        (
            ["--benchmarks", "lcbench-126026", "--methods", "priorband", "--rules", "authors"],
            "The benchmark lcbench-126026 needs a folder",
        ),
        (
            ["--benchmarks", NAME, "--methods", "priorband", "--rules", "published"],
            "Set it with --paper or PRIORBAND_PAPER, or use --rules paper.",
        ),
    ],
)
def test_invalid_options_are_refused_before_anything_is_run(
    words: list[str], said: str, capsys: Any, tmp_path: Path
) -> None:
    assert run(*words) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("priorband: ") and said in err
    assert ResultStore(tmp_path / "bench-results").records == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seeds", "0"], "--seeds must be a whole number of at least 1, got '0'"),
        (["--budget", "-1"], "--budget must be above 0"),
        (["--budget", "much"], "--budget must be a number, such as 12 or 0.5, got 'much'"),
        (["--workers", "none"], "--workers must be a whole number"),
        (["--preset"], "--preset: expected one argument"),
        (["--prior", "good"], "Did you mean --priors?"),
    ],
)
def test_malformed_arguments_exit_with_2(words: list[str], said: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*words)
    out, err = capsys.readouterr()
    assert ended.value.code == 2 and out == "" and said in err


def test_every_command_has_help(capsys: Any) -> None:
    for name in ("list", "run", "report", "replay", "open"):
        with pytest.raises(SystemExit) as ended:
            main(["bench", name, "--help"])
        assert ended.value.code == 0
        assert "--results FOLDER" in capsys.readouterr().out


# Runs


def test_a_grid_runs_once_and_is_reported(capsys: Any, tmp_path: Path) -> None:
    assert run(*SMALL) == 0
    out, err = capsys.readouterr()
    assert out == "The results are in bench-results. `priorband bench report` shows them.\n"
    assert "2 runs, 0 already done." in err and "All 2 runs are done" in err
    before = (tmp_path / "bench-results" / "times.csv").read_text()
    assert run(*SMALL) == 0
    assert "2 runs, 2 already done." in capsys.readouterr().err
    assert (tmp_path / "bench-results" / "times.csv").read_text() == before
    assert main(["bench", "report"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"The report is {Path('bench-results/report/report.html')}")
    assert "2 runs on 1 benchmark." in err
    assert (tmp_path / "bench-results" / "report" / "report.html").is_file()


def test_options_replace_the_values_of_a_preset(tmp_path: Path) -> None:
    """A preset runs on other benchmarks although none of the paper's is available."""
    words = ("--benchmarks", NAME, "--methods", "random", "priorband", "--priors", "bad")
    few = ("--seeds", "1", "--budget", "1", "--workers", "2", "--results", "r")
    assert run("--preset", "paper-parallel", "--rules", "paper", *words, *few) == 0
    assert sorted(ResultStore(tmp_path / "r").records) == [
        ("paper", NAME, "bad", "priorband", 2, 0),
        ("paper", NAME, "none", "random", 2, 0),
    ]


def test_a_report_takes_more_folders_and_names_those_without_results(
    capsys: Any, tmp_path: Path
) -> None:
    assert main(["bench", "report"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and "There are no results in bench-results. Create some with" in err
    assert run(*SMALL) == 0 and run(*SMALL, "--methods", "hyperband", "--results", "more") == 0
    capsys.readouterr()
    assert main(["bench", "report", "--also", "more", "none"]) == 1
    assert "There are no results in none." in capsys.readouterr().err
    assert main(["bench", "report", "--also", "more"]) == 0
    with open("bench-results/report/single-paper-1x.csv", newline="") as lines:
        assert {row["method"] for row in csv.DictReader(lines)} == {"random", "hyperband"}


def test_without_a_terminal_only_lines_of_text_are_printed(tmp_path: Path) -> None:
    done = priorband("bench", "run", *SMALL, "--processes", 2, cwd=tmp_path)
    assert done.returncode == 0
    assert no_control_codes(done.stdout) and no_control_codes(done.stderr)


def test_an_interrupted_grid_keeps_its_finished_runs(tmp_path: Path) -> None:
    words = ("--benchmarks", NAME, "--methods", "hyperband", "--seeds", "5000", "--budget", "20")
    lines = tmp_path / "bench-results" / LINES_FILE
    alone = {"start_new_session": True}
    with started("bench", "run", *words, "--processes", 1, cwd=tmp_path, **alone) as grid:
        wait_until(lambda: lines.is_file() and lines.read_bytes().count(b"\n") >= 3, "three runs")
        os.killpg(grid.pid, signal.SIGINT)  # as a terminal does: to all of them
        out, err = grid.communicate(timeout=LONGEST)
    assert (grid.returncode, out) == (130, "")
    first, *progress, last = err.splitlines()
    assert first == "5000 runs, 0 already done. They take about 75 s of CPU time."
    assert last == "Stopped. Finished runs are kept: run the same command to continue."
    assert all("of 5000 runs" in line for line in progress)
    assert 3 <= len(ResultStore(tmp_path / "bench-results").records) < 5000


# Progress


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


CASES = [Case("paper", NAME, "none", "random", 1, seed, 1.0) for seed in range(4)]


def test_in_a_terminal_a_bar_shows_progress_and_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    terminal = Terminal()
    shown = Progress(2, terminal)
    shown.begin(CASES, 6)
    shown.case_done(CASES[0], 60.0)
    shown._bar.refresh()
    assert "7/10" in terminal.getvalue() and "about 2 min left" in terminal.getvalue()
    for case in CASES[1:]:
        shown.case_done(case, 60.0)
    shown.end()
    said = terminal.getvalue()
    assert "10/10" in said and "240 s of CPU time" in said
    assert said.rindex("\x1b[?25h") > said.rindex("\x1b[?25l")  # the cursor is back


def test_a_stopped_bar_restores_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    shown = Progress(1, terminal)
    shown.begin(CASES, 0)
    shown.stop()
    shown.stop()
    said = terminal.getvalue()
    assert said.rindex("\x1b[?25h") > said.rindex("\x1b[?25l")
    assert "All" not in said


def test_there_is_no_bar_if_all_runs_were_done_before() -> None:
    terminal = Terminal()
    shown = Progress(1, terminal)
    shown.begin([], 5)
    shown.end()
    first, second = terminal.getvalue().splitlines()
    assert first == "5 runs, 5 already done." and second.startswith("All 5 runs are done")


def test_lines_of_progress_are_printed_every_few_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("priorband.experiments.progress.time.monotonic", lambda: now[0])
    file = io.StringIO()
    shown = Progress(1, file)
    shown.begin(CASES, 0)
    for case in CASES[:3]:
        now[0] += 6.0
        shown.case_done(case, 6.0)
    assert file.getvalue().splitlines()[1:] == ["2 of 4 runs, about 12 s left"]
