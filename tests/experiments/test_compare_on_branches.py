"""Conditional spaces against flattened ones, on Hartmann functions that a choice selects.

Seeds are fixed, so a run repeats exactly. Should the random streams ever change, a right library
fails the slow test with the chance that its docstring states.
"""

import numpy as np
import pytest
from amounts import slow

from priorband.experiments.compare_on_branches import main, regrets


def test_a_uniform_draw_has_the_same_branch_and_parameters_in_both_spaces() -> None:
    for seed in range(3):
        for method in ("random", "hyperband"):
            conditional, flat = (
                regrets(method, "none", is_flat, seed) for is_flat in (False, True)
            )
            assert conditional == flat


@slow
def test_priorband_is_better_in_the_conditional_space() -> None:
    """The mean difference is 2.5 standard errors: it fails by chance once in 150 times."""
    runs = [
        [regrets("priorband", "none", flat, seed) for seed in range(50)] for flat in (False, True)
    ]
    conditional, flat = np.mean(runs, axis=1)
    assert conditional[1] < 0.9 * flat[1] and conditional[2] < 0.9 * flat[2]


def test_the_command_prints_every_cell(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--seeds", "2", "--processes", "1", "--methods", "random", "priorband"])
    lines = capsys.readouterr().out.splitlines()
    assert sum("conditional" in line for line in lines) == 4
    assert sum("flattened" in line for line in lines) == 4
    differences = [line.split()[1:] for line in lines if "difference" in line]
    assert differences[0] == ["0.000", "(0.000)"] * 3  # random search draws the same


def test_wrong_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--methods", "priorbnad"], ["--seeds", "1"]):
        with pytest.raises(SystemExit):
            main(words)
    assert "priorband" in capsys.readouterr().err
