"""Small models of boosted trees, written as XGBoost writes them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Leaf = float
Split = tuple[int, float, Any, Any, bool]
"""Feature, condition, left tree, right tree, and whether a missing value goes left."""


def tree(root: Leaf | Split) -> dict[str, Any]:
    """A tree in the arrays of XGBoost's schema, parents before children."""
    nodes: list[Leaf | Split] = [root]
    left: list[int] = []
    for node in nodes:
        left.append(len(nodes) if isinstance(node, tuple) else -1)
        nodes += node[2:4] if isinstance(node, tuple) else ()
    splits = [node if isinstance(node, tuple) else (0, node, 0, 0, False) for node in nodes]
    return {
        "left_children": left,
        "right_children": [first + 1 if first >= 0 else -1 for first in left],
        "split_indices": [split[0] for split in splits],
        "split_conditions": [split[1] for split in splits],
        "default_left": [int(split[4]) for split in splits],
        "split_type": [0] * len(nodes),
        "tree_param": {"num_nodes": str(len(nodes)), "size_leaf_vector": "0"},
    }


def model(
    trees: Sequence[Leaf | Split], features: Sequence[str], base: str = "5E-1"
) -> dict[str, Any]:
    """A model of these trees that sums them up."""
    forest = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
        "tree_info": [0] * len(trees),
        "trees": [tree(root) for root in trees],
    }
    return {
        "learner": {
            "attributes": {},
            "feature_names": list(features),
            "gradient_booster": {"model": forest, "name": "gbtree"},
            "learner_model_param": {"base_score": base, "num_feature": str(len(features))},
            "objective": {"name": "reg:squarederror"},
        },
        "version": [1, 6, 2],
    }


def saved(path: Path, content: dict[str, Any]) -> Path:
    """The file of a model, in folders made for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
