"""JAHS-Bench-201 through a small double of its package, and the prototype."""

import json
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from real_data import data_folder, paper_folder

from priorband import Categorical, Float
from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.jahs import DATASETS, FILES, JAHS, JAHS_FOLDER, jahs_folder
from priorband.benchmarks.jahs_prototype import JAHSPrototype
from priorband.errors import DataError, ExtraError, SpaceError
from priorband.ladder import Ladder

CONFIG = {
    **{f"Op{i}": i % 5 for i in range(1, 7)},
    "TrivialAugment": True,
    "Activation": "Mish",
    "LearningRate": 0.1,
    "WeightDecay": 1e-4,
}
COMPLETE = CONFIG | {"N": 5, "W": 16, "Resolution": 1.0, "Optimizer": "SGD"}


class Double:
    """A double of `jahs_bench.Benchmark` that records its arguments."""

    created: list[dict[str, Any]] = []
    asked: list[tuple[dict[str, Any], int]] = []
    metric = "valid-acc"

    def __init__(self, **options: Any) -> None:
        self.created.append(options)

    def __call__(self, config: dict[str, Any], nepochs: int) -> dict[int, dict[str, float]]:
        self.asked.append((config, nepochs))
        return {nepochs: {self.metric: 90.0 + config["Op1"] + nepochs / 200}}


class Unreadable:
    """A package that cannot load its files."""

    def __init__(self, **options: Any) -> None:
        raise EOFError("file ended early")


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("jahs_bench")
    monkeypatch.setattr(Double, "created", [])
    monkeypatch.setattr(Double, "asked", [])
    module.Benchmark = Double  # type: ignore[attr-defined]  # a module made by hand
    monkeypatch.setitem(sys.modules, "jahs_bench", module)
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for dataset in DATASETS:
        place = tmp_path / "assembled_surrogates" / dataset / "valid-acc"
        place.mkdir(parents=True)
        for name in FILES:
            (place / name).write_bytes(b"never opened by us")
    return tmp_path


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_package_is_asked_for_one_metric_and_never_to_download(
    package: ModuleType, folder: Path, dataset: str
) -> None:
    bench = JAHS(dataset, folder)
    assert Double.created == []
    for _ in range(2):
        assert bench.evaluate(CONFIG, 200) == 100 - (90 + 1 + 1)
    assert Double.created == [
        {
            "task": dataset,
            "kind": "surrogate",
            "download": False,
            "save_dir": folder,
            "metrics": ["valid-acc"],
        }
    ]


def test_a_configuration_is_completed_with_the_constants(package: ModuleType, folder: Path) -> None:
    JAHS("cifar10", folder).evaluate(CONFIG, 66.0)
    [(config, epochs)] = Double.asked
    assert config == COMPLETE
    assert type(config["TrivialAugment"]) is bool
    assert (type(epochs), epochs) == (int, 66)


def test_configurations_are_evaluated_one_by_one(package: ModuleType, folder: Path) -> None:
    configs = [CONFIG | {"Op1": choice} for choice in range(3)]
    bench = JAHS("fashion_mnist", folder)
    assert bench.evaluate_many(configs, 100).tolist() == [9.5, 8.5, 7.5]
    assert bench.evaluate_many([], 100).shape == (0,)


def test_fractions_of_an_epoch_are_refused(package: ModuleType, folder: Path) -> None:
    with pytest.raises(SpaceError, match=r"whole number of epochs, got 22\.2"):
        JAHS("cifar10", folder).evaluate(CONFIG, 22.2)


def test_a_benchmark_is_pickled_without_the_loaded_surrogate(
    package: ModuleType, folder: Path
) -> None:
    bench = JAHS("cifar10", folder)
    loss = bench.evaluate(CONFIG, 200)
    again = pickle.loads(pickle.dumps(bench))
    assert len(Double.created) == 1
    assert again.evaluate(CONFIG, 200) == loss
    assert len(Double.created) == 2


def test_ten_parameters_are_searched_and_four_are_constants(folder: Path) -> None:
    bench: Benchmark = JAHS("cifar10", folder)
    space = bench.space
    assert (len(space), len(space.parameters)) == (10, 14)
    kinds = [size for size in space.sizes if size is not None]
    assert sorted(kinds) == [2, 3, 5, 5, 5, 5, 5, 5]
    assert isinstance(space.parameters["Op6"], Categorical)
    assert bench.optimum is None
    assert space.parameters["LearningRate"] == Float(1e-3, 1.0, log=True)
    assert space.parameters["WeightDecay"] == Float(1e-5, 1e-2, log=True)


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_published_priors_lie_in_the_space(folder: Path, dataset: str) -> None:
    stated = json.loads((paper_folder() / "priors.json").read_text(encoding="utf-8"))
    listed = stated["benchmarks"][DATASETS[dataset]]
    bench = JAHS(dataset, folder)
    for prior in listed["priors"].values():
        [row] = bench.space.encode([prior["config"]])
        decoded = bench.space.decode(row)
        assert decoded == pytest.approx(prior["config"])
    assert list(Ladder(bench.fidelity, eta=3).fidelities) == listed["fidelity"]["rungs_eta3"]


