"""The scale of regret."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from priorband import Categorical, Fidelity, Float, Space
from priorband.analysis.scale import CAP, RegretScale, regret_scale
from priorband.benchmarks import Hartmann
from priorband.benchmarks.base import Configs, InBatches


class Bowl(InBatches):
    """(x - 0.3)**2, plus 1 for the choice "b"; trainings above x = 0.9 fail."""

    space = Space({"x": Float(0.0, 1.0), "kind": Categorical(["a", "b"])})
    fidelity = Fidelity("epoch", 1, 9)

    def evaluate_many(self, configs: Configs, fidelity: float) -> NDArray[np.float64]:
        return np.array(
            [
                math.nan if c["x"] > 0.9 else (c["x"] - 0.3) ** 2 + (c["kind"] == "b")
                for c in configs
            ]
        )


def test_points_are_0_at_the_best_and_100_at_the_median_and_300_at_most() -> None:
    points = RegretScale(1.0, 3.0).points(np.array([1.0, 2.0, 3.0, 9.0, 0.9, math.inf, math.nan]))
    assert points[:-1] == pytest.approx([0.0, 50.0, 100.0, CAP, -5.0, CAP])
    assert math.isnan(points[-1])


def test_a_known_optimum_is_the_best_loss() -> None:
    bench = Hartmann(3)
    assert regret_scale(bench).best == bench.optimum[1]


def test_the_local_search_finds_a_lower_loss_than_the_draws() -> None:
    scale = regret_scale(Bowl(), draws=100)
    assert 0.0 <= scale.best < 1e-6
    # 45 % of draws are an "a" that can be trained, with up to 0.36; the next 45 % a "b" from 1 on
    assert 0.9 < scale.median < 1.1


def test_a_scale_is_always_the_same() -> None:
    assert regret_scale(Bowl(), draws=100) == regret_scale(Bowl(), draws=100)
