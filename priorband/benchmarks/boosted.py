"""Surrogate models in XGBoost files, evaluated by XGBoost on one thread."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from priorband.benchmarks.base import Array
from priorband.errors import DataError, ExtraError

if TYPE_CHECKING:
    from xgboost import Booster

_SOURCE_LINE = re.compile(r"^\[[^]]*\] \S+:\d+: ")
"""The time and the line of C++ code that XGBoost's error messages start with."""


@final
class BoostedTrees:
    """A model in a file, loaded at the first prediction.

    `features` names the columns of the rows to predict. A file that names its own features may
    have them in another order.
    """

    def __init__(self, path: Path, features: Sequence[str]) -> None:
        self.path = path
        self.features = tuple(features)
        self._model: _Model | None = None

    def __repr__(self) -> str:
        return f"BoostedTrees({self.path.name!r})"

    def __reduce__(self) -> tuple[type["BoostedTrees"], tuple[Path, tuple[str, ...]]]:
        return BoostedTrees, (self.path, self.features)

    def predict(self, rows: Array) -> Array:
        """One prediction per row."""
        if self._model is None:
            self._model = _load_model(self.path, self.features)
        return self._model.predict(rows[:, self._model.columns]).astype(np.float64)


class _Model(NamedTuple):
    booster: "Booster"
    columns: NDArray[np.intp]
    """For each feature of the file, the column of the rows that holds it."""
    rounds: int
    """How many rounds of boosting to use; 0 for all."""

    def predict(self, rows: Array) -> NDArray[np.float32]:
        predictions: NDArray[np.float32] = self.booster.inplace_predict(
            rows, iteration_range=(0, self.rounds)
        )
        return predictions


def _load_model(path: Path, features: tuple[str, ...]) -> _Model:
    try:
        from xgboost import Booster
        from xgboost.core import XGBoostError
    except ImportError:
        raise ExtraError(
            f"The surrogate {path.name} needs the package xgboost, which is not installed. "
            "Install it with: pip install 'priorband[surrogates]'"
        ) from None
    booster = Booster(params={"nthread": 1})  # more threads make small batches slower
    try:
        booster.load_model(path)
        model = _Model(booster, _columns(booster, features), _rounds(booster))
        shape = model.predict(np.zeros((1, len(features)))).shape
        if shape != (1,):
            raise ValueError(f"it predicts {shape[-1]} values per row instead of one")
    except XGBoostError as error:
        problem = _SOURCE_LINE.sub("", str(error).partition("\n")[0])
    except ValueError as error:
        problem = str(error)
    else:
        return model
    raise DataError(f"The file {path} is not an XGBoost model that can be used: {problem}.")


def _columns(booster: "Booster", features: tuple[str, ...]) -> NDArray[np.intp]:
    count, names = booster.num_features(), booster.feature_names or list(features)
    if count != len(features) or sorted(names) != sorted(features):
        raise ValueError(f"its {count} features are {names}, expected {list(features)}")
    return np.array([features.index(name) for name in names], dtype=np.intp)


def _rounds(booster: "Booster") -> int:
    """The rounds up to the best one where training stopped early, as XGBRegressor uses them."""
    best = booster.attr("best_iteration")
    return 0 if best is None else int(best) + 1
