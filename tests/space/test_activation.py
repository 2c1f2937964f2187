"""Conditional spaces: which parameters are active, and what rows and configurations hold."""

import math

import numpy as np

import priorband as pb
from priorband import Categorical, Constant, Float, Integer, Space


def small() -> Space:
    return Space(
        {
            "optimizer": Categorical(["sgd", "adam"], prior="sgd"),
            "momentum": Float(0, 0.99, prior=0.9, when={"optimizer": "sgd"}),
            "nesterov": Categorical([True, False], when={"momentum": pb.at_least(0.5)}),
            "layers": Integer(1, 6),
            "dropout": Float(0, 1, when={"layers": pb.at_least(3)}),
            "epsilon": Constant(1e-8, when={"optimizer": "adam"}),
        }
    )


def test_a_configuration_has_active_parameters_only_and_a_row_marks_the_others() -> None:
    config = small().decode([1.0, math.nan, math.nan, 0.2, math.nan])
    assert config == {"optimizer": "adam", "layers": 2, "epsilon": 1e-8}
    [row] = small().encode([config])
    assert np.isnan(row).tolist() == [False, True, True, False, True]
    assert small().decode(row) == config


def test_the_mode_of_a_prior_has_the_children_of_the_parents_modes() -> None:
    mode = {"optimizer": "sgd", "momentum": 0.9, "nesterov": True, "layers": 4, "dropout": 0.5}
    assert small().prior.mode == mode
