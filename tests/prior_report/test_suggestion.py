"""A suggested prior can be pasted into Python and into a study file, and means the same."""

from pathlib import Path
from typing import Any

import pytest

import priorband as pb
from priorband.prior_report.facts import best_in_full, encoded
from priorband.prior_report.suggestion import LEAST_WIDTH, rounded, suggested_beliefs
from priorband.study_file.read import read_study_file
from priorband.toml_text import toml_value

SPACE = pb.Space(
    {
        "lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
        "weight-decay": pb.Float(0, 1, step=0.125),
        "layers": pb.Integer(2, 12, prior=6),
        "opt": pb.Categorical(["sgd", 'ad"am\n', True, 3], prior="sgd"),
        "batch": pb.Ordinal([16, 32, 64, 128], prior=32),
        "momentum": pb.Float(0, 0.99, prior=0.9, when={"opt": "sgd"}),
    }
)
TOML = f"""
command = ["train", "{{args}}"]

[space]
lr = {{ float = [1e-5, 1e-1], log = true, prior = 1e-3 }}
weight-decay = {{ float = [0, 1], step = 0.125 }}
layers = {{ integer = [2, 12], prior = 6 }}
opt = {{ choices = {toml_value(["sgd", 'ad"am' + chr(10), True, 3])}, prior = "sgd" }}
batch = {{ ordinal = [16, 32, 64, 128], prior = 32 }}
momentum = {{ float = [0, 0.99], prior = 0.9, when = {{ opt = "sgd" }} }}
"""


@pytest.fixture(scope="module")
def study() -> pb.Study:
    study = pb.Study(SPACE, pb.Fidelity("epochs", 1, 27), seed=3)
    pb.simulate(study, lambda c, z: (c["lr"] - 0.01) ** 2 + c["layers"] + 1 / z, budget=12)
    return study


def test_python_and_toml_say_the_same(study: pb.Study, tmp_path: Path) -> None:
    suggestion = study.prior_report().suggestion
    assert suggestion is not None
    scope: dict[str, Any] = {"pb": pb}
    exec(suggestion.python, scope)
    in_python = pb.Study(SPACE, method="random", prior=scope["prior"]).prior
    file = tmp_path / "study.toml"
    file.write_text(f"{TOML}\n{suggestion.toml}\n", encoding="utf-8")
    read: Any = read_study_file(file).prior
    assert read == scope["prior"]
    assert pb.Study(SPACE, method="random", prior=read).prior == in_python
    assert set(scope["prior"]) == set(suggestion.names)


def test_it_is_around_the_best_configuration(study: pb.Study) -> None:
    best = best_in_full(study.state)
    beliefs = suggested_beliefs(SPACE, best, encoded(study.state, best))
    lr: Any = beliefs["lr"]
    assert lr.centre == pytest.approx(best[0].config["lr"], rel=0.01) and lr.sigma >= LEAST_WIDTH
    opt: Any = beliefs["opt"]
    assert sum(opt.values()) == 4 + 5 and min(opt.values()) >= 1


def test_widths_grow_with_the_spread_of_the_best() -> None:
    space = pb.Space(x=pb.Float(0, 1), y=pb.Float(0, 1), z=pb.Float(0, 1))
    study = pb.Study(space, method="random")
    for i, (x, z) in enumerate(((0.1, 0.0), (0.5, 1.0), (0.3, 0.0), (0.4, 1.0), (0.2, 1.0))):
        study.add({"x": x, "y": 0.7, "z": z}, i)
    best = best_in_full(study.state)
    beliefs: Any = suggested_beliefs(space, best, encoded(study.state, best))
    assert beliefs["x"] == pb.Normal(0.1, sigma=0.24)  # sqrt(0.2^2 + 0.02)
    assert beliefs["y"] == pb.Normal(0.7, sigma=0.2)
    assert "z" not in beliefs  # the best disagree over the whole range


@pytest.mark.parametrize(
    ("parameter", "value", "short"),
    [
        (pb.Float(1e-5, 1e-1, log=True), 0.00123456, 0.00123),
        (pb.Float(0, 1), 0.123456, 0.123),
        (pb.Float(1000, 1001), 1000.123456, 1000.123),
        (pb.Float(0, 1, step=0.0625), 0.0625, 0.0625),
        (pb.Float(0.12345, 1.2), 0.12345, 0.12345),
        (pb.Integer(1, 100_000), 54321, 54321),
        (pb.Ordinal([0.123456, 1.0]), 0.123456, 0.123456),
    ],
)
def test_values_are_rounded_but_stay_in_the_space(parameter: Any, value: Any, short: Any) -> None:
    found = rounded(parameter, value)
    assert parameter.check(found) == found
    assert found == pytest.approx(short, rel=1e-6)
