"""The paper's main claim on a small scale, on Hartmann-3 with well-correlated fidelities.

Seeds are fixed, so a run repeats exactly. Should the random streams ever change, a right library
fails a test here with the chance that its docstring states, from the spread of 200 seeds.
"""

from functools import cache

import numpy as np
import pytest
from amounts import slow
from numpy.typing import NDArray

from priorband.experiments.cases import PRIOR_FREE_METHODS
from priorband.experiments.compare_on_hartmann import main, regrets

SEEDS = range(40)


@cache
def means(quality: str, method: str) -> NDArray[np.float64]:
    """Mean regret after 5, 12 and 20 trainings."""
    runs = [regrets(3, "good", quality, method, seed) for seed in SEEDS]
    return np.asarray(np.mean(runs, axis=0), dtype=np.float64)


@slow
def test_a_good_prior_puts_priorband_ahead_of_hyperband() -> None:
    """The difference is 5.2 standard errors: it fails by chance less than once in a million."""
    assert means("good", "priorband")[2] < means("good", "hyperband")[2]


@slow
def test_priorband_recovers_from_a_bad_prior_but_hyperband_with_prior_does_not() -> None:
    """The difference is 6.0 standard errors: it fails by chance less than once in a million."""
    assert means("bad", "priorband")[1] < 0.5 * means("bad", "hyperband+prior")[1]


@slow
def test_under_a_bad_prior_priorband_starts_behind_and_closes_the_gap() -> None:
    """They are 3.8 and 4.2 standard errors: it fails by chance less than once in 10,000."""
    gap = means("bad", "priorband") - means("bad", "hyperband")
    assert gap[0] > 0
    assert gap[2] < 0.5 * gap[0]


def test_the_command_prints_every_cell(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--seeds", "2", "--processes", "1"])
    out = capsys.readouterr().out
    assert out.count("priorband") == 2 * 2 * 3
    assert out.count("Hartmann") == 4


def test_the_command_takes_other_methods_and_knows_which_ignore_the_prior(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["--seeds", "2", "--processes", "1", "--methods", "random", "random+prior"])
    lines = [line for line in capsys.readouterr().out.splitlines() if "random" in line]
    figures = [tuple(line.split()[-6:]) for line in lines]
    blind = [each for line, each in zip(lines, figures, strict=True) if "+prior" not in line]
    assert len(lines) == 4 * 3 * 2
    assert blind[0] == blind[1] == blind[2]
    assert len(set(figures) - set(blind)) == 6  # random search knows no correlation either


def test_methods_that_ignore_the_prior_make_the_same_trials_under_any() -> None:
    """Only those that are cheap to run here; `bo` has a test of its own."""
    for method in PRIOR_FREE_METHODS - {"bo", "mobster", "mobster(joint)"}:
        assert regrets(3, "good", "good", method, 1) == regrets(3, "good", "bad", method, 1)


def test_an_unknown_method_is_refused_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--methods", "priorbands"])
    assert "Did you mean 'priorband'?" in capsys.readouterr().err
