"""Models of XGBoost, read without it: worked by hand, walked node by node, and against XGBoost."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boosted_models import Leaf, Split, model, saved
from hypothesis import given, settings
from hypothesis import strategies as st

from priorband.benchmarks.base import Array
from priorband.benchmarks.boosted import Boosted
from priorband.errors import DataError

NAMES = ("x", "y")
BRANCHED: Split = (0, 0.5, 1.0, (1, 2.0, 10.0, 100.0, False), True)
BY_HAND = [
    ((0.4, 9.0), 0.5 + 1.0 + 0.25),
    ((0.5, 1.9), 0.5 + 10.0 + 0.25),  # a value at the condition goes right
    ((0.5, 2.0), 0.5 + 100.0 + 0.25),
    ((np.nan, 5.0), 0.5 + 1.0 + 0.25),  # missing goes left at the root
    ((0.6, np.nan), 0.5 + 100.0 + 0.25),  # and right below it
]
Change = Callable[[dict[str, Any]], None]


def read(folder: Path, content: dict[str, Any], names: tuple[str, ...] = NAMES) -> Boosted:
    return Boosted(saved(folder / "model.json", content), names)


def rows(*values: tuple[float, ...]) -> Array:
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize("base", ["5E-1", "[5E-1]"])
def test_the_base_score_and_one_leaf_a_tree_are_added_up(tmp_path: Path, base: str) -> None:
    boosted = read(tmp_path, model([BRANCHED, 0.25], NAMES, base))
    found = boosted.predict(rows(*(row for row, _ in BY_HAND)))
    assert found.tolist() == [prediction for _, prediction in BY_HAND]


def test_a_row_alone_is_predicted_as_among_others(tmp_path: Path) -> None:
    boosted = read(tmp_path, model([BRANCHED, 0.25], NAMES))
    for row, prediction in BY_HAND:
        assert boosted.predict(rows(row)).tolist() == [prediction]


def test_no_rows_have_no_predictions(tmp_path: Path) -> None:
    assert read(tmp_path, model([BRANCHED], NAMES)).predict(np.empty((0, 2))).shape == (0,)


def test_conditions_are_compared_in_32_bits(tmp_path: Path) -> None:
    """0.1 is below its nearest 32-bit number, but equal to it once it is one itself."""
    boosted = read(tmp_path, model([(0, 0.1, 1.0, 2.0, False)], NAMES, "0"))
    assert boosted.predict(rows((0.1, 0.0), (0.0999999, 0.0))).tolist() == [2.0, 1.0]


def test_features_are_found_by_the_names_that_the_file_gives(tmp_path: Path) -> None:
    boosted = read(tmp_path, model([(0, 0.5, 1.0, 2.0, False)], ("y", "x"), "0"))
    assert boosted.predict(rows((0.0, 9.0), (9.0, 0.0))).tolist() == [2.0, 1.0]


def test_three_features_are_found_in_any_order(tmp_path: Path) -> None:
    """Two that change places do not tell an order from its inverse."""
    content = model([(0, 0.5, 1.0, 2.0, False)], ("y", "z", "x"), "0")
    boosted = read(tmp_path, content, ("x", "y", "z"))
    assert boosted.predict(rows((0.0, 9.0, 0.0), (9.0, 0.0, 9.0))).tolist() == [2.0, 1.0]


def test_features_without_names_are_taken_in_order(tmp_path: Path) -> None:
    content = model([(1, 0.5, 1.0, 2.0, False)], NAMES, "0")
    content["learner"]["feature_names"] = []
    assert read(tmp_path, content).predict(rows((0.0, 9.0))).tolist() == [2.0]


def test_dart_weighs_its_trees(tmp_path: Path) -> None:
    content = model([BRANCHED, 0.25], NAMES)
    learner = content["learner"]
    learner["gradient_booster"] = {
        "name": "dart",
        "gbtree": learner["gradient_booster"],
        "weight_drop": [0.5, 2.0],
    }
    assert read(tmp_path, content).predict(rows((0.5, 1.9))).tolist() == [0.5 + 5.0 + 0.5]


def test_trees_after_the_best_round_do_not_count(tmp_path: Path) -> None:
    content = model([1.0, 2.0, 4.0, 8.0], NAMES, "0")
    content["learner"]["attributes"]["best_iteration"] = "1"
    assert read(tmp_path, content).predict(rows((0.0, 0.0))).tolist() == [3.0]
    forest = content["learner"]["gradient_booster"]["model"]
    forest["gbtree_model_param"]["num_parallel_tree"] = "2"
    assert read(tmp_path, content).predict(rows((0.0, 0.0))).tolist() == [15.0]


def test_a_model_travels_as_its_path(tmp_path: Path) -> None:
    boosted = read(tmp_path, model([BRANCHED], NAMES))
    boosted.predict(rows((0.4, 0.0)))
    packed = pickle.dumps(boosted)
    assert len(packed) < 1000
    assert pickle.loads(packed).predict(rows((0.4, 0.0))).tolist() == [1.5]


NUMBERS = st.sampled_from([-1.0, -0.25, 0.0, 0.1, 0.5, 0.7, 3.0])
TREES: st.SearchStrategy[Leaf | Split] = st.recursive(
    NUMBERS,
    lambda trees: st.tuples(st.integers(0, 1), NUMBERS, trees, trees, st.booleans()),
    max_leaves=20,
)
VALUES = st.one_of(NUMBERS, st.just(np.nan))


def walked(node: Leaf | Split, row: tuple[float, ...]) -> float:
    if not isinstance(node, tuple):
        return float(np.float32(node))
    feature, condition, left, right, missing_left = node
    value = np.float32(row[feature])
    goes_left = missing_left if np.isnan(value) else value < np.float32(condition)
    return walked(left if goes_left else right, row)


@settings(deadline=None)
@given(st.lists(TREES, min_size=1, max_size=5), st.lists(st.tuples(VALUES, VALUES), min_size=1))
def test_arrays_lead_where_a_walk_leads(
    tmp_path_factory: pytest.TempPathFactory,
    trees: list[Leaf | Split],
    points: list[tuple[float, float]],
) -> None:
    boosted = read(tmp_path_factory.mktemp("model"), model(trees, NAMES, "0"))
    expected = [sum(walked(root, point) for root in trees) for point in points]
    assert boosted.predict(rows(*points)).tolist() == pytest.approx(expected, abs=1e-12)


def set_at(*path: Any) -> Change:
    *way, last, value = path

    def change(content: dict[str, Any]) -> None:
        place: Any = content["learner"]
        for step in way:
            place = place[step]
        place[last] = value

    return change


FOREST = ("gradient_booster", "model")
FIRST = (*FOREST, "trees", 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_at("objective", "name", "reg:logistic"), "objective is 'reg:logistic'"),
        (set_at("gradient_booster", "name", "gblinear"), "booster is 'gblinear'"),
        (set_at("feature_names", ["x", "z"]), r"features are \['x', 'z'\], and \['x', 'y'\]"),
        (set_at("learner_model_param", "num_feature", "3"), "its 3 features"),
        (set_at("learner_model_param", "base_score", "[1E0,2E0]"), "could not convert"),
        (set_at("learner_model_param", "base_score", 0.5), "strip"),
        (set_at("learner_model_param", "base_score", "nan"), "holds nan"),
        (set_at("learner_model_param", {}), "has no 'num_feature'"),
        (set_at(*FOREST, "tree_info", [0, 1]), "predicts several values"),
        (set_at(*FOREST, "trees", []), "it has no trees"),
        (set_at(*FIRST, "split_type", [0, 0, 1, 0, 0]), "splits by categories"),
        (set_at(*FIRST, "tree_param", "size_leaf_vector", "3"), "several values"),
        (set_at(*FIRST, "left_children", 2, 5), "child that is not there"),
        (set_at(*FIRST, "right_children", 0, -1), "child that is not there"),
        (set_at(*FIRST, "left_children", 2, 0), "two parents"),
        (set_at(*FIRST, "split_indices", 0, 2), "more than 2 features"),
        (set_at(*FIRST, "split_conditions", [0.5]), "not one of 'split_conditions' for each node"),
        (set_at(*FIRST, "split_conditions", 0, None), "holds nan"),
        (set_at(*FIRST, "default_left", None), "NoneType"),
        (set_at("gradient_booster", []), "indices must be integers"),
    ],
)
def test_what_is_not_known_is_refused_by_name(tmp_path: Path, change: Change, said: str) -> None:
    content = model([BRANCHED, 0.25], NAMES)
    change(content)
    with pytest.raises(DataError, match=f"model.json is no XGBoost model .*{said}"):
        read(tmp_path, content).predict(rows((0.0, 0.0)))


def test_weights_that_fit_no_trees_are_refused(tmp_path: Path) -> None:
    content = model([1.0, 2.0], NAMES)
    learner = content["learner"]
    inner = learner["gradient_booster"]
    learner["gradient_booster"] = {"name": "dart", "gbtree": inner, "weight_drop": [1.0]}
    with pytest.raises(DataError, match="2 trees and 1 weights"):
        read(tmp_path, content).predict(rows((0.0, 0.0)))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"learner": 3}', "\x00\x01", "[" * 100_000])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="model.json is no XGBoost model in JSON"):
        Boosted(path, NAMES).predict(rows((0.0, 0.0)))


def test_a_file_that_went_away_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone.json is no XGBoost model .*No such file"):
        Boosted(tmp_path / "gone.json", NAMES).predict(rows((0.0, 0.0)))


@pytest.mark.parametrize(
    "options",
    [
        {"max_depth": 6, "reg_alpha": 0.01},
        {"max_depth": 4, "booster": "dart", "rate_drop": 0.3},
        {"max_depth": 3, "num_parallel_tree": 3, "subsample": 0.7},
        {"max_depth": 0, "max_leaves": 15, "grow_policy": "lossguide"},
        {"max_depth": 5, "base_score": 0.9},
        {"max_depth": 5, "early_stopping_rounds": 2, "learning_rate": 1.0},
    ],
)
def test_predictions_are_those_of_xgboost(tmp_path: Path, options: dict[str, Any]) -> None:
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(5)
    points = rng.random((400, 3))
    points[rng.random(points.shape) < 0.1] = np.nan
    target = np.nan_to_num(points) @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=400)
    trained = xgboost.XGBRegressor(n_estimators=40, n_jobs=1, seed=1, **options)
    trained.fit(points[:300], target[:300], eval_set=[(points[300:], target[300:])], verbose=False)
    trained.save_model(tmp_path / "model.json")
    found = Boosted(tmp_path / "model.json", ("a", "b", "c")).predict(points)
    assert found == pytest.approx(trained.predict(points).astype(float), abs=1e-5)
