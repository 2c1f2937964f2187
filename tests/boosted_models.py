"""Small models that XGBoost trains and saves, with predictions that are known in advance."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

EXACT = {
    "objective": "reg:squarederror",
    "tree_method": "exact",
    "learning_rate": 1.0,
    "reg_lambda": 0.0,
    "base_score": 0.5,
    "max_depth": 3,
    "nthread": 1,
}
"""One round of boosting with these settings reproduces targets that few splits can separate."""


def trained(
    rows: NDArray[np.float64],
    targets: Sequence[float] | NDArray[np.float64],
    features: Sequence[str] | None = None,
    rounds: int = 1,
    **settings: Any,
) -> xgboost.Booster:
    """A model of these targets."""
    names = None if features is None else list(features)
    data = xgboost.DMatrix(rows, np.asarray(targets), feature_names=names, nthread=1)
    return xgboost.train(EXACT | settings, data, rounds)


def saved(path: Path, model: xgboost.Booster) -> Path:
    """The file of a model, in folders created for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    model.save_model(path)
    return path
