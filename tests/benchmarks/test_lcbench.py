"""LCBench: the surrogate's values against those that the authors recorded."""

import json
import pickle
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from real_data import data_folder, paper_folder

from priorband.benchmarks import onnx
from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.lcbench import CODES, MODEL, PAPER_TASKS, TASKS, LCBench
from priorband.errors import DataError, ExtraError, SpaceError
from priorband.ladder import Ladder
from priorband.space.parameters import Float, Integer

CONFIG = {
    "batch_size": 64,
    "learning_rate": 0.01,
    "momentum": 0.9,
    "weight_decay": 1e-3,
    "num_layers": 3,
    "max_units": 256,
    "max_dropout": 0.5,
}


def recorded(task: str) -> dict[str, Any]:
    stated = json.loads((paper_folder() / "priors.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = stated["benchmarks"][f"LC-{task}"]
    return found


@pytest.mark.parametrize("quality", ["near_optimum", "good", "bad"])
@pytest.mark.parametrize("task", PAPER_TASKS)
def test_a_published_prior_has_the_recorded_error(task: str, quality: str) -> None:
    prior = recorded(task)["priors"][quality]
    bench = LCBench(task, data_folder())
    error = prior["authors_error_at_max_fidelity"]
    assert bench.evaluate(prior["config"], 52) == pytest.approx(error, abs=2e-6)


@pytest.mark.parametrize("task", PAPER_TASKS)
def test_epochs_and_rungs_are_those_of_the_paper(task: str) -> None:
    bench, listed = LCBench(task, data_folder()), recorded(task)["fidelity"]
    assert (bench.fidelity.low, bench.fidelity.high) == (listed["min"], listed["max"])
    assert list(Ladder(bench.fidelity, eta=3).fidelities) == listed["rungs_eta3"]


def test_the_space_is_that_of_the_paper() -> None:
    assert LCBench("3945", data_folder()).space.parameters == {
        "batch_size": Integer(16, 512, log=True),
        "learning_rate": Float(1e-4, 0.1, log=True),
        "momentum": Float(0.1, 0.99),
        "weight_decay": Float(1e-5, 0.1),
        "num_layers": Integer(1, 5),
        "max_units": Integer(64, 1024, log=True),
        "max_dropout": Float(0.0, 1.0),
    }


def test_evaluate_many_returns_what_evaluate_returns() -> None:
    bench = LCBench("168330", data_folder())
    rows = bench.space.uniform(64, np.random.default_rng(2))
    configs = [bench.space.decode(row) for row in rows]
    alone = [bench.evaluate(config, 17) for config in configs]
    assert bench.evaluate_many(configs, 17) == pytest.approx(alone, abs=1e-6)
    assert np.ptp(alone) > 0.1


def test_no_configurations_have_no_losses() -> None:
    assert LCBench("168330", data_folder()).evaluate_many([], 5).shape == (0,)


def test_every_task_has_different_losses() -> None:
    folder = data_folder()
    losses = {LCBench(task, folder).evaluate(CONFIG, 52) for task in TASKS}
    assert len(TASKS) == len(losses) == 34
    assert 0 < min(losses) < max(losses) < 1


def test_a_longer_training_is_mostly_a_better_one() -> None:
    bench = LCBench("167190", data_folder())
    rows = bench.space.uniform(200, np.random.default_rng(4))
    configs = [bench.space.decode(row) for row in rows]
    better = bench.evaluate_many(configs, 52) < bench.evaluate_many(configs, 1)
    assert better.mean() > 0.8


def test_the_optimum_is_not_known() -> None:
    bench: Benchmark = LCBench("3945", data_folder())
    assert bench.optimum is None


def test_a_benchmark_can_be_pickled() -> None:
    bench = LCBench("126026", data_folder())
    loss = bench.evaluate(CONFIG, 5)
    packed = pickle.dumps(bench)
    assert len(packed) < 10_000
    assert pickle.loads(packed).evaluate(CONFIG, 5) == loss


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(SpaceError, match="Unknown LCBench task '16719'. Did you mean '167190'?"):
        LCBench("16719", data_folder())


def test_a_missing_folder_says_how_to_set_it() -> None:
    with pytest.raises(DataError, match="lcbench/model.onnx from a data folder.*PRIORBAND_DATA"):
        LCBench("3945")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"needs the file {tmp_path / MODEL}, which does not exist"):
        LCBench("3945", tmp_path)
    put(tmp_path / MODEL, "")
    with pytest.raises(DataError, match=f"needs the file {tmp_path / CODES}, which does not exist"):
        LCBench("3945", tmp_path)


@pytest.mark.parametrize(
    "codes", ["", "[]", "{}", '{"OpenML_task_id": 1}', '{"OpenML_task_id": {"3945": "one"}}']
)
def test_codes_that_do_not_name_the_task_are_refused(tmp_path: Path, codes: str) -> None:
    put(tmp_path / MODEL, "")
    put(tmp_path / CODES, codes)
    with pytest.raises(DataError, match="has no number for the task 3945"):
        LCBench("3945", tmp_path)


def test_a_broken_model_is_refused_at_the_first_evaluation(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    with pytest.raises(DataError, match=r"model\.onnx is not a readable ONNX model"):
        broken(tmp_path).evaluate(CONFIG, 5)


def test_without_onnxruntime_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    bench = broken(tmp_path)
    with pytest.raises(ExtraError, match=r"pip install 'priorband\[surrogates\]'"):
        bench.evaluate(CONFIG, 5)


def put(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def broken(folder: Path) -> LCBench:
    put(folder / MODEL, "no model")
    put(folder / CODES, '{"OpenML_task_id": {"3945": 1}}')
    return LCBench("3945", folder)


def test_a_model_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Mock(wraps=onnx._open_session)
    monkeypatch.setattr(onnx, "_open_session", load)
    bench = LCBench("3945", data_folder())
    assert bench.evaluate(CONFIG, 5) == bench.evaluate(CONFIG, 5)
    assert load.call_count == 1