def test_a_missing_package_is_named_with_a_warning_about_pickles(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jahs_bench", None)
    with pytest.raises(ExtraError, match="pip install jahs-bench.*pickles.*only files you trust"):
        JAHS("cifar10", folder).evaluate(CONFIG, 200)


def test_without_a_folder_of_its_own_nothing_is_loaded(
    package: ModuleType, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("PRIORBAND_DATA", str(folder))
    monkeypatch.delenv(JAHS_FOLDER, raising=False)
    assert jahs_folder() is None
    with pytest.raises(DataError, match="--jahs FOLDER or .*PRIORBAND_JAHS.*pickles.*trust"):
        JAHS("cifar10", jahs_folder())
    assert Double.created == []


def test_the_folder_is_the_argument_or_the_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(JAHS_FOLDER, str(tmp_path))
    assert jahs_folder() == tmp_path
    with pytest.raises(DataError, match="--jahs is '.*gone', which is not a folder"):
        jahs_folder(tmp_path / "gone")
    monkeypatch.setenv(JAHS_FOLDER, str(tmp_path / "gone"))
    with pytest.raises(DataError, match="PRIORBAND_JAHS is '.*gone', which is not a folder"):
        jahs_folder()
    assert jahs_folder(tmp_path) == tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named_before_anything_is_loaded(
    package: ModuleType, folder: Path, name: str
) -> None:
    path = folder / "assembled_surrogates" / "cifar10" / "valid-acc" / name
    path.unlink()
    with pytest.raises(DataError, match=f"needs the file {path}, which does not exist.*pickles"):
        JAHS("cifar10", folder)
    assert Double.created == []


def test_files_that_the_package_cannot_load_are_named(package: ModuleType, folder: Path) -> None:
    package.Benchmark = Unreadable  # type: ignore[attr-defined]  # a module made by hand
    with pytest.raises(DataError, match=f"surrogate of cifar10 in {folder}: EOFError"):
        JAHS("cifar10", folder).evaluate(CONFIG, 200)


def test_an_answer_without_the_accuracy_is_refused(
    package: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Double, "metric", "test-acc")
    with pytest.raises(DataError, match="does not return 'valid-acc' after 200 epochs"):
        JAHS("cifar10", folder).evaluate(CONFIG, 200)


def test_an_unknown_dataset_is_refused(folder: Path) -> None:
    with pytest.raises(SpaceError, match="JAHS dataset 'cifar'. Did you mean 'cifar10'?"):
        JAHS("cifar", folder)


def test_a_benchmark_has_its_name_in_the_tables(folder: Path) -> None:
    assert [JAHS(d, folder).label for d in DATASETS] == ["JAHS-C10", "JAHS-CH", "JAHS-FM"]
    assert repr(JAHS("cifar10", folder)) == "JAHS('cifar10')"


@pytest.mark.parametrize(("quality", "error"), [("near_optimum", 3.7), ("good", 9.5), ("bad", 100)])
def test_the_prototype_has_the_stated_errors(quality: str, error: float) -> None:
    stated = json.loads((paper_folder() / "priors.json").read_text(encoding="utf-8"))
    config = stated["benchmarks"]["JAHS-C10"]["priors"][quality]["config"]
    bench = JAHSPrototype(data_folder())
    assert bench.evaluate(config, 200) == pytest.approx(error, abs=0.05)


def test_the_prototype_evaluates_many_as_it_evaluates_one() -> None:
    bench = JAHSPrototype(data_folder())
    rows = bench.space.uniform(40, np.random.default_rng(8))
    configs = [bench.space.decode(row) for row in rows]
    alone = [bench.evaluate(config, 66) for config in configs]
    assert bench.evaluate_many(configs, 66) == pytest.approx(alone, abs=1e-6)
    assert bench.evaluate_many([], 66).shape == (0,)


@pytest.mark.parametrize("name", CONFIG)
def test_every_parameter_of_the_prototype_matters(name: str) -> None:
    bench = JAHSPrototype(data_folder())
    rows = bench.space.uniform(20, np.random.default_rng(9))
    column = bench.space.names.index(name)
    rows[:, column] = 0
    before = bench.evaluate_many([bench.space.decode(row) for row in rows], 200)
    rows[:, column] = 1
    after = bench.evaluate_many([bench.space.decode(row) for row in rows], 200)
    assert np.any(before != after)


def test_the_prototype_is_never_shown_as_the_benchmark(folder: Path) -> None:
    bench: Benchmark = JAHSPrototype(data_folder())
    assert repr(bench) == "<mixed-cifar10 (early prototype, not JAHS-Bench-201)>"
    assert bench.space == JAHS("cifar10", folder).space
    assert bench.optimum is None
    with pytest.raises(DataError, match="early prototype, not JAHS-Bench-201.* needs the file"):
        JAHSPrototype(folder)


def test_the_prototype_can_be_pickled() -> None:
    bench = JAHSPrototype(data_folder())
    loss = bench.evaluate(CONFIG, 200)
    packed = pickle.dumps(bench)
    assert len(packed) < 10_000
    assert pickle.loads(packed).evaluate(CONFIG, 200) == loss


def test_an_empty_environment_variable_names_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(JAHS_FOLDER, "")
    assert jahs_folder() is None
