"""Bounds by name, and the table in the documentation."""

from pathlib import Path
from typing import Any

import pytest

from priorband.init_study.guesses import bounds_table, entry
from priorband.init_study.option import Option

PAGE = Path(__file__).parent.parent.parent / "docs" / "init.md"


def test_the_documentation_has_the_table_of_the_code() -> None:
    assert bounds_table() in PAGE.read_text()


@pytest.mark.parametrize(
    ("name", "kind", "default", "definition"),
    [
        ("lr", "float", 1e-3, {"float": [1e-5, 0.1], "log": True, "prior": 1e-3}),
        ("learningRate", "float", 0.1, {"float": [1e-3, 1.0], "log": True, "prior": 0.1}),
        ("lr", "float", None, {"float": [1e-5, 0.1], "log": True}),
        ("attn-dropout", "float", 0.8, {"float": [0.0, 0.8], "prior": 0.8}),
        ("momentum", "float", 0.9, {"float": [0.0, 0.99], "prior": 0.9}),
        ("batch_size", "integer", 100, {"integer": [25, 400], "log": True, "prior": 100}),
        ("batch_size", "integer", 2, {"ordinal": [1, 2, 4, 8], "prior": 2}),
        ("num_layers", "integer", 3, {"integer": [1, 6], "prior": 3}),
        ("kernel_size", "integer", 3, {"ordinal": [1, 3, 5, 7], "prior": 3}),
        ("max-bins", "integer", 255, {"integer": [16, 255], "prior": 255}),
        ("label-smoothing", "float", 0.0, {"float": [0.0, 0.3], "prior": 0.0}),
        ("alpha", "float", 4.0, {"float": [0.4, 40.0], "log": True, "prior": 4.0}),
    ],
)
def test_a_name_and_a_default_give_bounds(
    name: str, kind: Any, default: Any, definition: dict[str, Any]
) -> None:
    made = entry(Option(name, (f"--{name}",), kind, default))
    assert made.definition == definition and made.searched


@pytest.mark.parametrize("default", [1e-12, 1e-3, 0.0, -1.0, 1.0, 7.0, 1e9, None, float("inf")])
@pytest.mark.parametrize("kind", ["float", "integer"])
@pytest.mark.parametrize("name", ["lr", "dropout", "batch-size", "layers", "beta2", "kernel", "x"])
def test_every_guess_is_a_parameter_that_the_library_takes(
    name: str, kind: Any, default: Any
) -> None:
    import priorband as pb

    if kind == "integer" and default is not None:
        default = int(default) if abs(default) < 1e10 else None
    made = dict(entry(Option(name, (f"--{name}",), kind, default)).definition)
    options = {key: made[key] for key in ("log", "prior") if key in made}
    if "ordinal" in made:
        pb.Ordinal(made["ordinal"], **options)
    elif "integer" in made:
        pb.Integer(*made["integer"], **options)
    else:
        pb.Float(*made["float"], **options)
