"""A command with placeholders, and the words that it becomes."""

import pytest

from priorband.errors import MethodError
from priorband.workers.command_words import expanded

BUILT_IN = {"resume_from": "", "checkpoint_dir": "/c", "seed": 7, "trial": 3}
SETTINGS = {"lr": 1e-05, "layers": 2, "amp": True, "sizes": (64, 32), "epochs": 9}
FLAGS = {"flag": "--amp", "none": ""}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["t", "{lr}"], ["t", "1e-05"]),
        (["t", "--lr={lr}", "{layers}"], ["t", "--lr=1e-05", "2"]),
        (["t", "{amp}", "{sizes}"], ["t", "true", "64,32"]),
        (["t", "run-{trial}-{seed}"], ["t", "run-3-7"]),
        (["t", "{{lr}}", "a}}b"], ["t", "{lr}", "a}b"]),
        (["t", "{ lr }"], ["t", "1e-05"]),
        (["t", "--resume", "{resume_from?}", "x"], ["t", "x"]),
        (["t", "--resume={resume_from?}", "x"], ["t", "x"]),
        (["t", "--verbose", "--resume={resume_from?}"], ["t", "--verbose"]),
        (["t", "-r", "{resume_from?}/model.pt"], ["t"]),
        (["t", "resume", "{resume_from?}"], ["t", "resume"]),
        (["t", "--lr={lr}", "{resume_from?}"], ["t", "--lr=1e-05"]),
        (["t", "--lr", "{lr?}", "{checkpoint_dir?}"], ["t", "--lr", "1e-05", "/c"]),
        (["t", "--resume", "{resume_from}"], ["t", "--resume", ""]),
        (["t", "--momentum", "{momentum?}"], ["t"]),
        (["t", "--lr={lr}", "{flag?}", "{none?}"], ["t", "--lr=1e-05", "--amp"]),
        (["t", "{lr} {layers}; rm -rf /"], ["t", "1e-05 2; rm -rf /"]),
    ],
)
def test_words_for_a_trial(command: list[str], words: list[str]) -> None:
    assert expanded(command, BUILT_IN, SETTINGS | FLAGS) == words


def test_args_are_pairs_of_everything_that_has_no_place_of_its_own() -> None:
    words = expanded(["t", "--learning-rate", "{lr}", "{args}"], BUILT_IN, SETTINGS)
    assert words[1:3] == ["--learning-rate", "1e-05"]
    pairs = ["--layers", "2", "--amp", "true", "--sizes", "64,32", "--epochs", "9"]
    assert words[3:] == pairs


def test_overrides_are_written_as_hydra_reads_them() -> None:
    settings = SETTINGS | {"name": "a b", "mode": "true", "path": "a/b.c", "quote": "it's"}
    assert expanded(["t", "{overrides}"], BUILT_IN, settings) == [
        *("t", "lr=1e-05", "layers=2", "amp=true", "sizes=[64,32]", "epochs=9"),
        *("name='a b'", "mode='true'", "path=a/b.c", "quote='it\\'s'"),
    ]


def test_a_parameter_hides_a_placeholder_of_the_same_name() -> None:
    assert expanded(["t", "{seed}"], BUILT_IN, {"seed": 1}) == ["t", "1"]
    assert expanded(["t", "{args}"], BUILT_IN, {"args": "x"}) == ["t", "x"]


@pytest.mark.parametrize("word", ["{lr", "lr}", "{a{b}", "}{"])
def test_a_brace_without_a_partner_is_an_error(word: str) -> None:
    with pytest.raises(MethodError, match="has no partner"):
        expanded([word], BUILT_IN, SETTINGS)
