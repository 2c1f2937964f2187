"""Grids that are interrupted and continued."""

import io
import re
import subprocess
import sys
import time
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from amounts import slow
from waiting import wait_until

from priorband.errors import DataError, FormatError, HaltedError, StorageError
from priorband.experiments import runner
from priorband.experiments.cases import Case, CaseGrid
from priorband.experiments.progress import Progress, TimeEstimate
from priorband.experiments.result_store import ARCHIVE_FILE, LINES_FILE, ResultStore
from priorband.experiments.runner import Folders, run_cases

GRID = CaseGrid(
    "paper", ("hartmann3-good",), ("good", "bad"), ("hyperband", "priorband"), range(4), 1, 3.0
)
SCRIPT = """
import sys
from pathlib import Path
from priorband.experiments.cases import CaseGrid
from priorband.experiments.runner import Folders, run_cases
if __name__ == "__main__":
    grid = CaseGrid("paper", ("hartmann3-good",), ("good", "bad"), ("hyperband", "priorband"),
                    range(4), 1, 3.0)
    run_cases(grid.cases(), Folders(Path(sys.argv[1])), 2)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The results of the grid without interruptions."""
    folder = tmp_path_factory.mktemp("whole")
    return run_cases(GRID.cases(), Folders(folder), 1).read_bytes()


class Counting:
    """Counts the runs."""

    def __init__(self) -> None:
        self.ran_cases: list[Case] = []
        self.before = -1

    def begin(self, todo: object, done: int) -> None:
        self.before = done

    def case_done(self, case: Case, seconds: float) -> None:
        self.ran_cases.append(case)

    def end(self) -> None:
        pass


def test_every_case_is_run_exactly_once(tmp_path: Path) -> None:
    for processes in (1, 2, 3):
        seen, folders = Counting(), Folders(tmp_path / str(processes))
        run_cases(GRID.cases(), folders, processes, seen)
        assert sorted(case.key for case in seen.ran_cases) == sorted(c.key for c in GRID.cases())
        assert len(ResultStore(folders.results).records) == 4 * 3


def test_any_number_of_processes_gives_the_same_bytes(tmp_path: Path, whole: bytes) -> None:
    assert run_cases(GRID.cases(), Folders(tmp_path), 2).read_bytes() == whole


def test_finished_runs_are_not_repeated(tmp_path: Path, whole: bytes) -> None:
    run_cases(GRID.cases(), Folders(tmp_path), 1)
    seen = Counting()
    assert run_cases(GRID.cases(), Folders(tmp_path), 1, seen).read_bytes() == whole
    assert (seen.ran_cases, seen.before) == ([], 12)


@slow
def test_a_run_killed_again_and_again_gives_the_same_bytes(tmp_path: Path, whole: bytes) -> None:
    script = tmp_path / "grid.py"
    script.write_text(SCRIPT)
    results = tmp_path / "results"
    command = [sys.executable, str(script), str(results)]

    def runs_done() -> int:
        lines = results / LINES_FILE
        return lines.read_bytes().count(b"\n") if lines.is_file() else 0

    for wanted in (0, 1, 4, 8):
        with subprocess.Popen(command) as process:
            try:
                while runs_done() < wanted and process.poll() is None:
                    time.sleep(0.01)
            finally:
                process.kill()
    subprocess.run(command, check=True)
    assert (results / ARCHIVE_FILE).read_bytes() == whole


def test_the_run_of_an_incomplete_line_is_repeated(tmp_path: Path, whole: bytes) -> None:
    store = ResultStore(tmp_path)
    run_cases(list(GRID.cases())[:2], Folders(tmp_path), 1)
    with store.write_lock():
        (tmp_path / LINES_FILE).write_bytes(b'{"case": {"rules"')
    assert len(ResultStore(tmp_path).records) == 2
    assert run_cases(GRID.cases(), Folders(tmp_path), 1).read_bytes() == whole


def test_a_run_after_an_incomplete_line_is_kept(tmp_path: Path) -> None:
    run_cases(list(GRID.cases())[:1], Folders(tmp_path), 1)
    [record] = ResultStore(tmp_path).records.values()
    (tmp_path / ARCHIVE_FILE).unlink()
    (tmp_path / LINES_FILE).write_bytes(b'{"case": {"rules"')
    store = ResultStore(tmp_path)
    with store.write_lock():
        store.add(record)
    assert list(ResultStore(tmp_path).records) == [record.case.key]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / LINES_FILE).write_bytes(b"{}\n")
    with pytest.raises(FormatError, match="Line 1 of .* is damaged"):
        _ = ResultStore(tmp_path).records


@pytest.mark.parametrize("content", [b"", b"PK", b"not an archive"])
def test_a_damaged_archive_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ARCHIVE_FILE).write_bytes(content)
    with pytest.raises(FormatError, match="is damaged or in an unknown format"):
        _ = ResultStore(tmp_path).records


@pytest.mark.parametrize("at", [0.3, 0.6, 0.9])
def test_a_changed_or_truncated_archive_is_named(tmp_path: Path, whole: bytes, at: float) -> None:
    place = int(at * len(whole))
    flipped = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
    for content in (whole[:place], flipped):
        (tmp_path / ARCHIVE_FILE).write_bytes(content)
        with pytest.raises(FormatError, match="is damaged or in an unknown format"):
            _ = ResultStore(tmp_path).records


