"""The catalogue: what each benchmark needs, and the messages if it is missing."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from real_data import data_folder, paper_folder

from priorband.benchmarks import catalogue as module
from priorband.benchmarks.catalogue import CatalogueEntry, catalogue_entries, catalogue_entry
from priorband.benchmarks.jahs import JAHS_FOLDER
from priorband.errors import DataError, SpaceError
from priorband.experiments.report.fidelity_correlation import PUBLISHED_CLASS

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
    named = [one for one in catalogue_entries().values() if one.paper_name]
    assert {one.paper_name for one in named} == printed == set(PUBLISHED_CLASS)
    real = [one.paper_name for one in named if not one.is_stand_in]
    assert len(real) == len(set(real)) == len(printed)


def test_exactly_the_stand_ins_are_named_as_such() -> None:
    for one in catalogue_entries().values():
        said = "stand-in" in one.title, one.name.endswith("-standin"), "stand-in" in one.family
        assert set(said) == {one.is_stand_in}
    for one in catalogue_entries().values():
        if one.paper_name and not one.is_stand_in:
            assert one.title == one.paper_name


def test_the_prototype_is_not_called_jahs_bench() -> None:
    prototype = catalogue_entry("mixed-cifar10")
    assert prototype.paper_name is None and "not JAHS-Bench-201" in prototype.title


def test_without_a_data_folder_the_message_says_how_to_set_one() -> None:
    for one in catalogue_entries().values():
        missing = one.missing(None)
        if not one.files:
            assert missing == ""
        else:
            option = "--jahs or PRIORBAND_JAHS" if one.family == "JAHS" else "--data or PRIORBAND_D"
            assert missing.startswith(f"a folder with {one.files[0]}: set it with {option}")


def test_a_missing_file_is_named_with_its_path(tmp_path: Path) -> None:
    for one in catalogue_entries().values():
        if one.files and not one.own_folder:
            assert one.missing(tmp_path) == f"the file {tmp_path / one.files[0]}"


@pytest.mark.parametrize(
    ("name", "package"), [("lcbench-126026", "onnxruntime"), ("pd1-wmt", "xgboost")]
)
def test_a_missing_package_is_named_with_the_command_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    one = catalogue_entry(name)
    for file in one.files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    expected = f"the package {package}: pip install 'priorband[surrogates]'"
    assert one.missing(tmp_path) == expected


def test_jahs_is_never_looked_for_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are pickles, so they are loaded only from a folder set for them."""
    one = catalogue_entry("jahs-cifar10")
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


@pytest.mark.parametrize("name", [name for name in catalogue_entries() if "lcbench" not in name])
def test_an_available_benchmark_has_a_loss_for_a_random_configuration(name: str) -> None:
    folder = None if name.startswith("hartmann") else data_folder()
    check_trains(catalogue_entry(name), folder)


def test_all_tasks_of_lcbench_have_a_loss_for_a_random_configuration() -> None:
    for one in catalogue_entries().values():
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


def test_a_digest_changes_with_every_file_of_a_benchmark(tmp_path: Path) -> None:
    one = catalogue_entry("lcbench-126026")
    found = set()
    for spoiled in (None, *one.files):
        for file in one.files:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text("changed" if file == spoiled else "as it was")
        found.add(one.digest(tmp_path))
    assert len(found) == 1 + len(one.files)
    assert catalogue_entry("hartmann3-good").digest(None) == catalogue_entry(
        "hartmann3-good"
    ).digest(tmp_path)


# Tables of the user's own


def test_the_users_own_table_is_a_benchmark(runs: Path) -> None:
    nearest = catalogue_entry(f"table:{runs}:step:error")
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
    fitted = catalogue_entry(f"fitted:{path}")
    assert fitted.title == "runs.csv (fitted surrogate)"
    benchmark = fitted.make(None)
    assert benchmark.evaluate({"x": 0.5}, 9) < benchmark.evaluate({"x": 0.0}, 9)


@pytest.mark.parametrize("kind", ["table", "fitted"])
def test_a_users_table_that_does_not_exist_is_missing(kind: str, tmp_path: Path) -> None:
    assert (
        catalogue_entry(f"{kind}:{tmp_path}/none.csv").missing(None)
        == f"the file {tmp_path}/none.csv"
    )


def test_a_users_table_is_not_looked_up_in_the_data_folder(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs.parent)
    own = catalogue_entry("table:runs.csv:step:error")
    assert own.missing(Path("elsewhere")) == ""
    before = own.digest(Path("elsewhere"))
    runs.write_text(RUNS + "0.8,1,0.5\n")
    assert own.digest(Path("elsewhere")) != before


@pytest.mark.parametrize(
    "name", ["table:", "table::epoch", "fitted::", "table:a.csv:epoch:loss:more", "table:a.csv::"]
)
def test_an_invalid_name_of_a_table_is_refused(name: str) -> None:
    with pytest.raises(SpaceError, match=r"A table of your own is table:FILE\.csv\[:FIDELITY"):
        catalogue_entry(name)


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(SpaceError, match="Unknown benchmark 'hartman3-good'.*Did you mean 'hartm"):
        catalogue_entry("hartman3-good")
