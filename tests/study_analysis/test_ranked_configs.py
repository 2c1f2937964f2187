"""Configurations in the order of their results."""

import numpy as np
import pytest

import priorband as pb
from priorband.study_analysis import incumbent_over_budget, study_data
from priorband.study_analysis.incumbent import incumbents
from priorband.study_analysis.ranked_configs import ranked_configs

SPACE = pb.Space(x=pb.Float(0, 1, prior=0.3))
EPOCHS = pb.Fidelity("epochs", 1, 9)


def test_a_configuration_counts_where_it_was_trained_furthest() -> None:
    study = pb.Study(SPACE, EPOCHS, "sh")
    for value in (5, 1, 2, 9, 9, 9, 9, 9, 9):  # trials 1, 2 and 0 go on, as 9, 10 and 11
        study.tell(study.ask(), value)
    for value in (7, 3):
        study.tell(study.ask(), value)
    study.fail(study.ask())
    ranked = ranked_configs(study_data(study)).tolist()
    assert ranked == [10, 9, 3, 4, 5, 6, 7, 8]  # 3 of trial 2, 7 of trial 1; trial 0 has failed


def test_without_a_result_nothing_is_ranked() -> None:
    study = pb.Study(SPACE, EPOCHS, "sh")
    assert ranked_configs(study_data(study)).tolist() == []
    study.fail(study.ask())
    study.ask()
    assert ranked_configs(study_data(study)).tolist() == []


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("method", ["priorband", "asha", "hyperband", "random"])
def test_the_first_is_the_incumbent(method: str, maximize: bool) -> None:
    study = pb.Study(SPACE, EPOCHS, method, maximize=maximize)
    rng = np.random.default_rng(0)
    for _ in range(40):
        trial = study.ask()
        if rng.random() < 0.2:
            study.fail(trial)
        else:
            study.tell(trial, rng.random())
        data = study_data(study)
        ranked, leader = ranked_configs(data), int(incumbents(data.trials)[-1])
        assert (int(ranked[0]) if len(ranked) else -1) == leader
    values = data.values[ranked]
    assert values.tolist() == sorted(values, reverse=maximize)
    assert incumbent_over_budget(data).any_fidelity.value[-1] == values[0]
