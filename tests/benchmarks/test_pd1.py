"""PD1: surrogates that XGBoost saved, and the stand-ins against what the authors recorded."""

import csv
import json
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from boosted_models import saved, trained
from real_data import data_folder, paper_folder

from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.pd1 import PD1, STAND_IN, SURROGATE, PD1StandIn
from priorband.benchmarks.pd1_tasks import FEATURES, TASKS
from priorband.errors import DataError, ExtraError, SpaceError
from priorband.ladder import Ladder

CONFIG = {"lr_decay_factor": 0.5, "lr_initial": 0.1, "lr_power": 1.0, "opt_momentum": 0.9}
RATE, EPOCH = FEATURES.index("lr_initial"), FEATURES.index("epoch")
ERRORS = {(1e-4, 18): 1.0, (1e-4, 19): 1.0, (0.1, 18): 0.75, (0.1, 19): 0.25}
"""A small learning rate does not learn. A large one has an error of 0.75, and 0.25 at the end."""
FILE = "pd1/surrogates/translate_wmt-xformer_translate-64-valid_error_rate.json"


def published(folder: Path, task: str = "wmt", features: Sequence[str] = FEATURES) -> PD1:
    rows = np.zeros((len(ERRORS), len(FEATURES)))
    rows[:, [RATE, EPOCH]] = list(ERRORS)
    model = trained(rows, list(ERRORS.values()), features)
    saved(folder / SURROGATE.format(TASKS[task].surrogate), model)
    return PD1(task, folder)


@pytest.mark.parametrize("task", TASKS)
def test_a_published_surrogate_tells_the_error_rate_of_an_epoch(tmp_path: Path, task: str) -> None:
    bench = published(tmp_path, task)
    assert bench.evaluate(CONFIG, 18) == 0.75
    assert bench.evaluate(CONFIG, 19) == 0.25
    assert bench.evaluate(CONFIG | {"lr_initial": 1e-4}, 19) == 1.0


def test_the_files_are_called_as_mf_prior_bench_calls_them() -> None:
    assert [SURROGATE.format(task.surrogate) for task in TASKS.values()] == [
        "pd1/surrogates/cifar100-wide_resnet-2048-valid_error_rate.json",
        "pd1/surrogates/imagenet-resnet-512-valid_error_rate.json",
        "pd1/surrogates/lm1b-transformer-2048-valid_error_rate.json",
        FILE,
    ]


def test_an_error_rate_above_one_is_not_clipped(tmp_path: Path) -> None:
    """The authors recorded such ones: 1.03 for the bad prior of CIFAR-100."""
    rows = np.zeros((2, len(FEATURES)))
    saved(tmp_path / FILE, trained(rows, [1.25, 1.25], FEATURES))
    assert PD1("wmt", tmp_path).evaluate(CONFIG, 19) == 1.25


def test_many_are_evaluated_as_one_is(tmp_path: Path) -> None:
    bench = published(tmp_path)
    rows = bench.space.uniform(50, np.random.default_rng(3))
    configs = [bench.space.decode(row) for row in rows]
    assert bench.evaluate_many(configs, 6).tolist() == [bench.evaluate(c, 6) for c in configs]
    assert set(bench.evaluate_many(configs, 6)) == {0.75, 1.0}


def test_the_order_of_a_configuration_does_not_matter(tmp_path: Path) -> None:
    turned = dict(reversed(CONFIG.items()))
    assert published(tmp_path).evaluate(turned, 19) == 0.25


@pytest.mark.parametrize("task", TASKS)
def test_spaces_and_epochs_are_those_of_the_paper(task: str) -> None:
    stated = json.loads((paper_folder() / "priors.json").read_text(encoding="utf-8"))
    listed = stated["benchmarks"][TASKS[task].paper]
    fidelity = TASKS[task].fidelity
    assert (fidelity.low, fidelity.high) == (listed["fidelity"]["min"], listed["fidelity"]["max"])
    assert list(TASKS[task].rungs) == listed["fidelity"]["rungs_eta3"]
    TASKS[task].space.encode([found["config"] for found in listed["priors"].values()])


@pytest.mark.parametrize("task", TASKS)
def test_bounds_are_those_that_come_with_the_data(task: str) -> None:
    text = (data_folder() / "pd1_distilled" / "README.md").read_text(encoding="utf-8")
    [line] = [row for row in text.splitlines() if row.startswith(f"| {TASKS[task].stand_in} |")]
    stated = [tuple(map(float, cell.split(".."))) for cell in line.split("|")[2:6]]
    assert list(TASKS[task].bounds) == stated


@pytest.mark.parametrize("task", TASKS)
def test_the_rungs_are_those_of_a_ladder(task: str) -> None:
    assert Ladder(TASKS[task].fidelity, eta=3).fidelities == TASKS[task].rungs


def test_the_rates_and_the_momentum_have_a_log_scale() -> None:
    space = TASKS["wmt"].space
    assert space.names == FEATURES[:-1]
    assert space.decode([0.0] * 4)["lr_initial"] == 1.00276e-5
    assert space.decode([0.5] * 4)["opt_momentum"] == pytest.approx(
        (5.86114e-5 * 0.9989999746) ** 0.5
    )
    assert space.decode([0.5] * 4)["lr_power"] == pytest.approx((0.1004250993 + 1.9985927056) / 2)


