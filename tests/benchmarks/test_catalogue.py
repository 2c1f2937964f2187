"""The catalogue: what each benchmark needs, and what is said when that is not here."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from real_data import data_folder, paper_folder

from priorband.benchmarks import catalogue as module
from priorband.benchmarks.catalogue import CatalogueEntry, catalogue, entry
from priorband.benchmarks.jahs import JAHS_FOLDER
from priorband.errors import DataError, SpaceError
from priorband.experiments.report.fidelities import PUBLISHED_CLASS

RUNS = """lr,step,error
0.1,1,0.9
0.1,9,0.5
0.2,1,0.8
0.2,9,0.6
0.4,1,0.7
0.4,9,0.4
"""


@pytest.fixture(autouse=True)
def no_jahs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(JAHS_FOLDER, raising=False)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.csv"
    path.write_text(RUNS)
    return path


def test_no_two_benchmarks_have_the_same_name_or_title() -> None:
    every = list(module._entries())
    assert len({one.name for one in every}) == len({one.title for one in every}) == len(every)


def test_the_published_names_are_those_of_the_papers_tables() -> None:
    with open(paper_folder() / "tables.csv", encoding="utf-8", newline="") as lines:
        printed = {row["benchmark"] for row in csv.DictReader(lines)}
    named = [one for one in catalogue().values() if one.published]
    assert {one.published for one in named} == printed == set(PUBLISHED_CLASS)
    real = [one.published for one in named if not one.stands_in]
    assert len(real) == len(set(real)) == len(printed)


def test_whatever_stands_in_says_so_and_nothing_else_does() -> None:
    for one in catalogue().values():
        said = "stand-in" in one.title, one.name.endswith("-standin"), "stand-in" in one.family
        assert set(said) == {one.stands_in}
    for one in catalogue().values():
        if one.published and not one.stands_in:
            assert one.title == one.published


def test_the_prototype_is_not_called_jahs_bench() -> None:
    prototype = entry("mixed-cifar10")
    assert prototype.published is None and "not JAHS-Bench-201" in prototype.title


def test_without_a_folder_every_benchmark_with_files_says_how_to_name_one() -> None:
    for one in catalogue().values():
        missing = one.missing(None)
        if not one.files:
            assert missing == ""
        else:
            option = "--jahs or PRIORBAND_JAHS" if one.family == "JAHS" else "--data or PRIORBAND_D"
            assert missing.startswith(f"a folder with {one.files[0]}: name it with {option}")


def test_a_missing_file_is_named_with_its_place(tmp_path: Path) -> None:
    for one in catalogue().values():
        if one.files and not one.apart:
            assert one.missing(tmp_path) == f"the file {tmp_path / one.files[0]}"


@pytest.mark.parametrize(
    ("name", "package"), [("lcbench-126026", "onnxruntime"), ("pd1-wmt", "xgboost")]
)
def test_a_missing_package_is_named_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    one = entry(name)
    for file in one.files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    expected = f"the package {package}: pip install 'priorband[surrogates]'"
    assert one.missing(tmp_path) == expected


def test_jahs_is_never_looked_for_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are pickles: they are trusted only where they are named for themselves."""
    one = entry("jahs-cifar10")
    for file in one.files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(b"pickle")
    monkeypatch.setattr(module, "find_spec", lambda name: object())
    assert "PRIORBAND_JAHS" in one.missing(tmp_path)
    with pytest.raises(DataError, match="PRIORBAND_JAHS"):
        one.make(tmp_path)
    monkeypatch.setenv(JAHS_FOLDER, str(tmp_path))
    assert one.missing(None) == ""
    before = one.digest(None)
    (tmp_path / one.files[-1]).write_bytes(b"another")
    assert one.digest(None) != before


@pytest.mark.parametrize("name", [name for name in catalogue() if "lcbench" not in name])
def test_a_benchmark_that_is_here_trains_a_random_configuration_in_full(name: str) -> None:
    folder = None if name.startswith("hartmann") else data_folder()
    check_trains(entry(name), folder)


def test_all_tasks_of_lcbench_train_a_random_configuration_in_full() -> None:
    for one in catalogue().values():
        if one.family == "LCBench":
            check_trains(one, data_folder())


def check_trains(one: CatalogueEntry, folder: Path | None) -> None:
    missing = one.missing(folder)
    if missing:
        pytest.skip(f"{one.name} needs {missing}")
    benchmark = one.make(folder)
    [row] = benchmark.space.uniform(1, np.random.default_rng(1)).tolist()
    loss = benchmark.evaluate(benchmark.space.config(row), benchmark.fidelity.high)
    assert math.isfinite(loss)
    if one.family != "Hartmann":
        assert loss > 0


def test_a_digest_follows_every_file_of_a_benchmark(tmp_path: Path) -> None:
    one = entry("lcbench-126026")
    found = set()
    for spoiled in (None, *one.files):
        for file in one.files:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text("changed" if file == spoiled else "as it was")
        found.add(one.digest(tmp_path))
    assert len(found) == 1 + len(one.files)
    assert entry("hartmann3-good").digest(None) == entry("hartmann3-good").digest(tmp_path)


# Tables of the user's own


def test_a_table_of_ones_own_is_a_benchmark(runs: Path) -> None:
    nearest = entry(f"table:{runs}:step:error")
    assert (nearest.title, nearest.family) == ("runs.csv (nearest row)", "own")
    assert nearest.missing(None) == ""
    benchmark = nearest.make(None)
    assert benchmark.evaluate({"lr": 0.19}, 9) == 0.6


def test_a_fitted_table_is_a_surrogate_of_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    lines = [
        f"{x / 20},{epoch},{(x / 20 - 0.5) ** 2 + 1 / epoch}" for x in range(21) for epoch in (1, 9)
    ]
    path.write_text("\n".join(["x,epoch,loss", *lines]) + "\n")
    fitted = entry(f"fitted:{path}")
    assert fitted.title == "runs.csv (fitted surrogate)"
    benchmark = fitted.make(None)
    assert benchmark.evaluate({"x": 0.5}, 9) < benchmark.evaluate({"x": 0.0}, 9)


@pytest.mark.parametrize("kind", ["table", "fitted"])
def test_ones_own_table_that_is_not_there_is_missing(kind: str, tmp_path: Path) -> None:
    assert entry(f"{kind}:{tmp_path}/none.csv").missing(None) == f"the file {tmp_path}/none.csv"


def test_ones_own_table_is_not_looked_for_in_the_data_folder(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs.parent)
    own = entry("table:runs.csv:step:error")
    assert own.missing(Path("elsewhere")) == ""
    before = own.digest(Path("elsewhere"))
    runs.write_text(RUNS + "0.8,1,0.5\n")
    assert own.digest(Path("elsewhere")) != before


@pytest.mark.parametrize(
    "name", ["table:", "table::epoch", "fitted::", "table:a.csv:epoch:loss:more", "table:a.csv::"]
)
def test_what_names_no_table_is_refused(name: str) -> None:
    with pytest.raises(SpaceError, match=r"A table of your own is table:FILE\.csv\[:FIDELITY"):
        entry(name)


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(SpaceError, match="Unknown benchmark 'hartman3-good'.*Did you mean 'hartm"):
        entry("hartman3-good")
