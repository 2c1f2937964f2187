"""Boosted regression trees that XGBoost saved as JSON, read and evaluated with numpy alone.

The files follow the model schema that XGBoost documents. A row goes left at a node where its
feature is below the node's condition, both as 32-bit numbers; where the feature is missing (nan)
the node says which way to go. The prediction is the base score and one leaf a tree, added up.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.benchmarks.base import Array
from priorband.errors import DataError

Indices = NDArray[np.intp]
OBJECTIVE = "reg:squarederror"
"""The only objective that is known: its predictions are the sums themselves."""
_AT_ONCE = 1 << 18


@final
class Boosted:
    """A model in a file: rows in, predictions out. It is loaded when first asked.

    `features` names the columns of the rows; a file that names its own may order them otherwise.
    """

    def __init__(self, path: Path, features: Sequence[str]) -> None:
        self.path = path
        self.features = tuple(features)
        self._forest: Forest | None = None

    def __repr__(self) -> str:
        return f"Boosted({self.path.name!r})"

    def __reduce__(self) -> tuple[type["Boosted"], tuple[Path, tuple[str, ...]]]:
        return Boosted, (self.path, self.features)

    def predict(self, rows: Array) -> Array:
        """One prediction a row."""
        if self._forest is None:
            self._forest = _read(self.path, self.features)
        return self._forest.predict(rows)


@final
class Forest:
    """The nodes of all trees in one row of arrays; a leaf is its own child on both sides."""

    def __init__(self, model: Any, weights: Sequence[float], columns: Indices, base: float) -> None:
        trees = model["trees"][: len(weights)]
        if not trees:
            raise ValueError("it has no trees")
        sizes = [len(tree["left_children"]) for tree in trees]
        self.base = base
        self._columns = columns
        self._roots: Indices = np.cumsum([0, *sizes[:-1]], dtype=np.intp)
        left, right = (_joined(trees, f"{side}_children", np.intp) for side in ("left", "right"))
        inner = left >= 0
        self._children = _children(np.stack([left, right], axis=1), inner, self._roots, sizes)
        self._features = np.where(inner, _joined(trees, "split_indices", np.intp), 0)
        self._conditions = _joined(trees, "split_conditions", np.float32)
        self._missing_right = _joined(trees, "default_left", np.int8) == 0
        self._leaves = self._conditions.astype(np.float64) * np.repeat(weights, sizes)
        self._depth = _depth(self._children.reshape(-1, 2), inner, self._roots)
        if not 0 <= self._features.min() <= self._features.max() < len(columns):
            raise ValueError(f"its trees ask for more than {len(columns)} features")
        if np.isnan(base + self._conditions).any():
            raise ValueError("it holds nan")

    def predict(self, rows: Array) -> Array:
        """One prediction a row, some rows at a time."""
        values = rows[:, self._columns].astype(np.float32)
        step = max(1, _AT_ONCE // len(self._roots))
        parts = [self._sums(values[start : start + step]) for start in range(0, len(rows), step)]
        return np.concatenate([np.empty(0), *parts])

    def _sums(self, values: NDArray[np.float32]) -> Array:
        nodes: Indices = np.tile(self._roots, (len(values), 1))
        starts = np.arange(0, values.size, values.shape[1])[:, None]
        missing = bool(np.isnan(values).any())
        flat = values.ravel()
        for _ in range(self._depth):
            asked = flat.take(starts + self._features.take(nodes))
            right = asked >= self._conditions.take(nodes)
            if missing:
                right = np.where(np.isnan(asked), self._missing_right.take(nodes), right)
            nodes = self._children.take(2 * nodes + right)
        return self.base + np.asarray(self._leaves.take(nodes).sum(axis=1), dtype=np.float64)


def _read(path: Path, features: tuple[str, ...]) -> Forest:
    try:
        learner = json.loads(path.read_text(encoding="utf-8"))["learner"]
        return _forest(learner, features)
    except KeyError as error:
        problem = f"it has no {error}"
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        problem = str(error)
    except OSError as error:
        problem = error.strerror or str(error)
    raise DataError(f"The file {path} is no XGBoost model in JSON that can be read: {problem}.")


def _forest(learner: Any, features: tuple[str, ...]) -> Forest:
    objective, booster = learner["objective"]["name"], learner["gradient_booster"]
    if objective != OBJECTIVE:
        raise ValueError(f"its objective is {objective!r}, and only {OBJECTIVE!r} is known")
    if booster["name"] not in ("gbtree", "dart"):
        raise ValueError(f"its booster is {booster['name']!r}, and only gbtree and dart are known")
    dropped = booster["weight_drop"] if booster["name"] == "dart" else None
    model = (booster if dropped is None else booster["gbtree"])["model"]
    weights = [1.0] * len(model["trees"]) if dropped is None else [float(w) for w in dropped]
    if len(weights) != len(model["trees"]):
        raise ValueError(f"it has {len(model['trees'])} trees and {len(weights)} weights of them")
    _check_trees(model)
    columns = _columns(learner, features)
    score = learner["learner_model_param"]["base_score"]
    return Forest(model, weights[: _kept(learner, model)], columns, float(score.strip("[]")))


def _kept(learner: Any, model: Any) -> int | None:
    """How many trees count: where a training stopped early, those until its best round."""
    best = learner.get("attributes", {}).get("best_iteration")
    together = int(model["gbtree_model_param"].get("num_parallel_tree", 1))
    return None if best is None else (int(best) + 1) * max(together, 1)


def _columns(learner: Any, features: tuple[str, ...]) -> Indices:
    """Which of our columns is each of the model's features."""
    named = learner.get("feature_names") or list(features)
    count = int(learner["learner_model_param"]["num_feature"])
    if sorted(named) != sorted(features) or count != len(features):
        raise ValueError(f"its {count} features are {named}, and {list(features)} are given")
    return np.array([features.index(name) for name in named], dtype=np.intp)


def _check_trees(model: Any) -> None:
    for tree in model["trees"]:
        if any(tree.get("split_type", ())):
            raise ValueError("it splits by categories, which is not known here")
        if int(tree["tree_param"].get("size_leaf_vector", 0)) > 1:
            raise ValueError("its leaves hold several values, and one is known")
    if any(model["tree_info"]):
        raise ValueError("it predicts several values, and one is known")


def _joined(trees: Sequence[Any], name: str, kind: type[np.generic]) -> NDArray[Any]:
    parts = [np.array(tree[name], dtype=kind) for tree in trees]
    counts = [(len(tree["left_children"]),) for tree in trees]
    if [part.shape for part in parts] != counts:
        raise ValueError(f"its trees have not one of {name!r} for each node")
    return np.concatenate(parts)


def _children(
    given: Indices, inner: NDArray[np.bool_], roots: Indices, sizes: list[int]
) -> Indices:
    """Two a node, counted over all trees."""
    counts, firsts = np.repeat(sizes, sizes)[:, None], np.repeat(roots, sizes)[:, None]
    if not np.all((given >= 0) & (given < counts) | ~inner[:, None]):
        raise ValueError("a node of its trees has a child that is not there")
    own = np.arange(len(given))[:, None]
    return np.where(inner[:, None], given + firsts, own).ravel()


def _depth(children: Indices, inner: NDArray[np.bool_], roots: Indices) -> int:
    """How many steps lead from a root to the farthest leaf."""
    depth, reached, nodes = 0, len(roots), roots
    while len(nodes := nodes[inner[nodes]]):
        nodes = children[nodes].ravel()
        reached += len(nodes)
        depth += 1
        if reached > len(inner):
            raise ValueError("a node of its trees has two parents")
    return depth
