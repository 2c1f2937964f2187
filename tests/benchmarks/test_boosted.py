"""Models of XGBoost: predictions known in advance, and files that are not what they claim."""

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost
from boosted_models import saved, trained

from priorband.benchmarks.base import Array
from priorband.benchmarks.boosted import BoostedTrees
from priorband.errors import DataError, ExtraError

NAMES = ("x", "y")
CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
VALUES = [1.0, 1.0, 0.75, 0.25]
"""One split by x, and one by y where x is large."""


def read(folder: Path, model: xgboost.Booster, names: tuple[str, ...] = NAMES) -> BoostedTrees:
    return BoostedTrees(saved(folder / "model.json", model), names)


def many_rows() -> tuple[Array, Array]:
    """Rows of three features, some of them missing, and targets."""
    rng = np.random.default_rng(5)
    rows = rng.random((400, 3))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows, np.nan_to_num(rows) @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=400)


def test_predictions_are_one_number_per_row(tmp_path: Path) -> None:
    boosted = read(tmp_path, trained(CORNERS, VALUES, NAMES))
    predictions = boosted.predict(CORNERS)
    assert predictions.tolist() == VALUES
    assert predictions.dtype == np.float64


def test_no_rows_have_no_predictions(tmp_path: Path) -> None:
    boosted = read(tmp_path, trained(CORNERS, VALUES, NAMES))
    assert boosted.predict(np.empty((0, 2))).shape == (0,)


def test_features_are_matched_by_the_names_in_the_file(tmp_path: Path) -> None:
    boosted = read(tmp_path, trained(CORNERS, VALUES, ("y", "x")))
    assert boosted.predict(CORNERS[:, ::-1]).tolist() == VALUES


def test_three_features_are_matched_in_any_order(tmp_path: Path) -> None:
    """With two features, an order is its own inverse."""
    rows = np.array([[0.0, 9.0, 9.0], [1.0, 9.0, 9.0]])
    boosted = read(tmp_path, trained(rows, [1.0, 2.0], ("y", "z", "x")), ("x", "y", "z"))
    assert boosted.predict(np.array([[9.0, 0.0, 9.0], [0.0, 9.0, 0.0]])).tolist() == [1.0, 2.0]


def test_features_without_names_are_taken_in_order(tmp_path: Path) -> None:
    assert read(tmp_path, trained(CORNERS, VALUES)).predict(CORNERS).tolist() == VALUES


