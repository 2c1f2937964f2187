"""How often the report card of a prior is right: a small part of the experiment."""

from pathlib import Path

import numpy as np
import pytest
from amounts import slow
from real_data import data_folder

from priorband.benchmarks.hartmann import Hartmann
from priorband.experiments.judge_priors import (
    HARTMANN,
    LCBENCH,
    StudyKind,
    available_problems,
    judged,
    main,
    prior_centre_of,
    truth_of,
)


def test_a_spoiled_prior_differs_in_one_important_parameter() -> None:
    space, truth = Hartmann(6).space, truth_of("hartmann6-good", None)
    near, _ = prior_centre_of(space, truth, "near-optimum", 3)
    spoiled, column = prior_centre_of(space, truth, "spoiled", 3)
    assert column in truth.important
    assert [name for name in space.names if near[name] != spoiled[name]] == [space.names[column]]
    bench, optimum = Hartmann(6), truth.centres["near-optimum"]
    moved = {**optimum, space.names[column]: spoiled[space.names[column]]}
    assert bench.evaluate(moved, 100) > bench.evaluate(optimum, 100) + 0.5


def test_without_data_only_hartmann_functions_are_used() -> None:
    assert available_problems(None) == HARTMANN


def test_the_command_prints_the_rates(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = "--seeds 1 --first 2 --processes 1 --methods priorband --priors bad spoiled --budget 12"
    main([*words.split(), "--data", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "8 problems, seeds 2 to 2, 12 full trainings"
    assert [line.split()[:2] for line in lines[2:4]] == [
        ["priorband", "bad"],
        ["priorband", "spoiled"],
    ]
    assert lines[4].startswith("priorband  spoiled parameter found ")
    assert lines[5].endswith("not enough evidence in 2 of 2")


@slow
@pytest.mark.parametrize(("quality", "verdict"), [("near-optimum", "helps"), ("bad", "harms")])
def test_near_optimum_priors_help_and_bad_ones_harm(quality: str, verdict: str) -> None:
    """Seeds are fixed. With others, at least 13 of 16 would be right in 97 of 100 cases."""
    data = data_folder()
    if any(name in LCBENCH for name in available_problems(data)):
        names = available_problems(data)
    else:
        pytest.skip("LCBench needs onnxruntime and its data")
    kind = StudyKind(data, quality, "priorband", 20)
    cards = [judged(kind, names[seed % len(names)], seed) for seed in range(200, 216)]
    assert sum(card.verdict == verdict for card in cards) >= 13
    assert {card.early for card in cards} == {"not enough evidence"}


@slow
def test_spoiled_parameters_are_found_more_often_than_others_are_blamed() -> None:
    kind = StudyKind(None, "spoiled", "priorband", 20)
    cards = [judged(kind, HARTMANN[seed % 8], seed) for seed in range(200, 224)]
    found = np.mean([card.spoiled in card.harmful for card in cards])
    others = [len(card.harmful) - (card.spoiled in card.harmful) for card in cards]
    assert found > 0.5
    assert sum(others) / sum(card.parameters - 1 for card in cards) < 0.3
