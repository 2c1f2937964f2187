"""Scores of the prior and the incumbent in spaces with conditions, worked by hand."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy import stats
from space.conditional_spaces import SPACES

from priorband import Categorical, Fidelity, Float, Normal, Space, Study, Weights
from priorband.samplers.scores import Scores, scores
from priorband.testing import noise

SPACE = Space(
    {
        "kind": Categorical(["a", "b"], prior=Weights({"a": 3, "b": 1})),
        "x": Float(0, 1, prior=Normal(0.5, sigma=0.25), when={"kind": "a"}),
        "y": Float(0, 1, prior=Normal(0.5, sigma=0.25), when={"kind": "b"}),
    }
)


def scored(*configs: Mapping[str, Any]) -> Scores:
    """The scores after these results, best first."""
    study = Study(SPACE, Fidelity("epochs", 1, 9), "priorband")
    for rank, config in enumerate(configs):
        study.add(config, 0.1 * rank, 9)
    found = scores(study.state)
    assert found is not None and found.top == len(configs) == 3
    return found


def number(value: float, centre: float) -> float:
    return float(stats.truncnorm(-centre / 0.25, (1 - centre) / 0.25, centre, 0.25).pdf(value))


def test_the_scores_are_sums_of_products_over_what_is_active() -> None:
    found = scored({"kind": "b", "y": 0.8}, {"kind": "a", "x": 0.7}, {"kind": "b", "y": 0.3})
    prior = 3 * 0.25 * number(0.8, 0.5) + 2 * 0.75 * number(0.7, 0.5) + 1 * 0.25 * number(0.3, 0.5)
    # Around the incumbent the weights change places, and y is centred on it. It has no x, which
    # therefore keeps the prior's density.
    incumbent = (
        3 * 0.75 * number(0.8, 0.8) + 2 * 0.25 * number(0.7, 0.5) + 1 * 0.75 * number(0.3, 0.8)
    )
    assert math.exp(found.prior) == pytest.approx(prior)
    assert math.exp(found.incumbent) == pytest.approx(incumbent)


@pytest.mark.parametrize("x", [0.05, 0.5, 0.95])
def test_a_parameter_that_is_inactive_in_the_incumbent_speaks_for_neither(x: float) -> None:
    prior, around = SPACE.prior, SPACE.prior.around({"kind": "b", "y": 0.8})
    row = SPACE.encode([{"kind": "a", "x": x}])
    lead = around.logpdf(row) - prior.logpdf(row)
    assert lead[0] == pytest.approx(math.log(0.25 / 0.75))  # the choice alone, whatever x is


@pytest.mark.parametrize("name", SPACES)
def test_scores_are_numbers_in_every_space(name: str) -> None:
    space = SPACES[name]
    study = Study(space, Fidelity("epochs", 1, 9), "priorband", seed=2)
    for row in space.uniform(12, np.random.default_rng(1)):
        config = space.decode(row)
        study.add(config, noise(config, 9), 9)
        found = scores(study.state)
        assert found is None or math.isfinite(found.prior + found.incumbent)
    assert found is not None