@pytest.mark.parametrize(
    "options",
    [
        {"max_depth": 6, "reg_alpha": 0.01},
        {"max_depth": 4, "booster": "dart", "rate_drop": 0.3},
        {"max_depth": 3, "num_parallel_tree": 3, "subsample": 0.7},
        {"max_depth": 5, "early_stopping_rounds": 2, "learning_rate": 1.0},
    ],
)
def test_predictions_are_those_of_the_trained_regressor(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    """Among them those after early stopping, where later rounds do not count."""
    rows, targets = many_rows()
    regressor = xgboost.XGBRegressor(n_estimators=40, n_jobs=1, seed=1, **options)
    regressor.fit(rows[:300], targets[:300], eval_set=[(rows[300:], targets[300:])], verbose=False)
    regressor.save_model(tmp_path / "model.json")
    boosted = BoostedTrees(tmp_path / "model.json", ("a", "b", "c"))
    assert boosted.predict(rows).tolist() == regressor.predict(rows).tolist()


def test_rounds_after_the_best_one_do_not_count(tmp_path: Path) -> None:
    rows, targets = many_rows()
    model = trained(rows, targets, rounds=9, max_depth=2)
    model.set_attr(best_iteration="3")
    expected = model.predict(xgboost.DMatrix(rows, nthread=1), iteration_range=(0, 4))
    boosted = read(tmp_path, model, ("a", "b", "c"))
    assert boosted.predict(rows).tolist() == expected.tolist()


def test_predictions_are_computed_on_one_thread(tmp_path: Path) -> None:
    boosted = read(tmp_path, trained(CORNERS, VALUES, NAMES, nthread=2))
    boosted.predict(CORNERS)
    assert boosted._model is not None
    config = json.loads(boosted._model.booster.save_config())
    assert config["learner"]["generic_param"]["nthread"] == "1"


def test_a_model_is_pickled_as_its_path(tmp_path: Path) -> None:
    boosted = read(tmp_path, trained(CORNERS, VALUES, NAMES))
    boosted.predict(CORNERS)
    packed = pickle.dumps(boosted)
    assert len(packed) < 1000
    assert pickle.loads(packed).predict(CORNERS).tolist() == VALUES


def test_xgboost_is_imported_at_the_first_prediction(tmp_path: Path) -> None:
    path = saved(tmp_path / "model.json", trained(CORNERS, VALUES, NAMES))
    script = f"""
import sys
from pathlib import Path
import numpy as np
from priorband.benchmarks.boosted import BoostedTrees
boosted = BoostedTrees(Path({str(path)!r}), {NAMES})
assert "xgboost" not in sys.modules
boosted.predict(np.zeros((1, 2)))
assert "xgboost" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_xgboost_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boosted = read(tmp_path, trained(CORNERS, VALUES, NAMES))
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ExtraError, match=r"model\.json needs .*xgboost.*priorband\[surrogates\]"):
        boosted.predict(CORNERS)


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("x", "z"), r"its 2 features are \['x', 'y'\], expected \['x', 'z'\]"),
        (("x", "y", "z"), r"its 2 features are \['x', 'y'\], expected \['x', 'y', 'z'\]"),
        (("x",), r"its 2 features are \['x', 'y'\], expected \['x'\]"),
    ],
)
def test_other_features_are_refused(tmp_path: Path, names: tuple[str, ...], problem: str) -> None:
    boosted = read(tmp_path, trained(CORNERS, VALUES, NAMES), names)
    with pytest.raises(DataError, match=f"model.json is not an XGBoost model .*{problem}"):
        boosted.predict(np.zeros((1, len(names))))


def test_another_number_of_features_is_refused_without_names(tmp_path: Path) -> None:
    boosted = read(tmp_path, trained(CORNERS, VALUES), ("x", "y", "z"))
    with pytest.raises(DataError, match="its 2 features are"):
        boosted.predict(np.zeros((1, 3)))


def test_a_model_of_several_values_is_refused(tmp_path: Path) -> None:
    several = np.array([VALUES, VALUES]).T
    with pytest.raises(DataError, match="it predicts 2 values per row instead of one"):
        read(tmp_path, trained(CORNERS, several, NAMES)).predict(CORNERS)


def test_a_linear_model_is_refused(tmp_path: Path) -> None:
    linear = xgboost.train(
        {"booster": "gblinear", "nthread": 1},
        xgboost.DMatrix(CORNERS, VALUES, feature_names=list(NAMES), nthread=1),
        1,
    )
    with pytest.raises(DataError, match="model.json is not an XGBoost model that can be used"):
        read(tmp_path, linear).predict(CORNERS)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"learner": 3}', "\x00\x01", "some text"])
def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="model.json is not an XGBoost model that can") as refused:
        BoostedTrees(path, NAMES).predict(CORNERS)
    assert "\n" not in str(refused.value)
    assert "/src/" not in str(refused.value)


def test_a_file_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "model.json", trained(CORNERS, VALUES, NAMES))
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: len(text) // 2], encoding="utf-8")
    with pytest.raises(DataError, match="model.json is not an XGBoost model .*Expecting"):
        BoostedTrees(path, NAMES).predict(CORNERS)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone.json is not an XGBoost model .*No such file"):
        BoostedTrees(tmp_path / "gone.json", NAMES).predict(CORNERS)