def test_only_the_longest_of_several_cases_with_one_key_is_run(tmp_path: Path) -> None:
    cases = [Case("paper", "hartmann3-good", "none", "random", 1, 0, b) for b in (2.0, 5.0, 3.0)]
    run_cases(cases, Folders(tmp_path))
    [record] = ResultStore(tmp_path).records.values()
    assert record.case.budget == 5.0


def test_results_of_other_code_are_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case("paper", "hartmann3-good", "none", "random", 1, 0, 1.0)
    run_cases([case], Folders(tmp_path))
    monkeypatch.setattr(runner, "CODE", "another")
    with pytest.raises(DataError, match="made with other code"):
        run_cases([case], Folders(tmp_path))


def test_decisions_change_only_with_the_code_version(whole: bytes) -> None:
    """If this fails, increase `CODE` in runner.py and put the new digest here."""
    with np.load(io.BytesIO(whole), allow_pickle=False) as archive:
        columns = [np.round(archive[name], 6) for name in sorted(archive.files)]
    kept = b"".join(column.tobytes() for column in columns)
    assert {runner.CODE: blake2b(kept, digest_size=8).hexdigest()} == {"1": "bf5ea9f3883d5e9d"}


def test_a_script_without_a_guard_runs_a_grid_in_its_own_process(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "evaluation.md"
    [example] = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "example.py").write_text(example)
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert len(done.stdout.splitlines()) == 6
    assert not done.stderr


def test_a_longer_run_replaces_the_shorter(tmp_path: Path) -> None:
    for budget in (2.0, 4.0, 3.0):
        case = Case("paper", "hartmann3-good", "none", "hyperband", 1, 0, budget)
        run_cases([case], Folders(tmp_path), 1)
    [record] = ResultStore(tmp_path).records.values()
    assert record.case.budget == 4.0


def test_two_processes_cannot_write_to_one_folder(tmp_path: Path) -> None:
    with ResultStore(tmp_path).write_lock(), pytest.raises(StorageError, match="Another process"):
        run_cases(GRID.cases(), Folders(tmp_path), 1)


def test_results_of_other_data_are_not_mixed(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    store.add_inputs({"a": "1"})
    store.add_inputs({"b": "2"})
    assert store.input_digests() == {"a": "1", "b": "2"}
    with pytest.raises(DataError, match="made with other b "):
        store.add_inputs({"b": "3"})


def test_a_failed_run_is_named_and_finished_runs_are_kept(tmp_path: Path) -> None:
    good = Case("paper", "hartmann3-good", "none", "hyperband", 1, 0, 2.0)
    bad = Case("paper", "hartmann3-good", "none", "no-such-method", 1, 1, 2.0)
    with pytest.raises(HaltedError, match="hartmann3-good/none/no-such-method/1/1 failed: Method"):
        run_cases([good, bad], Folders(tmp_path), 1)
    assert [record.case for record in ResultStore(tmp_path).records.values()] == [good]


def test_missing_data_is_refused_before_anything_runs(tmp_path: Path) -> None:
    case = Case("paper", "lcbench-3945", "none", "random", 1, 0, 1.0)
    with pytest.raises(DataError, match="needs a folder with lcbench/model.onnx"):
        run_cases([case], Folders(tmp_path), 1)


def test_processes_end_when_the_calling_process_ends(tmp_path: Path) -> None:
    script = tmp_path / "grid.py"
    script.write_text(SCRIPT.replace("range(4), 1, 3.0", "range(400), 1, 30.0"))
    command = [sys.executable, str(script), str(tmp_path / "results")]
    with subprocess.Popen(command) as process:
        try:
            members = _wait_for_children(process.pid)
        finally:
            process.kill()
    wait_until(lambda: not any(map(_alive, members)), "all processes to end with their parent")


def _wait_for_children(pid: int) -> list[int]:
    """The children of a process, once there are two besides Python's own helper."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("this system does not list the children of a process")
    wait_until(lambda: len(path.read_text().split()) >= 3, "two worker processes")
    return [int(child) for child in path.read_text().split()]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_time_left_depends_on_the_time_of_each_method() -> None:
    cases = [
        Case("paper", "b", "none", method, 1, seed, 1.0)
        for seed in range(3)
        for method in ("quick", "slow")
    ]
    estimate = TimeEstimate(cases, processes=2)
    assert estimate.seconds() is None
    estimate.case_done(cases[0], 1.0)
    assert estimate.seconds() == pytest.approx((2 * 1.0 + 3 * 1.0) / 2)
    estimate.case_done(cases[1], 9.0)
    assert estimate.seconds() == pytest.approx((2 * 1.0 + 2 * 9.0) / 2)
    estimate.case_done(cases[2], 1.0)
    assert estimate.seconds() == pytest.approx((1 * 1.0 + 2 * 9.0) / 2)


def test_without_a_terminal_progress_is_printed_in_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = Progress(1)
    shown.begin(list(GRID.cases()), 3)
    shown.end()
    said = capsys.readouterr().err
    assert "15 runs, 3 already done." in said
    assert "All 15 runs are done" in said
