"""When the prior was changed."""

import pytest

import priorband as pb
from priorband.study_analysis import prior_changes, study_data


def test_changes_are_placed_by_what_had_ended_before_them() -> None:
    space = pb.Space(x=pb.Float(0, 1, prior=0.3))
    study = pb.Study(space, pb.Fidelity("epochs", 1, 9), "hyperband")
    assert prior_changes(study_data(study)).spent.tolist() == []
    first, second = study.ask(2)
    study.tell(first, 0.5)
    study.set_prior({"x": 0.6})
    study.tell(second, 0.4)
    study.set_prior({"x": 0.7})
    found = prior_changes(study_data(study))
    assert found.asked.tolist() == [2, 2] and found.ended.tolist() == [1, 2]
    assert found.spent.tolist() == pytest.approx([1 / 9, 2 / 9])