@pytest.mark.parametrize("task", TASKS)
def test_a_stand_in_is_near_what_the_authors_recorded(task: str) -> None:
    """Most points were in the fit, so this tells that it is asked rightly, not how good it is."""
    folder = data_folder()
    name = STAND_IN.format(TASKS[task].stand_in).replace(".onnx", "_prior_points.csv")
    with (folder / name).open(encoding="utf-8") as file:
        points = list(csv.DictReader(file))
    configs = [{name: float(point[name]) for name in FEATURES[:-1]} for point in points]
    recorded = np.array([float(point["valid_error_rate_at_max"]) for point in points])
    bench = PD1StandIn(task, folder)
    away = np.abs(bench.evaluate_many(configs, bench.fidelity.high) - recorded.clip(0, 1))
    assert len(points) == 53
    assert away.mean() < 0.002
    assert away.max() < 0.021
    assert np.sort(away)[-2] < 0.01  # all but one


@pytest.mark.parametrize("task", TASKS)
def test_a_stand_in_evaluates_many_as_one_at_every_rung(task: str) -> None:
    bench = PD1StandIn(task, data_folder())
    rows = bench.space.uniform(20, np.random.default_rng(1))
    configs = [bench.space.decode(row) for row in rows]
    for epochs in bench.rungs:
        many = bench.evaluate_many(configs, epochs)
        assert many == pytest.approx([bench.evaluate(c, epochs) for c in configs], abs=1e-6)
        assert 0 <= many.min() < many.max() <= 1


def test_a_stand_in_knows_rungs_only(tmp_path: Path) -> None:
    path = tmp_path / STAND_IN.format(TASKS["cifar100"].stand_in)
    path.parent.mkdir()
    path.touch()
    bench = PD1StandIn("cifar100", tmp_path)
    for epochs in (65, 67, 66.5, 22, 200):
        with pytest.raises(SpaceError, match=f"knows epochs 66, 199 only, got {epochs}"):
            bench.evaluate(CONFIG, epochs)


def test_a_stand_in_says_that_it_is_one(tmp_path: Path) -> None:
    bench = PD1StandIn("lm1b", data_folder())
    assert repr(bench) == "PD1StandIn('lm1b')"
    assert bench.label == "PD1-LM1B (stand-in)"
    assert "stand-in" in bench.caveat
    assert repr(published(tmp_path)) == "PD1('wmt')"
    assert published(tmp_path).label == "PD1-WMT"


def test_both_are_benchmarks_without_a_known_optimum(tmp_path: Path) -> None:
    both: list[Benchmark] = [published(tmp_path), PD1StandIn("wmt", data_folder())]
    assert [bench.optimum for bench in both] == [None, None]
    assert both[0].space == both[1].space
    assert both[0].fidelity == both[1].fidelity


def test_both_travel_between_processes(tmp_path: Path) -> None:
    for bench in (published(tmp_path), PD1StandIn("wmt", data_folder())):
        loss = bench.evaluate(CONFIG, 19)
        packed = pickle.dumps(bench)
        assert len(packed) < 10_000
        assert pickle.loads(packed).evaluate(CONFIG, 19) == loss


def test_unknown_tasks_are_refused(tmp_path: Path) -> None:
    for kind in (PD1, PD1StandIn):
        with pytest.raises(SpaceError, match="PD1 task 'imagenett'. Did you mean 'imagenet'?"):
            kind("imagenett", tmp_path)


def test_missing_files_are_named_with_their_origin(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="mf-prior-bench.*needs the file .*PRIORBAND_DATA"):
        PD1("wmt")
    with pytest.raises(DataError, match=f"mf-prior-bench.* needs the file {tmp_path / FILE}, whi"):
        PD1("wmt", tmp_path)
    with pytest.raises(DataError, match=r"stand-in for PD1 needs .*translatewmt_xformer_64\.onnx"):
        PD1StandIn("wmt", tmp_path)


def test_a_surrogate_of_other_features_is_refused(tmp_path: Path) -> None:
    bench = published(tmp_path, features=["lr", *FEATURES[1:]])
    with pytest.raises(DataError, match="valid_error_rate.json is not an XGBoost model .*'lr'"):
        bench.evaluate(CONFIG, 19)


def test_a_broken_stand_in_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / STAND_IN.format(TASKS["wmt"].stand_in)
    path.parent.mkdir()
    path.write_bytes(b"no model")
    with pytest.raises(DataError, match="is not a readable ONNX model"):
        PD1StandIn("wmt", tmp_path).evaluate(CONFIG, 19)


def test_a_stand_in_without_onnxruntime_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ExtraError, match=r"priorband\[surrogates\]"):
        PD1StandIn("wmt", data_folder()).evaluate(CONFIG, 19)


def test_the_published_surrogates_need_no_onnxruntime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert published(tmp_path).evaluate(CONFIG, 19) == 0.25


def test_a_published_surrogate_without_xgboost_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = published(tmp_path)
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ExtraError, match=r"priorband\[surrogates\]"):
        bench.evaluate(CONFIG, 19)
